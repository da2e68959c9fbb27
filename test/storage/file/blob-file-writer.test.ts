import { join } from "node:path";
import { expect, it } from "vitest";
import { BlobFiles } from "../../../lib/storage/file/blobs.ts";
import { type Disk, nodeDisk } from "../../../lib/storage/file/disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

it("a writer that can't be opened leaves no file open, and no blob behind", async () => {
  let open = 0;
  const failing: Disk = {
    ...nodeDisk,
    async open(path, mode) {
      const file = await nodeDisk.open(path, mode);
      open += 1;
      return {
        read: (position, length) => file.read(position, length),
        write: (bytes, position) =>
          mode === "note"
            ? Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" }))
            : file.write(bytes, position),
        sync: () => file.sync(),
        truncate: (size) => file.truncate(size),
        size: () => file.size(),
        close() {
          open -= 1;
          return file.close();
        },
      };
    },
  };
  const folder = join(temporaryFolder(), "blobs");
  const blobs = new BlobFiles(failing, folder);
  await blobs.open();
  await blobs.append("old", Buffer.from("kept"), undefined);
  for (const id of ["one", "old"])
    await expect(blobs.openWriter(id)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  expect(open).toBe(0);
  expect(await blobs.read("one", {})).toBeNull();
  expect(await blobs.read("old", {})).toEqual(new Uint8Array(Buffer.from("kept")));
  expect((await nodeDisk.list(folder)).filter((name) => name.includes("one"))).toEqual([]);
});

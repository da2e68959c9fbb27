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

it("bytes that were taken back for want of space are off the disk before a writer is closed, also where a sync finds none", async () => {
  const noSpace = (): Promise<never> =>
    Promise.reject(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));
  let isFull = false;
  let isDirty = false;
  const disk: Disk = {
    ...nodeDisk,
    async open(path, mode) {
      const file = await nodeDisk.open(path, mode);
      if (mode !== "stream") return file;
      return {
        read: (position, length) => file.read(position, length),
        async write(bytes, position) {
          if (!isFull) return file.write(bytes, position);
          await file.write(bytes.subarray(0, 1), position);
          return noSpace();
        },
        async sync() {
          if (isFull) return noSpace();
          isDirty = false;
          return file.sync();
        },
        truncate(size) {
          isDirty = true;
          return file.truncate(size);
        },
        size: () => file.size(),
        close: () => file.close(),
      };
    },
  };
  const blobs = new BlobFiles(disk, join(temporaryFolder(), "blobs"));
  await blobs.open();
  const writer = await blobs.openWriter("one");
  await writer.append(Buffer.from("kept"));
  await writer.sync();
  isFull = true;
  for (const work of [() => writer.append(Buffer.from("lost")), () => writer.sync()])
    await expect(work()).rejects.toMatchObject({ code: "STORAGE_FULL" });
  isFull = false;
  await writer.close();
  expect(isDirty).toBe(false);
  expect(await blobs.read("one", {})).toEqual(new Uint8Array(Buffer.from("kept")));
});

/** Whose fault it is where a copy can't be kept: that of the file, or of the folder that the copies are in. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LocalHost } from "../../lib/host/local-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

function begin() {
  const [root, stateFolder] = [temporaryFolder(), temporaryFolder()];
  writeFileSync(join(root, "file"), "content");
  const { backups } = new LocalHost({ stateFolder, root });
  const save = async (path: string): Promise<unknown> => backups.save(path);
  return { root, folder: join(stateFolder, "backups"), save };
}

test("a folder of copies that can't be used is named, not the file", async () => {
  const { folder, save } = begin();
  writeFileSync(folder, "in its place");
  await expect(save("/file")).rejects.toMatchObject({ code: "HOST_ERROR", details: { path: folder } });
});

test.each([
  ["/none", "ENOENT"],
  ["/folder", "EISDIR"],
])("%s, which can't be copied, is named, and nothing is left of the try", async (path, errno) => {
  const { root, folder, save } = begin();
  mkdirSync(join(root, "folder"));
  await expect(save(path)).rejects.toMatchObject({ code: "HOST_ERROR", details: { path, errno } });
  expect(readdirSync(folder)).toEqual([]);
});

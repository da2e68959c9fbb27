/** Whose fault it is where a copy can't be kept: that of the file, or of the folder that the copies are in. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LocalHost } from "../../lib/host/local-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

function begin() {
  const [root, stateFolder] = [temporaryFolder(), temporaryFolder()];
  writeFileSync(join(root, "file"), "content");
  const { backups } = new LocalHost({ stateFolder, root });
  const save = async (path: string): Promise<unknown> => backups.save(path);
  return { root, folder: join(stateFolder, "backups"), save, backups };
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

test("what can't be forgotten is named, and that nothing was kept yet is no fault", async () => {
  const { folder, save, backups } = begin();
  expect(() => backups.prune(new Set())).not.toThrow();
  expect(existsSync(folder)).toBe(false);
  await save("/file");
  mkdirSync(join(folder, "foreign"));
  expect(() => backups.prune(new Set())).toThrow(
    expect.objectContaining({
      code: "HOST_ERROR",
      details: expect.objectContaining({ path: join(folder, "foreign") }),
    }),
  );
  backups.prune(new Set(["foreign"]));
  expect(readdirSync(folder)).toEqual(["foreign"]);
});

test("a folder of copies that is none can't be pruned", () => {
  const { folder, backups } = begin();
  writeFileSync(folder, "in its place");
  expect(() => backups.prune(new Set())).toThrow(
    expect.objectContaining({ code: "HOST_ERROR", details: { path: folder, errno: "ENOTDIR" } }),
  );
});

test.each(["", "../state", "0".repeat(63), "0".repeat(65), `${"0".repeat(63)}A`, `${"0".repeat(64)}\n`])(
  "%j names no copy",
  (sha256) => {
    const { backups } = begin();
    const refused = expect.objectContaining({
      code: "HOST_ERROR",
      details: { path: `backup ${sha256}`, errno: "EINVAL" },
    });
    expect(() => backups.sizeBytes(sha256)).toThrow(refused);
    expect(() => backups.read(sha256)).toThrow(refused);
    expect(() => backups.restore(sha256, "/file", {})).toThrow(refused);
  },
);

test("a copy that is not kept is missing", () => {
  const { backups } = begin();
  const sha256 = "0".repeat(64);
  const missing = expect.objectContaining({
    code: "HOST_ERROR",
    details: { path: `backup ${sha256}`, errno: "ENOENT" },
  });
  expect(backups.sizeBytes(sha256)).toBeNull();
  expect(() => backups.read(sha256)).toThrow(missing);
  expect(() => backups.restore(sha256, "/file", {})).toThrow(missing);
});

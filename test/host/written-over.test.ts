/** Files that are written over in their place, because each of their names is to stay one of the same file. */
import {
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LocalFiles } from "../../lib/host/local-files.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isRoot = process.geteuid?.() === 0;
if (!isRoot) console.warn("Skipped: files in folders of others, which only root can make.");

/** A file with two names. */
function prepare(content: string) {
  const folder = temporaryFolder();
  const work = join(folder, "work");
  mkdirSync(work);
  const [path, other] = [join(work, "file"), join(work, "other")];
  writeFileSync(path, content, { mode: 0o640 });
  linkSync(path, other);
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  return { work, path, other, files: host.files as LocalFiles };
}

const looks = (path: string): unknown => {
  const { ino, mode, uid, gid, nlink } = statSync(path);
  return { ino, mode: mode & 0o7777, uid, gid, nlink, content: readFileSync(path, "utf8") };
};

describe("a file with several names that is written over", () => {
  it.each([
    ["longer", "x".repeat(200_000)],
    ["shorter", "x"],
    ["empty", ""],
  ])(
    "has its old content and attributes where the new ones can't all be given: %s",
    async (_what, content) => {
      const { work, path, other, files } = prepare("old content\n".repeat(1_000));
      const before = looks(path);
      const impossible = { "security.capability": Buffer.from("none").toString("base64") };
      const writing = async (): Promise<void> =>
        files.writeFile(path, Buffer.from(content), {
          keepLinks: true,
          mode: 0o600,
          extras: { attributes: impossible },
        });
      await expect(writing()).rejects.toMatchObject({ code: "HOST_ERROR" });
      expect(looks(path)).toEqual(before);
      expect(looks(other)).toEqual(before);
      expect(readdirSync(work).toSorted()).toEqual(["file", "other"]);
    },
  );

  it("is left alone where another file took its place meanwhile", async () => {
    const { work, path, other, files } = prepare("old");
    const fill = async (fd: number): Promise<void> => {
      writeSync(fd, "new");
      writeFileSync(join(work, "newcomer"), "of somebody else");
      renameSync(join(work, "newcomer"), path);
    };
    await expect((async () => files.replaceFile(path, { keepLinks: true }, fill))()).rejects.toMatchObject({
      code: "HOST_ERROR",
      details: { errno: "ESTALE" },
    });
    expect([readFileSync(path, "utf8"), readFileSync(other, "utf8")]).toEqual(["of somebody else", "old"]);
    expect(readdirSync(work).toSorted()).toEqual(["file", "other"]);
  });

  it.runIf(isRoot)("is refused in a folder of somebody who gave another's file a name there", async () => {
    const { work, path, other, files } = prepare("root's own");
    chownSync(work, 12_345, 12_345);
    const writing = async (): Promise<void> => files.writeFile(path, Buffer.from("new"), { keepLinks: true });
    await expect(writing()).rejects.toMatchObject({ code: "HOST_ERROR" });
    expect(readFileSync(other, "utf8")).toBe("root's own");
    chownSync(path, 12_345, 12_345);
    await writing();
    expect(readFileSync(other, "utf8")).toBe("new");
  });
});

/** The copy of a file that stood is on the disk before what took its place may be, with its name. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LocalBackups } from "../../lib/host/local-backups.ts";
import { LocalFiles } from "../../lib/host/local-files.ts";
import { LocalPaths } from "../../lib/host/local-paths.ts";
import { PendingWrites } from "../../lib/host/local-sync.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test.each([0, 1, 100_000, 3_000_000])(
  "a copy of %i bytes is synced with the folder that names it",
  async (size) => {
    const base = temporaryFolder();
    const [folder, path] = [join(base, "copies"), join(base, "files", "file")];
    mkdirSync(join(base, "files"));
    writeFileSync(path, Buffer.alloc(size, "x"));
    const synced: string[] = [];
    const pending = new PendingWrites((held) => {
      synced.push(held);
      return { real: held, shown: held, release() {} };
    });
    const paths = new LocalPaths();
    const backups = new LocalBackups(folder, { files: new LocalFiles(paths, pending), paths, pending });
    const { sha256 } = await backups.save(path);
    await pending.flush();
    expect(synced.toSorted()).toEqual([folder, join(folder, sha256)]);
  },
);

/** One call to the system fails, each in its turn, in everything that a host does to files: what was there stays, or what is wanted stands. */
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { HostFiles } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { failingAt } from "../support/failing-files.ts";
import { temporaryFolderOnDisk } from "../support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;
const owner = isRoot ? { uid: 12, gid: 13 } : {};
const wanted = Buffer.from("what is wanted");

const acts: readonly [name: string, act: (files: HostFiles, at: (name: string) => string) => unknown][] = [
  ["a new file", (files, at) => files.writeFile(at("new"), wanted, { mode: 0o640, ...owner })],
  ["a file in the place of one", (files, at) => files.writeFile(at("old"), wanted, {})],
  [
    "a file in the place of one, with another mode and owner",
    (files, at) => files.writeFile(at("old"), wanted, { mode: 0o4755, ...owner }),
  ],
  ["a file in the place of a link", (files, at) => files.writeFile(at("link"), wanted, { mode: 0o600 })],
  ["a folder", (files, at) => files.makeDirectory(at("folder"), { mode: 0o750, ...owner })],
  ["a link", (files, at) => files.makeSymlink(at("to"), "old", owner)],
  ["a mode", (files, at) => files.setAttributes(at("old"), { mode: 0o600 })],
  ["a file elsewhere", (files, at) => files.move(at("old"), at("moved"))],
  ["no file", (files, at) => files.removeFile(at("old"))],
  ["no link", (files, at) => files.removeFile(at("link"))],
  ["no folder", (files, at) => files.removeDirectory(at("empty"))],
];

/** All that stands in a folder, a line each. */
function standing(folder: string): string[] {
  return readdirSync(folder)
    .toSorted()
    .map((name) => {
      const path = join(folder, name);
      const { mode, uid, gid } = lstatSync(path);
      const kind = mode & 0o170000;
      const content =
        kind === 0o100000 ? readFileSync(path, "utf8") : kind === 0o120000 ? readlinkSync(path) : "a folder";
      return `${name} ${mode.toString(8)} ${uid}:${gid} ${content}`;
    });
}

function begin(): string {
  const folder = temporaryFolderOnDisk();
  writeFileSync(join(folder, "old"), "what was there", { mode: 0o644 });
  symlinkSync("old", join(folder, "link"));
  mkdirSync(join(folder, "empty"));
  return folder;
}

test.each(acts)("%s", async (_, act) => {
  const host = new LocalHost({ stateFolder: temporaryFolderOnDisk() });
  const on = (folder: string): unknown => act(host.files, (name) => join(folder, name));
  const whole = begin();
  const before = standing(whole);
  await on(whole);
  const after = standing(whole);
  expect(after).not.toEqual(before);
  const wrong: unknown[] = [];
  for (const code of ["EIO", "ENOSPC"] as const) {
    for (let number = 0; ; number++) {
      const folder = begin();
      const { failed, result } = failingAt(number, code, () => {
        try {
          return { done: on(folder) };
        } catch (error) {
          return { error };
        }
      });
      if ("done" in result) await result.done;
      const found = standing(folder);
      const isRight = "done" in result ? same(found, after) : same(found, before) || same(found, after);
      let next: unknown = null;
      if ("error" in result && same(found, before)) {
        try {
          await on(folder);
        } catch (error) {
          next = error;
        }
        if (!same(standing(folder), after)) next ??= standing(folder);
      }
      if (!isRight || next !== null) wrong.push({ failed, code, found, result, next });
      if (failed === null) break;
    }
  }
  expect(wrong).toEqual([]);
});

function same(one: readonly string[], other: readonly string[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Which mode a file has that gets another owner, and in which order a folder is told: on a machine, and on one in memory. */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Host, HostFiles } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isRoot = process.platform === "linux" && process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: set-id bits of files that change hands: only root can give a file away.");

const machines: [name: string, make: () => { host: Host; folder: string }][] = [
  [
    "this machine",
    () => {
      const base = temporaryFolder();
      chmodSync(base, 0o755);
      return { host: new LocalHost({ stateFolder: join(base, "state") }), folder: join(base, "folder") };
    },
  ],
  ["a machine in memory", () => ({ host: new MemoryHost(), folder: "/folder" })],
];

const owner = { uid: 54_321, gid: 54_322 };
const content = Buffer.from("content");

const changes: [how: string, change: (files: HostFiles, path: string, to: object) => unknown][] = [
  ["is written anew", (files, path, to) => files.writeFile(path, Buffer.from("other"), to)],
  ["gets other attributes", (files, path, to) => files.setAttributes(path, to)],
];

const owners: [whose: string, to: { uid?: number; gid?: number }, moves: boolean][] = [
  ["stays whose it is", {}, false],
  ["is given to whose it is", owner, false],
  ["is given to another user", { uid: 12_345 }, true],
  ["is given to another group", { gid: 12_345 }, true],
  ["is given to root", { uid: 0, gid: 0 }, true],
];

describe.runIf(isRoot).each(machines)("on %s a file", (_machine, make) => {
  describe.each(changes)("that %s", (_how, change) => {
    test.each(owners)(
      "and %s keeps its set-id bits only where its owner stays",
      async (_whose, to, moves) => {
        for (const mode of [0o4755, 0o2755, 0o6711, 0o1755, 0o7777, 0o640]) {
          const { host, folder } = make();
          const path = `${folder}/file`;
          host.files.makeDirectory(folder, { mode: 0o755 });
          host.files.writeFile(path, content, { mode, ...owner });
          await change(host.files, path, to);
          const after = host.files.stat(path);
          expect([after?.mode, mode]).toEqual([moves ? mode & 0o1777 : mode, mode]);
          expect({ uid: after?.uid, gid: after?.gid }).toEqual({ ...owner, ...to });
        }
      },
    );
  });
});

test.each(machines)("%s tells what is in a folder in the order of the names", (_machine, make) => {
  const { host, folder } = make();
  host.files.makeDirectory(folder, { mode: 0o755 });
  const names = Array.from({ length: 60 }, (_, at) => `${(at * 37) % 60}-${"xyz"[at % 3]}`);
  for (const name of names) host.files.writeFile(`${folder}/${name}`, content, { mode: 0o644 });
  const sorted = names.toSorted();
  expect(host.files.list(folder)).toEqual(sorted);
  expect(host.files.below(folder).list(folder)).toEqual(sorted);
});

/** A way that a host itself changes: what comes after goes where it leads then, though its folders were known before. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { HostFiles } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isRoot = process.platform === "linux" && process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: folders on the way that change hands: only root can give one away.");

const hosts: [name: string, make: () => HostFiles][] = [
  ["this machine", () => new LocalHost({ stateFolder: temporaryFolder() }).files],
  [
    "below a root folder",
    () => new LocalHost({ stateFolder: temporaryFolder(), root: temporaryFolder() }).files,
  ],
  ["a machine in memory", () => new MemoryHost().files],
];

type Change = (files: HostFiles, at: string) => unknown;

/** What is done to the way, which leads to the folder `one`, and the folder in which a file is that is written by it after. */
const changes: [what: string, change: Change, leadsTo: "one" | "two" | "way"][] = [
  ["its link stays", () => {}, "one"],
  [
    "its link gives way to a folder",
    (files, at) => {
      files.removeFile(`${at}/way`);
      files.makeDirectory(`${at}/way`, { mode: 0o755 });
    },
    "way",
  ],
  [
    "its link gives way to another",
    (files, at) => {
      files.removeFile(`${at}/way`);
      files.makeSymlink(`${at}/way`, "two");
    },
    "two",
  ],
  ["its link is written over", (files, at) => files.makeSymlink(`${at}/way`, "two"), "two"],
  [
    "another link is moved into its place",
    async (files, at) => {
      files.makeSymlink(`${at}/next`, "two");
      files.removeFile(`${at}/way`);
      await files.move(`${at}/next`, `${at}/way`);
    },
    "two",
  ],
  [
    "the folder that it led to gives way to a link",
    (files, at) => {
      files.removeFile(`${at}/one/f`);
      files.removeDirectory(`${at}/one`);
      files.makeSymlink(`${at}/one`, "two");
    },
    "two",
  ],
];

describe.each(hosts)("on %s", (_name, make) => {
  test.each(changes)("where %s", async (_what, change, leadsTo) => {
    const files = make();
    const at = temporaryFolder();
    // Below another root, and in memory, there is none yet.
    for (const { index } of `${at}/`.matchAll(/(?!^)\//g)) {
      const folder = at.slice(0, index);
      if (files.stat(folder) === null) files.makeDirectory(folder, { mode: 0o755 });
    }
    for (const folder of ["one", "two"]) files.makeDirectory(`${at}/${folder}`, { mode: 0o755 });
    files.makeSymlink(`${at}/way`, "one");
    files.writeFile(`${at}/way/f`, Buffer.from("before"), {});
    expect(Buffer.from(files.readFile(`${at}/one/f`)).toString()).toBe("before");
    await change(files, at);
    files.writeFile(`${at}/way/g`, Buffer.from("after"), {});
    const has = (folder: string): boolean =>
      files.stat(`${at}/${folder}`)?.kind === "directory" && files.stat(`${at}/${folder}/g`) !== null;
    expect(["one", "two", "way"].filter(has)).toEqual([leadsTo]);
    expect(Buffer.from(files.readFile(`${at}/way/g`)).toString()).toBe("after");
  });
});

test.runIf(isRoot).each(["a", "a/b"])(
  "a folder on the way, %s, that is given to somebody and back is his for that time, though it was known before",
  async (given) => {
    const folder = temporaryFolder();
    const { files } = new LocalHost({ stateFolder: join(folder, "state") });
    for (const each of ["a", "a/b"]) files.makeDirectory(join(folder, each), { mode: 0o755 });
    const file = join(folder, "a/b/f");
    const found: unknown[] = [];
    for (const uid of [0, 54_321, 0]) {
      await files.setAttributes(join(folder, given), { uid });
      // Whoever looks knows the way from then on.
      for (let time = 0; time < 2; time += 1) found.push([files.stat(file), files.ledBy(file)]);
    }
    expect(found.map((each) => (each as [unknown, number | null])[1])).toEqual([
      null,
      null,
      54_321,
      54_321,
      null,
      null,
    ]);
  },
);

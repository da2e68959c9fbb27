import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Host } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { type LawSubject, resourceLaws } from "../../lib/testing/resource-laws.ts";
import { memoryShell } from "../support/memory-shell.ts";

const text = (content: string): Uint8Array => Buffer.from(content);

const subjects: Record<string, LawSubject> = {
  "a new file": {
    definition: { type: "file", path: "/work/file", content: "token=hunter2\n", mode: "0640" },
    breakIt: (host) => host.files.setAttributes("/work/file", { mode: 0o666 }),
    secret: "hunter2",
  },
  "a file that was different": {
    definition: { type: "file", path: "/work/file", content: "token=hunter2\n", mode: "0640" },
    prepare: (host) => host.files.writeFile("/work/file", text("token=old\n"), { mode: 0o604 }),
    breakIt: (host) => host.files.writeFile("/work/file", text("token=bad\n"), {}),
    secret: "hunter2",
  },
  "a binary file that took the place of a link": {
    definition: { type: "file", path: "/work/file", content_base64: "AAEC/w==", force: true },
    prepare: (host) => host.files.makeSymlink("/work/file", "elsewhere"),
    breakIt: (host) => host.files.removeFile("/work/file"),
    secret: "AAEC",
  },
  "a file that is not wanted": {
    definition: { type: "file", path: "/work/file", ensure: "absent" },
    prepare: (host) => host.files.writeFile("/work/file", text("old\n"), { mode: 0o600 }),
    breakIt: (host) => host.files.writeFile("/work/file", text("back\n"), {}),
  },
  "a new folder": {
    definition: { type: "directory", path: "/work/folder", mode: "0750" },
    breakIt: (host) => host.files.setAttributes("/work/folder", { mode: 0o777 }),
  },
  "a folder with another mode": {
    definition: { type: "directory", path: "/work/folder", mode: "0750" },
    prepare: (host) => host.files.makeDirectory("/work/folder", { mode: 0o700 }),
    breakIt: (host) => host.files.setAttributes("/work/folder", { mode: 0o777 }),
  },
  "a new link": {
    definition: { type: "symlink", path: "/work/link", target: "hunter2" },
    breakIt: (host) => host.files.makeSymlink("/work/link", "other"),
    secret: "hunter2",
  },
  "a link that took the place of a file": {
    definition: { type: "symlink", path: "/work/link", target: "there", force: true },
    prepare: (host) => host.files.writeFile("/work/link", text("a file\n"), { mode: 0o640 }),
    breakIt: (host) => host.files.makeSymlink("/work/link", "other"),
  },
  "a new line in a new file": {
    definition: { id: "password", type: "line", path: "/work/conf", line: "password=hunter2", create: true },
    breakIt: (host) => host.files.writeFile("/work/conf", text(""), {}),
    secret: "hunter2",
  },
  "a line in the place of another": {
    definition: { type: "line", path: "/work/conf", line: "port=2222 *", match: ["port=*", "#port=*"] },
    prepare: (host) => host.files.writeFile("/work/conf", text("a=1\n#port=22\nb=2\n"), { mode: 0o644 }),
    breakIt: (host) => host.files.writeFile("/work/conf", text("a=1\nport=23\nb=2\n"), {}),
  },
  "a line that is not wanted": {
    definition: { type: "line", path: "/work/conf", line: "bad=1", ensure: "absent" },
    prepare: (host) => host.files.writeFile("/work/conf", text("a=1\nbad=1\n"), { mode: 0o644 }),
    breakIt: (host) => host.files.writeFile("/work/conf", text("bad=1\na=1\n"), {}),
  },
  "a script with a check": {
    definition: {
      id: "done",
      type: "script",
      run: "touch work/done # hunter2",
      check: "test -e work/done # hunter2",
      undo: "rm work/done",
    },
    breakIt: (host) => host.files.removeFile("/work/done"),
    secret: "hunter2",
  },
  "a script that creates a path": {
    definition: {
      id: "done",
      type: "script",
      run: ["/bin/sh", "-c", "touch work/done"],
      creates: "/work/done",
      undo: "rm work/done",
    },
    breakIt: (host) => host.files.removeFile("/work/done"),
  },
};

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

const hosts: Record<string, () => Host> = {
  "in memory"() {
    const host: MemoryHost = new MemoryHost({
      programs: { "/bin/sh": (command) => memoryShell(command, host.files) },
    });
    host.files.makeDirectory("/work", {});
    return host;
  },
  "on this machine"() {
    const folder = mkdtempSync(join(tmpdir(), "fleetwright-laws-"));
    folders.push(folder);
    mkdirSync(join(folder, "root/work"), { recursive: true });
    return new LocalHost({ root: join(folder, "root"), stateFolder: join(folder, "state") });
  },
};

for (const [where, create] of Object.entries(hosts)) {
  for (const [what, subject] of Object.entries(subjects)) {
    describe(`${what}, ${where}`, () => {
      for (const { name, run } of resourceLaws(subject, create)) test(name, run);
    });
  }
}

test("every type is a subject of the laws", () => {
  const tried = new Set(Object.values(subjects).map(({ definition }) => definition.type));
  expect([...tried].sort()).toEqual([...resourceTypes.keys()].sort());
});

/** What is noted of what stood before, what a later version adds to it, and how people are told of a change. */
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { MemoryHost } from "../../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../../lib/json.ts";
import { captureDeclared } from "../../../../lib/state/resources/shared/attributes.ts";
import { describeChange } from "../../../../lib/state/resources/shared/describe.ts";
import {
  brokenLinks,
  captureAllExtras,
  captureExtras,
  compareExtras,
  noteLinks,
  withLinks,
} from "../../../../lib/state/resources/shared/extras.ts";
import { addMissing } from "../../../../lib/state/resources/shared/later-prior.ts";
import { isSystemFolder } from "../../../../lib/state/resources/shared/system-folders.ts";

const there = { path: "/f", ensure: "present" };
const gone = { path: "/f", ensure: "absent" };
const part = { ...there, only_if_there: true };

test.each<[what: string, noted: JsonObject, now: JsonObject, made: JsonObject]>([
  ["nothing stood before", gone, { ...there, mode: "0644" }, gone],
  ["nothing stands now, and all was noted", { ...there, mode: "0600" }, gone, { ...there, mode: "0600" }],
  ["nothing stands now, and a part was noted", { ...part, mode: "0600" }, gone, gone],
  [
    "all is noted now, and a part was",
    { ...part, mode: "0600" },
    { ...there, mode: "0644", owner: "web" },
    { ...there, mode: "0600", owner: "web" },
  ],
  [
    "another part is noted now",
    { ...part, mode: "0600" },
    { ...part, owner: "web" },
    { ...part, mode: "0600", owner: "web" },
  ],
  [
    "the same part is noted now",
    { ...part, mode: "0600" },
    { ...part, mode: "0644" },
    { ...part, mode: "0600" },
  ],
  [
    "a part is noted now, and all was",
    { ...there, mode: "0600" },
    { ...part, owner: "web" },
    { ...there, mode: "0600", owner: "web" },
  ],
  [
    "all is noted now, and all was",
    { ...there, mode: "0600" },
    { ...there, mode: "0644" },
    { ...there, mode: "0600" },
  ],
])("where %s, what was noted first counts", (_what, spec, now, made) => {
  const noted = { type: "file", spec };
  const all = addMissing(noted, { type: "file", spec: now });
  expect(all).toEqual({ type: "file", spec: made });
  // What is the same is not handed over once more.
  if (isDeepStrictEqual(made, spec)) expect(all).toBe(noted);
  const other = { type: "symlink", spec };
  expect(addMissing(other, { type: "file", spec: now })).toBe(other);
});

test.each<[declared: JsonObject, mode: number, kind: "file" | "directory", noted: JsonObject]>([
  [{}, 0o4755, "file", {}],
  [{ mode: "0600" }, 0o755, "file", { mode: "0755" }],
  [{ owner: "root" }, 0o755, "file", { owner: "web", uid: 33 }],
  [{ group: "root" }, 0o755, "file", { group: "web", gid: 33 }],
  [{ owner: "root" }, 0o4755, "file", { mode: "4755", owner: "web", uid: 33 }],
  [{ group: "root" }, 0o2755, "file", { mode: "2755", group: "web", gid: 33 }],
  [{ owner: "root" }, 0o1755, "file", { owner: "web", uid: 33 }],
  [{ owner: "root" }, 0o2755, "directory", { owner: "web", uid: 33 }],
  [
    { mode: "0600", owner: "root", group: "root" },
    0o755,
    "file",
    { mode: "0755", owner: "web", uid: 33, group: "web", gid: 33 },
  ],
])("of %j on what has mode %i and is a %s is noted %j", (declared, mode, kind, noted) => {
  const host = new MemoryHost({ users: { root: 0, web: 33 }, groups: { root: 0, web: 33 } });
  const stat = { kind, mode, uid: 33, gid: 33, sizeBytes: 0 };
  expect(captureDeclared(declared, stat, host)).toEqual(noted);
});

const note = { "user.note": "aGk=" };

test("extras are noted where there are any, and all where what stands is to go", () => {
  const { files } = new MemoryHost();
  files.writeFile("/bare", new Uint8Array(), { mode: 0o644 });
  files.writeFile("/rich", new Uint8Array(), { mode: 0o644, extras: { attributes: note, flags: 0x40 } });
  expect(captureExtras("/bare", files)).toEqual({});
  expect(captureExtras("/rich", files)).toEqual({ extras: { attributes: note, flags: 0x40 } });
  expect(captureAllExtras("/rich", files)).toEqual(captureExtras("/rich", files));
  const bare = captureAllExtras("/bare", files).extras;
  expect(compareExtras("/bare", bare, files)).toEqual([]);
  expect(compareExtras("/rich", undefined, files)).toEqual([]);
  expect(compareExtras("/rich", { attributes: note, flags: 0x40 }, files)).toEqual([]);
  for (const [wanted, names] of [
    [{ attributes: note }, ["user.note"]],
    [{ attributes: note, flags: 0x10 }, ["user.note", "flags"]],
    [{ flags: 0x40 }, ["flags"]],
    [{ attributes: { "user.note": "eW8=" }, flags: 0x40 }, ["user.note", "flags"]],
    [{ attributes: { "user.other": "aGk=" }, flags: 0x40 }, ["user.other", "flags"]],
    [{ attributes: { ...note, "user.a": "aGk=" }, flags: 0x40 }, ["user.a", "user.note", "flags"]],
  ] as const)
    expect(compareExtras("/rich", wanted, files)).toEqual([
      { property: "extras", before: ["user.note", "flags"], after: names },
    ]);
});

test("other names of a file are told where they would be left behind", () => {
  const stat = { kind: "file", mode: 0o644, uid: 0, gid: 0, sizeBytes: 0 } as const;
  expect(brokenLinks(null, {})).toEqual([]);
  expect(brokenLinks(stat, {})).toEqual([]);
  expect(brokenLinks({ ...stat, links: 1 }, {})).toEqual([]);
  expect(brokenLinks({ ...stat, links: 3 }, { hard_links: "keep" })).toEqual([]);
  const broken = [{ property: "hard_links", before: 3, after: 1 }];
  expect(brokenLinks({ ...stat, links: 3 }, {})).toEqual(broken);
  expect(brokenLinks({ ...stat, links: 3 }, { hard_links: "break" })).toEqual(broken);
});

test("what stood before comes back for all names once a version wrote for all", () => {
  const [bare, kept] = [{ ...there }, { ...there, hard_links: "keep" }].map((spec) => ({
    type: "file",
    spec,
  }));
  const link = { type: "symlink", spec: there };
  const host = new MemoryHost();
  host.files.writeFile("/f", new Uint8Array(), { mode: 0o644 });
  expect(withLinks(bare!, {})).toBe(bare);
  expect(withLinks(link, { hard_links: "keep" })).toBe(link);
  expect(withLinks(kept!, { hard_links: "keep" })).toBe(kept);
  expect(withLinks(bare!, { hard_links: "keep" })).toEqual(kept);
  expect(noteLinks(bare!, { path: "/f", hard_links: "keep" }, host)).toEqual(kept);
  for (const prior of [bare!, kept!]) expect(noteLinks(prior, { path: "/f" }, host)).toBe(prior);
  const { stat } = host.files;
  host.files.stat = (path) => ({ ...stat.call(host.files, path)!, links: 2 });
  expect(noteLinks(bare!, { path: "/f" }, host)).toBe(bare);
  expect(() => noteLinks(kept!, { path: "/f" }, host)).toThrow(
    "Keep them, or have the resource removed before.",
  );
});

test.each([
  [{ property: "ensure", before: "present", after: "absent" }, "take it away"],
  [{ property: "ensure", before: "absent", after: "present" }, "make it"],
  [{ property: "mode", before: null, after: "0644" }, "mode: null -> 0644"],
  [{ property: "line", before: "a\nb", after: ["x"] }, 'line: a\\nb -> ["x"]'],
  [{ property: "x", before: "a".repeat(80), after: 1 }, `x: ${"a".repeat(80)} -> 1`],
  [{ property: "x", before: 1, after: "a".repeat(81) }, `x: 1 -> ${"a".repeat(79)}…`],
])("%j is told in one line", (change, told) => {
  expect(describeChange(change)).toBe(told);
});

test.each([
  ["/", true],
  ["/etc", true],
  ["/usr/local/bin", true],
  ["/proc/sys/net", true],
  ["/dev/shm", true],
  ["/etc/nginx", false],
  ["/srv/dev/x", false],
  ["/device/x", false],
])("%s is a folder of the system: %j", (path, isOne) => {
  expect(isSystemFolder(path)).toBe(isOne);
});

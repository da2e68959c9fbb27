/** What stood before comes back through whatever versions came in between, those that had it gone included, and each plan on the way says it. */
import { expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import type { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { Json, JsonObject } from "../../../lib/json.ts";
import type { StateRunResult } from "../../../lib/state/run/engine.ts";
import { snapshot } from "../../../lib/testing/snapshot.ts";
import { localHost } from "../../support/laws.ts";
import { memoryMachine, observeAccounts } from "../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

interface Row {
  of: JsonObject & { type: string };
  versions: Readonly<Record<"one" | "other", JsonObject>>;
  prepare(host: Host): void;
}

const write = (host: Host, path: string, text: string, mode = 0o640): void =>
  host.files.writeFile(path, Buffer.from(text), { mode, uid: 0, gid: 100 });

/** A folder with files, a link and a folder of others. */
function fill(host: Host): void {
  host.files.makeDirectory("/work/d", { mode: 0o2750, uid: 0, gid: 100 });
  for (const name of ["a", "b"]) write(host, `/work/d/${name}`, name, 0o600);
  host.files.makeSymlink("/work/d/link", "/nowhere");
  host.files.makeDirectory("/work/d/sub", { mode: 0o711 });
  write(host, "/work/d/sub/deep", "deep", 0o4755);
}

const nothing = (): void => {};
const text = (path: string, content: string) => (host: Host) => write(host, path, content);
const lines = text("/work/t", "first\nbeta=0\nlast");
const folder = { type: "directory", path: "/work/d" };
const file = { type: "file", path: "/work/t" };
const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0";
const unit = { type: "systemd_unit", name: "site.service" };

const rows: Readonly<Record<string, Row>> = {
  "a folder that is purged": {
    of: folder,
    versions: { one: { purge: true }, other: { mode: "0700" } },
    prepare: fill,
  },
  "a folder that is purged and given away": {
    of: folder,
    versions: {
      one: { recurse: true, owner: "root", group: "root", mode: "0755" },
      other: { purge: true, mode: "0700" },
    },
    prepare: fill,
  },
  "an empty folder": {
    of: folder,
    versions: { one: { mode: "0700" }, other: { owner: "root", group: "root" } },
    prepare: (host) => host.files.makeDirectory("/work/d", { mode: 0o1777, uid: 0, gid: 100 }),
  },
  "a folder that is new": {
    of: folder,
    versions: { one: { parents: true }, other: { mode: "0700" } },
    prepare: nothing,
  },
  "a file": {
    of: file,
    versions: { one: { content: "ours" }, other: { content: "more", mode: "0600", group: "root" } },
    prepare: lines,
  },
  "a file of which the mode is said": {
    of: file,
    versions: { one: { mode: "0600" }, other: { content: "ours", group: "root" } },
    prepare: lines,
  },
  "a file that is new": {
    of: file,
    versions: { one: { content: "ours" }, other: { mode: "0600" } },
    prepare: nothing,
  },
  "a link": {
    of: { type: "symlink", path: "/work/t", force: true },
    versions: { one: { target: "one" }, other: { target: "other" } },
    prepare: (host) => host.files.makeSymlink("/work/t", "theirs", { uid: 0, gid: 100 }),
  },
  "a link in the place of a file": {
    of: { type: "symlink", path: "/work/t", force: true },
    versions: { one: { target: "one" }, other: { target: "other" } },
    prepare: lines,
  },
  "a line": {
    of: { type: "line", path: "/work/t", match: "beta=*", line: "beta=1" },
    versions: { one: {}, other: { line: "beta=2" } },
    prepare: lines,
  },
  "a line of a file that is new": {
    of: { type: "line", path: "/work/t", match: "beta=*", line: "beta=1", create: true },
    versions: { one: {}, other: { line: "beta=2" } },
    prepare: nothing,
  },
  "a line that another version has as it stood": {
    of: { type: "line", path: "/work/t", match: "beta=*", line: "beta=1" },
    versions: { one: {}, other: { line: "beta=0" } },
    prepare: text("/work/t", "first\nlast\nbeta=0\n"),
  },
  "a line that a later version takes": {
    of: { type: "line", path: "/work/t", match: ["alpha=*"], line: "alpha=1" },
    versions: {
      one: { ensure: "absent" },
      other: { ensure: "present", match: ["alpha=*", "beta=*"], line: "beta=2" },
    },
    prepare: lines,
  },
  "a line that a later version takes beside its own": {
    of: { type: "line", path: "/work/t", match: ["alpha=*"], line: "gamma=1" },
    versions: { one: {}, other: { match: ["alpha=*", "beta=*"], line: "beta=2" } },
    prepare: lines,
  },
  "a block": {
    of: { type: "block", path: "/work/t" },
    versions: { one: { content: "one\n" }, other: { content: "other\n", marker: "// {mark}" } },
    prepare: text("/work/t", "first\n# BEGIN block\ntheirs\n# END block\nlast"),
  },
  "a name of an address": {
    of: { type: "host_entry", name: "db", ip: "192.0.2.1" },
    versions: { one: { aliases: ["one"] }, other: { ip: "192.0.2.2" } },
    prepare: text("/etc/hosts", "127.0.0.1 localhost\n192.0.2.9 db theirs # kept\n::1 db"),
  },
  "a setting of the kernel": {
    of: { type: "sysctl", key: "net.ipv4.ip_forward" },
    versions: { one: { value: "1" }, other: { value: "1", path: "/work/t" } },
    prepare: text("/work/t", "# first\nnet.ipv4.ip_forward=0\nlast=1"),
  },
  "a setting of the kernel in a file of others": {
    of: { type: "sysctl", key: "net.ipv4.ip_forward" },
    versions: { one: { value: "1" }, other: { value: "1", path: "/work/t" } },
    prepare: text("/work/t", "# first\nlast=1"),
  },
  "a mount": {
    of: { type: "mount", path: "/work/d", device: "tmpfs", fstype: "tmpfs" },
    versions: { one: { options: ["noexec"] }, other: { ensure: "unmounted", options: ["ro"], pass: 2 } },
    prepare(host) {
      host.files.makeDirectory("/work/d", { mode: 0o755 });
      write(
        host,
        "/etc/fstab",
        "# disks\ntmpfs   /work/d tmpfs size=1m 0 0\n/dev/sdb /work/other ext4 defaults 0 2",
        0o644,
      );
    },
  },
  "a user": {
    of: { type: "user", name: "root" },
    versions: {
      one: { shell: "/bin/bash", groups: ["users"] },
      other: { comment: "ours", expires: "2030-01-31" },
    },
    prepare: nothing,
  },
  "a user who is new": {
    of: { type: "user", name: "deploy", create_home: false },
    versions: { one: { uid: 2000, groups: ["users"] }, other: { shell: "/bin/bash", password_hash: "*" } },
    prepare: nothing,
  },
  "a group": {
    of: { type: "group", name: "users" },
    versions: { one: { members: ["root"] }, other: { members: [], membership: "inclusive", gid: 2100 } },
    prepare: nothing,
  },
  "a group that is new": {
    of: { type: "group", name: "deploy" },
    versions: { one: { gid: 2000 }, other: { members: ["root"] } },
    prepare: nothing,
  },
  "a key": {
    of: { type: "authorized_key", user: "root", key },
    versions: { one: { options: "no-pty" }, other: { options: 'from="::1"' } },
    prepare(host) {
      host.files.makeDirectory("/root/.ssh", { mode: 0o750 });
      host.files.writeFile("/root/.ssh/authorized_keys", Buffer.from(`# theirs\nno-pty ${key} old\n# last`), {
        mode: 0o644,
      });
    },
  },
  "a unit": {
    of: unit,
    versions: { one: { content: "[Unit]\n" }, other: { content: "[Service]\n" } },
    prepare(host) {
      for (const path of ["/etc/systemd", "/etc/systemd/system"]) host.files.makeDirectory(path, {});
      write(host, "/etc/systemd/system/site.service", "theirs", 0o600);
    },
  },
  "a drop-in of a unit": {
    of: { ...unit, drop_in: "limits.conf" },
    versions: { one: { content: "[Unit]\n" }, other: { content: "[Service]\n" } },
    prepare(host) {
      for (const path of ["/etc/systemd", "/etc/systemd/system"]) host.files.makeDirectory(path, {});
    },
  },
};

const absent: JsonObject = { ensure: "absent" };
/** Who is root, or the first group of others, can't go; a folder can when it was emptied. */
function canGo(name: string, way: readonly JsonObject[]): boolean {
  const at = way.indexOf(absent);
  if (at === -1 || name === "a user" || name === "a group") return at === -1;
  return !name.includes("purged") || way.slice(0, at).some(({ purge }) => purge === true);
}

function ways({ versions: { one, other } }: Row, name: string): [string, JsonObject[]][] {
  const all: [string, JsonObject[]][] = [
    ["one version", [one]],
    ["one version and another", [one, other]],
    ["another version and the one", [other, one]],
    ["one version and none", [one, absent]],
    ["none and one version", [absent, one]],
    ["two versions and none", [one, other, absent]],
    ["one version, none, and another", [one, absent, other]],
    ["none, one version, and none", [absent, other, absent]],
  ];
  return all.filter(([, way]) => canGo(name, way));
}

const cases = Object.entries(rows).flatMap(([name, row]) =>
  ways(row, name).map(([way, versions]) => [name, way, row, versions] as const),
);

test.each(cases)("%s comes back through %s", async (_name, _way, { of, prepare }, versions) => {
  const state = new StateFixture(memoryMachine());
  prepare(state.host);
  const look = () => [
    ...["/work", "/root", "/etc"].map((path) => withoutAccounts(snapshot(state.host, path))),
    observeAccounts(state.host),
  ];
  const before = look();
  const keep = (): void =>
    void (state.applied = JSON.parse(JSON.stringify(state.applied)) as typeof state.applied);
  for (const version of [...versions, null]) {
    const desired = version ? declare([{ id: "r", ...of, ...version }]) : [];
    const plan = await state.run("plan", desired);
    const stood = linesIn(state.host);
    const apply = await state.run("apply", desired);
    if (parts.has(of.type)) expectTold(of.type, apply, { stood, stand: linesIn(state.host) });
    keep();
    expect([version, apply.status]).toEqual([version, "succeeded"]);
    const tell = ({ results }: typeof plan) => results.map(({ action, changes }) => ({ action, changes }));
    expect(tell(apply)).toEqual(tell(plan));
    expect((await state.run("apply", desired)).results.map(({ outcome }) => outcome)).toEqual(
      version ? ["unchanged"] : [],
    );
  }
  expect(look()).toEqual(before);
});

/** Types that tell of a part of a text what stood there, and the properties that say so. */
const parts: ReadonlySet<string> = new Set(["line", "block", "sysctl", "mount", "authorized_key"]);
const told: ReadonlySet<string> = new Set(["line", "content", "fstab"]);
const texts = ["/work/t", "/etc/fstab", "/root/.ssh/authorized_keys", "/etc/sysctl.d/90-fleetwright.conf"];

function linesIn({ files }: Host): readonly string[] {
  const standing = texts.filter((path) => files.stat(path)?.kind === "file");
  return standing
    .flatMap((path) => Buffer.from(files.readFile(path)).toString().split("\n"))
    .filter((line) => line !== "");
}

/** What is told of a part of a text stood in it before, or stands in it now; and what came or went is told, where one line does. */
function expectTold(
  type: string,
  { results }: StateRunResult,
  { stood, stand }: Record<"stood" | "stand", readonly string[]>,
): void {
  const linesOf = (value: Json): string[] =>
    (typeof value === "string" ? value.split("\n") : []).filter((line) => line !== "");
  const lacking = (lines: readonly string[], among: readonly string[]): string[] =>
    lines.filter(
      (line, at) =>
        lines.slice(0, at + 1).filter((each) => each === line).length >
        among.filter((each) => each === line).length,
    );
  const changes = results.flatMap((result) => result.changes).filter(({ property }) => told.has(property));
  const [old, now] = [
    changes.flatMap(({ before }) => linesOf(before)),
    changes.flatMap(({ after }) => linesOf(after)),
  ];
  expect({ old, lacks: lacking(old, stood) }).toEqual({ old, lacks: [] });
  expect({ now, lacks: lacking(now, stand) }).toEqual({ now, lacks: [] });
  // A key that goes is told as gone alone, a block has marks, and a setting other files.
  if (type !== "line" && type !== "mount") return;
  expect({ old, untold: lacking(lacking(stood, stand), old) }).toEqual({ old, untold: [] });
  expect({ now, untold: lacking(lacking(stand, stood), now) }).toEqual({ now, untold: [] });
}

/** A block that stands between the marks of a later version alone may be ours, with marks that somebody gave it. */
const partRows = Object.entries(rows).filter(([, { of }]) => parts.has(of.type) && of.type !== "block");

test.each(partRows)(
  "%s comes back once, where somebody brought it back between two versions",
  async (_name, row) => {
    for (const names of [
      ["one", "other"],
      ["other", "one"],
      ["one", "other", "one"],
    ] as const) {
      const state = new StateFixture(memoryMachine());
      row.prepare(state.host);
      const contents = (): (Uint8Array | null)[] =>
        texts.map((path) => (state.host.files.stat(path) ? state.host.files.readFile(path) : null));
      const before = contents();
      for (const name of names) {
        const { status } = await state.run("apply", declare([{ id: "r", ...row.of, ...row.versions[name] }]));
        expect(status).toBe("succeeded");
        for (const [at, path] of texts.entries()) {
          const content = before[at];
          if (content) state.host.files.writeFile(path, content, {});
          else if (state.host.files.stat(path)) state.host.files.removeFile(path);
        }
      }
      await state.run("apply", declare([{ id: "r", ...row.of, ...row.versions.one }]));
      expect((await state.run("apply", [])).status).toBe("succeeded");
      expect(contents().map(String), String(names)).toEqual(before.map(String));
    }
  },
);

test.each(["in memory", "on this machine"] as const)(
  "a folder that was purged and then taken away comes back with what was in it, %s, and the plan says so",
  async (where) => {
    const host = where === "in memory" ? memoryMachine() : localHost();
    const state = new StateFixture(host as MemoryHost);
    fill(host);
    const before = snapshot(host, "/work");
    for (const version of [{ purge: true }, absent])
      expect((await state.run("apply", declare([{ id: "d", ...folder, ...version }]))).status).toBe(
        "succeeded",
      );
    expect(host.files.stat("/work/d")).toBeNull();
    const plan = await state.run("plan", []);
    expect(plan.results[0]?.changes).toContainEqual({
      property: "inside",
      before: null,
      after: ["a", "b", "link", "sub", "sub/deep"],
    });
    expect((await state.run("apply", [])).results[0]).toMatchObject({ outcome: "changed", attempts: 1 });
    expect(snapshot(host, "/work")).toEqual(before);
  },
);

/** The order of the rows of these is nobody's property. */
function withoutAccounts(tree: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(tree).filter(([path]) => !/passwd|shadow|group/.test(path)));
}

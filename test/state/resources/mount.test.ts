import { describe, expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { escapeField, parseFstab, unescapeField } from "../../../lib/state/resources/mount/tables.ts";
import { describeLaws, text } from "../../support/laws.ts";
import { memoryMachine, observeFiles } from "../../support/machine/memory-machine.ts";
import { foretold, told } from "../../support/plan-and-apply.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const fstab = "/etc/fstab";
const table = "/proc/self/mountinfo";
const { signal } = new AbortController();
const observe = observeFiles(fstab, table);
const folder = (host: Host) => host.files.makeDirectory("/work/my cache", { mode: 0o755 });
const mount = (host: Host, options: string) =>
  host.run({ argv: ["mount", "-t", "tmpfs", "-o", options, "tmpfs", "/work/my cache"] }, signal);
const umount = (host: Host) => host.run({ argv: ["umount", "/work/my cache"] }, signal);
const base = { type: "mount", path: "/work/my cache", device: "tmpfs", fstype: "tmpfs" };
const old = "# old\n\ttmpfs /work/my\\040cache   tmpfs  size=1m,nodev 0 0\n/dev/sda1 / ext4 defaults 0 1\n";

describeLaws(
  {
    "a new mount": {
      definition: { ...base, options: ["size=64m", "noexec"] },
      prepare: folder,
      breakIt: async (host) => void (await umount(host)),
      observe,
    },
    "a mount with other options": {
      definition: { ...base, options: ["ro", "noexec"] },
      prepare: async (host) => {
        folder(host);
        host.files.writeFile(fstab, text(old), {});
        await mount(host, "size=1m,nodev");
      },
      breakIt: async (host) => void (await mount(host, "remount,rw")),
      observe,
    },
    "a mount that stays for the next start": {
      definition: { ...base, ensure: "unmounted" },
      prepare: async (host) => (folder(host), void (await mount(host, "rw"))),
      breakIt: async (host) => void (await mount(host, "rw")),
      observe,
    },
    "a line alone": {
      definition: { ...base, ensure: "present" },
      prepare: folder,
      breakIt: (host) =>
        host.files.writeFile(fstab, text("# the disks\n/dev/sda1 / ext4 defaults 0 1\n"), {}),
      observe,
    },
    "a mount that is not wanted": {
      definition: { type: "mount", path: "/work/my cache", ensure: "absent" },
      prepare: async (host) => {
        folder(host);
        host.files.writeFile(fstab, text(old), {});
        await mount(host, "size=1m,nodev");
      },
      breakIt: async (host) => void (await mount(host, "rw")),
      observe,
    },
  },
  { "in memory": memoryMachine },
);

const wanted = (more: object = {}) => declare([{ id: "m", ...base, path: "/work/cache", ...more }]);

function fixture(content = ""): StateFixture {
  const state = new StateFixture(memoryMachine());
  state.host.files.makeDirectory("/work/cache", {});
  state.write(fstab, content);
  return state;
}

test("a line that says the same with other blanks is left as it is", async () => {
  const line = "tmpfs\t/work/cache\ttmpfs\tdefaults\n";
  const state = fixture(line);
  await state.run("apply", wanted());
  expect(state.read(fstab)).toBe(line);
  expect(outcomes(await state.run("apply", wanted()))).toEqual(["m unchanged"]);
});

test("what can't be mounted is not written for the next start", async () => {
  const state = fixture();
  state.write("/work/file", "x");
  const run = await state.run("apply", wanted({ path: "/work/file" }));
  expect(run.results[0]).toMatchObject({ code: "COMMAND_FAILED", exit_code: 32 });
  expect(run.results[0]?.message).toContain("mount point does not exist");
  expect(state.read(fstab)).toBe("");
});

const remounted = ["mount"];
const replaced = ["umount", "mount"];

test.each<
  [reason: string, stood: { line: string; live: string[] }, wanted: object, did: string[], live: string]
>([
  [
    "other options in the line and in the kernel",
    { line: "tmpfs nosuid", live: ["tmpfs", "nosuid"] },
    { options: ["nodev"] },
    remounted,
    "rw,nodev,relatime - tmpfs",
  ],
  [
    "other options in the line alone",
    { line: "tmpfs nosuid", live: ["tmpfs", "nodev"] },
    { options: ["nodev"] },
    remounted,
    "rw,nodev,relatime - tmpfs",
  ],
  [
    "an option that the kernel lacks",
    { line: "tmpfs nodev", live: ["tmpfs", "nosuid"] },
    { options: ["nodev"] },
    remounted,
    "rw,nodev,relatime - tmpfs",
  ],
  [
    "writable where it is to be read-only",
    { line: "tmpfs ro", live: ["tmpfs", "rw"] },
    { options: ["ro"] },
    remounted,
    "ro,relatime - tmpfs",
  ],
  [
    "other times of access",
    { line: "tmpfs noatime", live: ["tmpfs", "relatime"] },
    { options: ["noatime"] },
    remounted,
    "rw,noatime - tmpfs",
  ],
  [
    "times of access that nobody asks for any more",
    { line: "tmpfs noatime", live: ["tmpfs", "noatime"] },
    { options: ["nodev"] },
    remounted,
    "rw,nodev,relatime - tmpfs",
  ],
  [
    "another type",
    { line: "ramfs nodev", live: ["ramfs", "nodev"] },
    { options: ["nodev"] },
    replaced,
    "rw,nodev,relatime - tmpfs",
  ],
])("is made anew as declared, by each reason: %s", async (_reason, { line, live }, more, did, shown) => {
  const [fstype = "", options = ""] = line.split(" ");
  const state = fixture(`tmpfs /work/cache ${fstype} ${options} 0 0\n`);
  const [type = "", flags = ""] = live;
  await state.host.run({ argv: ["mount", "-t", type, "-o", flags, "tmpfs", "/work/cache"] }, signal);
  const before = state.host.writes.length;
  expect(outcomes(await state.run("apply", wanted(more)))).toEqual(["m changed"]);
  const runs = state.host.writes.slice(before).flatMap(({ call, path }) => (call === "run" ? [path] : []));
  expect(runs).toEqual(did);
  expect(state.read(table)).toContain(`/work/cache ${shown} `);
  expect(outcomes(await state.run("apply", wanted(more)))).toEqual(["m unchanged"]);
});

test("a folder that nobody makes is missed before anything is done, as the plan says", async () => {
  for (const mode of ["plan", "apply"] as const) {
    const { results } = await fixture().run(mode, wanted({ path: "/work/none" }));
    const missed = { code: "HOST_ERROR", message: "missing: /work/none" };
    expect(results[0]).toMatchObject({ outcome: "failed", ...missed });
  }
});

test("a folder of the same run is mounted on, which is a change in its plan", async () => {
  const state = new StateFixture(memoryMachine());
  const desired = [...declare([{ id: "d", type: "directory", path: "/work/cache" }]), ...wanted()];
  expect(outcomes(await state.run("plan", desired))).toEqual(["d would_change", "m would_change"]);
  expect(outcomes(await state.run("apply", desired))).toEqual(["d changed", "m changed"]);
});

test("another file system in its place is unmounted first", async () => {
  const state = fixture();
  await state.host.run({ argv: ["mount", "-t", "ext4", "-o", "rw", "/dev/sdb1", "/work/cache"] }, signal);
  const run = await state.run("apply", wanted());
  expect(run.results[0]?.changes).toMatchObject([
    { property: "fstab" },
    { property: "fstype", before: "ext4", after: "tmpfs" },
  ]);
  expect(state.read(table).match(/work\/cache/g)).toHaveLength(1);
});

/** A machine with a disk mounted, and links to it. */
async function withDisk(device: string): Promise<StateFixture> {
  const state = fixture();
  const { files } = state.host;
  for (const path of ["/dev", "/dev/vg", "/dev/mapper", "/dev/md"]) {
    if (!files.stat(path)) files.makeDirectory(path, {});
  }
  for (const name of ["dm-0", "md127", "sdb1"]) files.writeFile(`/dev/${name}`, text(""), {});
  for (const link of ["/dev/vg/lv", "/dev/mapper/vg-lv"]) files.makeSymlink(link, "../dm-0");
  files.makeSymlink("/dev/md/data", "/dev/md127");
  await state.host.run({ argv: ["mount", "-t", "ext4", "-o", "rw", device, "/work/cache"] }, signal);
  return state;
}

test.each([
  ["/dev/vg/lv", "/dev/mapper/vg-lv"],
  ["/dev/md/data", "/dev/md127"],
  ["/dev/sda1", "/dev/root"],
  ["LABEL=data", "/dev/sdb1"],
])("%s is not mounted anew because the kernel calls it %s", async (device, shown) => {
  const state = await withDisk(shown);
  const desired = wanted({ device, fstype: "ext4" });
  await state.run("apply", desired);
  expect(state.read(table)).toContain(shown);
  expect(outcomes(await state.run("apply", desired))).toEqual(["m unchanged"]);
});

test.each([
  ["nfs", "server:/data", "nfs4", "server:/data"],
  ["sshfs", "user@server:/data", "fuse.sshfs", "user@server:/data"],
  ["ntfs-3g", "/dev/sdb1", "fuseblk", "/dev/sdb1"],
  ["ext4", "/dev/sdb1", "fuse", "/dev/sdb1"],
  ["auto", "/dev/sdb1", "xfs", "/dev/sdb1"],
  ["btrfs", "/dev/sdb1", "btrfs", "/dev/dm-0"],
  ["bcachefs", "/dev/sdb1", "bcachefs", "/dev/dm-0"],
])("%s of %s is left as it is where the kernel calls it %s of %s", async (fstype, device, live, shown) => {
  const state = await withDisk("/dev/sdb1");
  await state.host.run({ argv: ["umount", "/work/cache"] }, signal);
  await state.host.run({ argv: ["mount", "-t", live, "-o", "rw", shown, "/work/cache"] }, signal);
  const plan = await state.run("plan", wanted({ device, fstype }));
  expect(plan.results[0]?.changes).toMatchObject([{ property: "fstab" }]);
});

test.each([
  ["nfs4", "nfs"],
  ["nfs", "cifs"],
  ["sshfs", "fuse.rclone"],
  ["btrfs", "ext4"],
])("%s is another file system than %s", async (fstype, live) => {
  const state = fixture();
  await state.host.run({ argv: ["mount", "-t", live, "-o", "rw", "x", "/work/cache"] }, signal);
  const plan = await state.run("plan", wanted({ device: "x", fstype }));
  expect(plan.results[0]?.changes).toMatchObject([
    { property: "fstab" },
    { property: "fstype", before: live, after: fstype },
  ]);
});

test("another disk in its place is unmounted first", async () => {
  const state = await withDisk("/dev/sdb1");
  const run = await state.run("apply", wanted({ device: "/dev/vg/lv", fstype: "ext4" }));
  expect(run.results[0]?.changes).toMatchObject([
    { property: "fstab" },
    { property: "device", before: "/dev/sdb1", after: "/dev/vg/lv" },
  ]);
  expect(state.read(table).match(/work\/cache/g)).toHaveLength(1);
});

test("a path with a link on the way is refused with the path to declare, and can be taken away", async () => {
  const state = fixture();
  state.host.files.makeSymlink("/link", "/work");
  const before = state.read(table);
  const run = await state.run("apply", wanted({ path: "/link/cache" }));
  expect(run.results[0]).toMatchObject({ code: "HOST_ERROR" });
  expect(run.results[0]?.message).toContain("/work/cache");
  expect(state.read(table)).toBe(before);
  await state.host.run({ argv: ["mount", "-t", "tmpfs", "-o", "rw", "tmpfs", "/work/cache"] }, signal);
  const gone = declare([{ id: "m", type: "mount", path: "/link/cache", ensure: "absent" }]);
  expect((await state.run("plan", gone)).results[0]?.changes).toMatchObject([{ property: "mounted" }]);
});

test("two lines about one path are a failure", async () => {
  const state = fixture("a /work/cache ext4\nb /work/cache ext4\n");
  expect((await state.run("plan", wanted())).results[0]).toMatchObject({ code: "HOST_ERROR" });
});

test("another system than Linux is refused", async () => {
  const state = new StateFixture(new MemoryHost({ platform: "darwin" }));
  expect((await state.run("plan", wanted())).results[0]).toMatchObject({ code: "HOST_ERROR" });
});

describe("the fields of a table", () => {
  test.each([
    "a b",
    "tab\tbed",
    "back\\slash",
    "#hash",
    "a\\040b",
    "plain",
    "wide\u3000blank",
    "no\u00a0break",
  ])("carry %j", (field) => {
    expect(escapeField(field)).not.toMatch(/[ \t\n#]/);
    expect(parseFstab(`dev ${escapeField(field)} ext4`)?.path).toBe(field);
    expect(unescapeField(escapeField(field))).toBe(field);
  });

  test("that are not there are the usual ones", () => {
    expect(parseFstab("/dev/sda1 /mnt\\040a ext4")).toMatchObject({
      path: "/mnt a",
      options: "defaults",
      pass: 0,
    });
    expect(parseFstab("  # comment")).toBeNull();
  });
});

test.each([
  { device: undefined },
  { device: "-a" },
  { fstype: "ext4 -o x" },
  { options: ["-o"] },
  { options: ["a,b"] },
  { options: ["a\nb"] },
  { ensure: "mount" },
])("%j is a fault", (more) => {
  expect(() => wanted(more)).toThrow();
});

test("a plan does not take what a mount will hide for what stands there, nor what goes with it", async () => {
  const host = memoryMachine();
  host.files.makeDirectory("/work/my cache", { mode: 0o755 });
  host.files.writeFile("/work/my cache/x", text("x"), { mode: 0o644 });
  const state = new StateFixture(host);
  const file = { id: "file", type: "file", path: "/work/my cache/x", content: "x" };
  const mounted = declare([{ ...base, id: "mount" }, file]);
  for (const desired of [mounted, []]) {
    const plan = await state.run("plan", desired);
    const applied = await state.run("apply", desired);
    expect(told(applied)).toEqual(foretold(plan, applied));
    expect(applied.results.map(({ outcome }) => outcome)).toEqual(["changed", "changed"]);
  }
  expect(state.read("/work/my cache/x")).toBe("x");
});

test("an option that is not declared any more does not stay in force", async () => {
  const state = new StateFixture(memoryMachine());
  folder(state.host);
  const shown = (): string | undefined => state.read(table).trimEnd().split("\n").at(-1)?.split(" ")[5];
  const version = (options: string[]) => state.run("apply", declare([{ id: "m", ...base, options }]));
  await version(["ro", "noexec", "noatime"]);
  expect(shown()).toBe("ro,noexec,noatime");
  await version(["size=1m"]);
  expect(shown()).toBe("rw,relatime");
  await version(["noatime"]);
  expect(shown()).toBe("rw,noatime");
});

test("of file systems that are mounted over each other, the uppermost is the one that counts", async () => {
  const state = new StateFixture(memoryMachine());
  folder(state.host);
  const lines = (...types: string[]): void =>
    state.write(
      table,
      types
        .map((type, at) => `${30 + at} 22 0:${at} / /work/my\\040cache rw - ${type} ${type} rw\n`)
        .join(""),
    );
  const wanted = declare([{ ...base, id: "cache" }]);
  lines("tmpfs");
  await state.run("apply", wanted);
  lines("ramfs", "tmpfs");
  expect(outcomes(await state.run("check", wanted))).toEqual(["cache unchanged"]);
  lines("tmpfs", "ramfs");
  expect(outcomes(await state.run("check", wanted))).toEqual(["cache would_change"]);
});

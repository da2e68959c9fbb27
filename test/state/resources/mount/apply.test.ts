/** What mount(8) is told, what is done where one property alone differs, and what comes back of what stood. */
import { describe, expect, it, test } from "vitest";
import { MemoryHost } from "../../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../../lib/json.ts";
import { resourceTypes } from "../../../../lib/state/resources/index.ts";
import { kernelPrograms, prepareKernel } from "../../../support/machine/kernel.ts";
import { declare, outcomes, StateFixture } from "../../../support/state-fixture.ts";

const { signal } = new AbortController();
const fstab = "/etc/fstab";
const path = "/work/cache";
const base = { id: "m", type: "mount", path, device: "tmpfs", fstype: "tmpfs" };

/** A machine that notes what mount(8) and umount(8) are told. */
function fixture(table: string | null = "") {
  const told: string[] = [];
  const programs = kernelPrograms(() => host);
  const noting = Object.entries(programs).map(([name, program]) => [
    name,
    (...args: Parameters<typeof program>) => {
      told.push(args[0].argv.join(" "));
      return program(...args);
    },
  ]);
  const host: MemoryHost = new MemoryHost({ programs: Object.fromEntries(noting) });
  host.files.makeDirectory("/etc", {});
  prepareKernel(host);
  for (const folder of ["/work", path]) host.files.makeDirectory(folder, {});
  const state = new StateFixture(host);
  if (table !== null) state.write(fstab, table);
  else if (host.files.stat(fstab)) host.files.removeFile(fstab);
  const mount = (options: string, ...what: string[]) =>
    host.run({ argv: ["mount", "-t", "tmpfs", "-o", options, ...what, "tmpfs", path] }, signal);
  return { state, host, told, mount };
}

const apply = async ({ state }: ReturnType<typeof fixture>, more: JsonObject) =>
  outcomes(await state.run("apply", declare([{ ...base, ...more }])));

test.each(["x-mount.mkdir", "X-mount.mkdir", "x-mount.mkdir=0700", "X-mount.mkdir=0700"])(
  "a folder that is not there is made by mount(8) where it is asked to: %s",
  async (option) => {
    for (const options of [[option], ["nodev", option]]) {
      const machine = fixture();
      machine.host.files.removeDirectory(path);
      const desired = declare([{ ...base, options }]);
      expect(outcomes(await machine.state.run("plan", desired))).toEqual(["m would_change"]);
      expect(outcomes(await machine.state.run("apply", desired))).toEqual(["m changed"]);
      expect(machine.host.files.stat(path)?.kind).toBe("directory");
    }
  },
);

test("no other option makes the folder", async () => {
  const machine = fixture();
  machine.host.files.removeDirectory(path);
  expect(await apply(machine, { options: ["x-mount.mkdirs", "ax-mount.mkdir"] })).toEqual(["m failed"]);
  expect(machine.told).toEqual([]);
});

describe("a remount", () => {
  it.each([
    "noatime",
    "atime",
    "nodiratime",
    "diratime",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
  ])("says nothing of times of access but %s, which is declared", async (times) => {
    const machine = fixture(`tmpfs ${path} tmpfs ro 0 0\n`);
    await machine.mount("ro");
    machine.told.length = 0;
    await apply(machine, { options: ["nodev", times] });
    expect(machine.told).toEqual([`mount -t tmpfs -o remount,nodev,${times} tmpfs ${path}`]);
  });

  it("asks for the kernel's own times of access where none are declared", async () => {
    const machine = fixture(`tmpfs ${path} tmpfs ro 0 0\n`);
    await machine.mount("ro");
    machine.told.length = 0;
    await apply(machine, { options: ["nodev", "lazytime"] });
    expect(machine.told).toEqual([`mount -t tmpfs -o remount,relatime,nodev,lazytime tmpfs ${path}`]);
  });
});

describe("what stood", () => {
  const definitions: Readonly<Record<string, JsonObject>> = {
    mounted: { options: ["ro"] },
    unmounted: { ensure: "unmounted" },
    absent: { ensure: "absent" },
  };

  it.each(Object.entries(definitions))(
    "comes back with the options that the table says, which the kernel does not show: after %s",
    async (_ensure, more) => {
      const line = `tmpfs ${path} tmpfs size=1m,nodev 0 0\n`;
      const machine = fixture(line);
      await machine.mount("size=1m,nodev");
      await apply(machine, more);
      machine.told.length = 0;
      expect(outcomes(await machine.state.run("apply", []))).toEqual(["m changed"]);
      expect(machine.told.at(-1)).toMatch(/^mount -t tmpfs -o (?:remount,relatime,)?size=1m,nodev tmpfs /);
      expect(machine.state.read(fstab)).toBe(line);
    },
  );

  it("is nobody's business where the table alone is declared", async () => {
    for (const was of [true, false]) {
      const machine = fixture();
      if (was) await machine.mount("nodev");
      await apply(machine, { ensure: "present" });
      if (was) await machine.host.run({ argv: ["umount", path] }, signal);
      else await machine.mount("nodev");
      machine.told.length = 0;
      await machine.state.run("apply", []);
      expect(machine.told).toEqual([]);
    }
  });
});

describe("a table that was made for a mount", () => {
  it("goes with it where nothing else stands there, and else loses its line alone", async () => {
    for (const left of ["", "/dev/sdb1 /srv ext4 defaults 0 2\n"]) {
      const machine = fixture(null);
      await apply(machine, {});
      machine.state.write(fstab, `${left}${machine.state.read(fstab)}`);
      await machine.state.run("apply", []);
      if (left === "") expect(machine.host.files.stat(fstab)).toBeNull();
      else expect(machine.state.read(fstab)).toBe(left);
    }
  });

  it("goes, too, where the line is gone already", async () => {
    const machine = fixture(null);
    await apply(machine, { ensure: "present" });
    machine.state.write(fstab, "");
    const plan = await machine.state.run("plan", []);
    const removal = await machine.state.run("apply", []);
    expect(removal.results.map(({ changes }) => changes)).toEqual(plan.results.map(({ changes }) => changes));
    expect(removal.results[0]?.changes).toMatchObject([{ property: "file" }]);
    expect(machine.host.files.stat(fstab)).toBeNull();
  });
});

const line = (before: string | null, after: string | null) => ({ property: "fstab", before, after });
const live = (after: boolean) => ({ property: "mounted", before: !after, after });

test.each([
  ["create", [line(null, "a")]],
  ["create", [line(null, "a"), live(true)]],
  ["create", [live(true)]],
  ["update", [line("a", "b")]],
  ["update", [line("a", "b"), live(true)]],
  ["update", [line("a", "b"), live(false)]],
  ["update", [{ property: "options", before: [], after: ["ro"] }]],
  ["remove", [live(false)]],
  ["remove", [line("a", null)]],
  ["remove", [line("a", null), live(false)]],
])("it is told as %s: %j", (action, changes) => {
  expect(resourceTypes.get("mount")?.action?.(changes)).toBe(action);
});

/** What comes back of things that stood in a way that is rarely met: each once in a version between, and given back. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const { signal } = new AbortController();
const machine = (): StateFixture => new StateFixture(memoryMachine());

async function apply(state: StateFixture, ...definitions: JsonObject[]) {
  const run = await state.run("apply", declare(definitions));
  expect([run.status, run.results[0]?.message]).toEqual(["succeeded", undefined]);
  return run;
}

describe("a mount", () => {
  const mount = { id: "m", type: "mount", path: "/work/cache", device: "tmpfs", fstype: "tmpfs" };
  const table = "/proc/self/mountinfo";

  test.each(["ro", "rw,nosuid,nodev", "ro,noexec,noatime"])(
    "that had no line and the options %s is mounted with them again",
    async (options) => {
      const state = machine();
      state.host.files.makeDirectory("/work/cache", {});
      state.write("/etc/fstab", "");
      const argv = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", "/work/cache"] as const;
      await state.host.run({ argv }, signal);
      const shown = (): string[] =>
        state
          .read(table)
          .split("\n")
          .filter((line) => line.includes(" /work/cache "))
          .flatMap((line) => line.split(" ")[5]?.split(",").toSorted() ?? []);
      const before = shown();
      expect(before).toEqual(expect.arrayContaining(options.split(",")));
      await apply(state, { id: "m", type: "mount", path: "/work/cache", ensure: "absent" });
      expect(shown()).toEqual([]);
      await apply(state);
      expect(shown()).toEqual(before);
      expect(state.read("/etc/fstab")).toBe("");
    },
  );

  test.each([",", "nodev,,noexec", "defaults,", ",ro"])(
    "whose line has the options %j gets that line back",
    async (options) => {
      const state = machine();
      state.host.files.makeDirectory("/work/cache", {});
      const line = `tmpfs /work/cache tmpfs ${options} 0 0\n`;
      state.write("/etc/fstab", line);
      await apply(state, { ...mount, ensure: "present", options: ["size=1m"] });
      expect(state.read("/etc/fstab")).toContain("size=1m");
      await apply(state);
      expect(state.read("/etc/fstab")).toBe(line);
    },
  );

  test.each(["\n", "\r\n", ""])("in the place of a line that ends with %j ends as that did", async (end) => {
    const state = machine();
    state.host.files.makeDirectory("/work/cache", {});
    state.write("/etc/fstab", `# disks${end || "\n"}tmpfs /work/cache ramfs defaults 0 0${end}`);
    await apply(state, { ...mount, ensure: "present", options: ["size=1m"] });
    expect(state.read("/etc/fstab")).toBe(`# disks${end || "\n"}tmpfs /work/cache tmpfs size=1m 0 0${end}`);
  });
});

describe("a block", () => {
  const block = { id: "b", type: "block", path: "/etc/a.conf" };
  const markers = ["# {mark}", "// {mark}", "; {mark}", "<!-- {mark} -->"];

  test.each([
    ["nothing", ""],
    ["a block between the first marks", "# BEGIN block\nold\n# END block\n"],
  ])(
    "of many versions, each with marks of its own, leaves none of them where %s stood",
    async (_what, old) => {
      for (let count = 1; count <= markers.length; count += 1) {
        const state = machine();
        state.write("/etc/a.conf", `one\n${old}two\n`);
        for (const [at, marker] of markers.slice(0, count).entries())
          await apply(state, { ...block, marker, content: `version ${at}\n` });
        await apply(state);
        expect(state.read("/etc/a.conf"), `${count} versions`).toBe(`one\n${old}two\n`);
      }
    },
  );
});

describe("a line that was to be absent", () => {
  const absent = {
    id: "l",
    type: "line",
    path: "/etc/a.conf",
    line: "ours",
    match: "old*",
    ensure: "absent",
  };

  test("leaves one like it that somebody wrote since", async () => {
    const state = machine();
    state.write("/etc/a.conf", "one\nold 1\n");
    await apply(state, absent);
    state.write("/etc/a.conf", "one\nours\n");
    await apply(state);
    expect(state.read("/etc/a.conf").split("\n").toSorted()).toEqual(["", "old 1", "one", "ours"]);
  });
});

test.each<[what: string, stood: string, before: string | null, after: string | null]>([
  ["nothing", "one\n", "ours", null],
  ["another", "one\nold\n", "ours", "old"],
])("a removal says of a line in the place of %s what comes", async (_what, stood, before, after) => {
  const state = machine();
  state.write("/etc/a.conf", stood);
  await apply(state, { id: "l", type: "line", path: "/etc/a.conf", line: "ours", match: "old" });
  const { results } = await apply(state);
  expect(results[0]).toMatchObject({ action: "remove", changes: [{ property: "line", before, after }] });
  expect(state.read("/etc/a.conf")).toBe(stood);
});

test.each([true, false])("a link gives way to a file and comes back (backup: %s)", async (backup) => {
  const state = machine();
  state.host.files.makeSymlink("/work/link", "elsewhere");
  await apply(state, { id: "f", type: "file", path: "/work/link", content: "x", force: true, backup });
  expect(state.read("/work/link")).toBe("x");
  await apply(state);
  expect(state.host.files.readLink("/work/link")).toBe("elsewhere");
});

test.each([
  [true, false],
  [false, true],
])(
  "a folder (parents: %s) that was taken away with the one above, which somebody made again, leaves that: %s",
  async (parents, stays) => {
    const state = machine();
    const { files } = state.host;
    const desired = declare([{ id: "d", type: "directory", path: "/work/up/own", parents }]);
    files.makeDirectory("/work/up", {});
    expect((await state.run("apply", desired)).status).toBe("succeeded");
    for (const path of ["/work/up/own", "/work/up"]) files.removeDirectory(path);
    expect((await state.run("apply", desired)).status).toBe(parents ? "succeeded" : "failed");
    if (!parents) files.makeDirectory("/work/up", {});
    expect((await state.run("apply", desired)).status).toBe("succeeded");
    await apply(state);
    expect(files.stat("/work/up") !== null).toBe(stays);
  },
);

describe("a folder that is purged, and not, and purged again", () => {
  const folder = { id: "d", type: "directory", path: "/work/d" };

  test.each<[what: string, between: JsonObject]>([
    ["with nothing said of its content", {}],
    ["with an owner", { recurse: true, owner: "root" }],
    ["with modes", { recurse: true, mode: "0700", file_mode: "0600" }],
  ])("%s in between brings back what stood first, and nothing that came later", async (_what, between) => {
    const state = machine();
    state.host.files.makeDirectory("/work/d", { mode: 0o755 });
    state.write("/work/d/first", "x");
    await apply(state, { ...folder, purge: true });
    await apply(state, { ...folder, ...between });
    state.write("/work/d/later", "x");
    await apply(state, { ...folder, ...between });
    await apply(state, { ...folder, purge: true });
    expect(state.host.files.list("/work/d")).toEqual([]);
    await apply(state);
    expect(state.host.files.list("/work/d")).toEqual(["first"]);
  });

  test.each([1, 99, 100, 101, 250])(
    "tells of %i paths the first hundred, and how many more",
    async (count) => {
      const state = machine();
      state.host.files.makeDirectory("/work/d", { mode: 0o755 });
      const names = Array.from({ length: count }, (_, at) => `f${1000 + at}`);
      for (const name of names) state.write(`/work/d/${name}`, "");
      const { results } = await apply(state, { ...folder, purge: true });
      const before = results[0]?.changes.find(({ property }) => property === "purge")?.before as string[];
      expect(before).toHaveLength(Math.min(count, 100) + (count > 100 ? 1 : 0));
      if (count > 100) expect(before.at(-1)).toBe(`and ${count - 100} more`);
    },
  );
});

test.each(["check", "plan", "apply"] as const)(
  "a setting that the kernel has no more is no setting in sync (%s)",
  async (mode) => {
    const state = machine();
    const desired = declare([{ id: "s", type: "sysctl", key: "net.ipv4.ip_forward", value: "1" }]);
    expect((await state.run("apply", desired)).status).toBe("succeeded");
    state.host.files.removeFile("/proc/sys/net/ipv4/ip_forward");
    const { results } = await state.run(mode, desired);
    expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  },
);

describe("a file that was made for a part of it", () => {
  const rows: Readonly<Record<string, { path: string; definition: JsonObject }>> = {
    host_entry: { path: "/etc/hosts", definition: { type: "host_entry", name: "db", ip: "10.0.0.5" } },
    sysctl: {
      path: "/etc/sysctl.d/a.conf",
      definition: { type: "sysctl", key: "net.ipv4.ip_forward", value: "1", path: "/etc/sysctl.d/a.conf" },
    },
    mount: {
      path: "/etc/fstab",
      definition: { type: "mount", path: "/work", device: "tmpfs", fstype: "tmpfs", ensure: "present" },
    },
    line: { path: "/etc/a.conf", definition: { type: "line", path: "/etc/a.conf", line: "x", create: true } },
    block: {
      path: "/etc/a.conf",
      definition: { type: "block", path: "/etc/a.conf", content: "x", create: true },
    },
  };

  test.each(
    Object.entries(rows).flatMap(([type, row]) =>
      (["above", "below"] as const).map((where) => ({ type, where, ...row })),
    ),
  )("($type) stays with what somebody wrote $where", async ({ path, definition, where }) => {
    const state = machine();
    if (state.host.files.stat(path)) state.host.files.removeFile(path);
    await apply(state, { id: "r", ...definition });
    const own = state.read(path);
    const theirs = "# theirs\n";
    state.write(path, where === "above" ? theirs + own : own + theirs);
    await apply(state);
    expect(state.read(path)).toBe(theirs);
  });
});

import { expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { describeLaws, text } from "../../support/laws.ts";
import { memoryMachine, observeFiles } from "../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const live = "/proc/sys/net/ipv4/ip_forward";
const file = "/etc/sysctl.d/90-fleetwright.conf";
const write = (path: string, content: string) => (host: Host) =>
  host.files.writeFile(path, text(content), { mode: 0o644 });
const hosts = { "in memory": memoryMachine };
const observe = observeFiles(live, file, "/proc/sys/net/ipv4/tcp_rmem");

describeLaws(
  {
    "a new setting": {
      definition: { type: "sysctl", key: "net.ipv4.ip_forward", value: 1 },
      breakIt: write(live, "0\n"),
      observe,
    },
    "a setting of several numbers in a file that has another": {
      definition: { type: "sysctl", key: "net.ipv4.tcp_rmem", value: "4096 87380 6291456" },
      prepare: write(file, "# ours\nnet/ipv4/tcp_rmem=1 2 3\nvm.swappiness=1\n"),
      breakIt: write(file, "# ours\nvm.swappiness=1\n"),
      observe: observeFiles("/proc/sys/net/ipv4/tcp_rmem"),
    },
    "a setting that is not wanted": {
      definition: { type: "sysctl", key: "net.ipv4.ip_forward", ensure: "absent" },
      prepare: write(file, "net.ipv4.ip_forward = 1\n"),
      breakIt: write(file, "net.ipv4.ip_forward = 1\n"),
      observe,
    },
  },
  hosts,
);

const forward = (more: object = {}) =>
  declare([{ id: "s", type: "sysctl", key: "net.ipv4.ip_forward", value: "1", ...more }]);

test("the running kernel and the file are looked at one by one", async () => {
  const state = new StateFixture(memoryMachine());
  await state.run("apply", forward());
  expect([state.read(live), state.read(file)]).toEqual(["1\n", "net.ipv4.ip_forward = 1\n"]);
  write(live, "0\n")(state.host);
  expect((await state.run("plan", forward())).results[0]?.changes).toEqual([
    { property: "value", before: "0", after: "1" },
  ]);
  write(live, "1\n")(state.host);
  write(file, "net.ipv4.ip_forward=0\n")(state.host);
  expect((await state.run("plan", forward())).results[0]?.changes).toEqual([
    { property: "line", before: "net.ipv4.ip_forward=0", after: "net.ipv4.ip_forward = 1" },
  ]);
  write(file, "  net/ipv4/ip_forward=1\n")(state.host);
  expect((await state.run("plan", forward())).results[0]?.outcome).toBe("unchanged");
});

test.each([
  ["twice, as it is to be", "net.ipv4.ip_forward = 1\nnet/ipv4/ip_forward=1\n"],
  ["with a dash before it, by which it may fail", "-net.ipv4.ip_forward = 0\n"],
])("a setting that stands in its file %s, stands there once afterwards", async (_how, content) => {
  const state = new StateFixture(memoryMachine());
  write(live, "1\n")(state.host);
  write(file, content)(state.host);
  expect((await state.run("apply", forward())).results[0]).toMatchObject({ outcome: "changed" });
  expect(state.read(file)).toBe("net.ipv4.ip_forward = 1\n");
  await state.run("apply", []);
  expect(state.read(file)).toBe(content);
});

test.each([
  "net.ipv4.ip_forward_use_pmtu = 1\n",
  "net.ipv4.ip_forward.more = 1\n",
  "net.ipv4.ip_forward/more = 1\n",
  "net/ipv4/ip_forward/more=1\n",
  "my.net.ipv4.ip_forward = 1\n",
  "net.ipv4.ip = 1\n",
  "#net.ipv4.ip_forward = 1\n",
  "; net.ipv4.ip_forward = 1\n",
])("the line %j is about another setting, and stays beside ours and after it", async (content) => {
  const state = new StateFixture(memoryMachine());
  write(file, content)(state.host);
  await state.run("apply", forward());
  expect(state.read(file)).toBe(`${content}net.ipv4.ip_forward = 1\n`);
  await state.run("apply", []);
  expect(state.read(file)).toBe(content);
});

test.each(["", "0", "-1", "0.0", "a b"])(
  "the value %j of the running kernel comes back, whichever version was the first that set it",
  async (value) => {
    const other = forward({ value: "2" });
    for (const versions of [
      [forward()],
      [forward(), other],
      [forward({ ensure: "absent" }), forward(), other],
    ]) {
      const state = new StateFixture(memoryMachine());
      write(live, `${value}\n`)(state.host);
      for (const version of versions) expect((await state.run("apply", version)).status).toBe("succeeded");
      expect((await state.run("apply", [])).status).toBe("succeeded");
      expect([state.read(live).trim().replaceAll("\t", " "), state.applied]).toEqual([value, []]);
    }
  },
);

test("a value that is too long to be kept is left alone, and the longest is not", async () => {
  for (const [length, outcome] of [
    [4096, "changed"],
    [4097, "failed"],
  ] as const) {
    const state = new StateFixture(memoryMachine());
    write(live, "7".repeat(length))(state.host);
    expect((await state.run("apply", forward())).results[0]).toMatchObject({ outcome });
    expect(state.read(live).length === 2).toBe(outcome === "changed");
  }
});

test.each(["|/usr/bin/dump --to=/var --as=%p", "a=b", "=", "#1", "a ; b"])(
  "a value of %j is in sync once it was written",
  async (value) => {
    const state = new StateFixture(memoryMachine());
    const first = await state.run("apply", forward({ value }));
    expect(first.results[0]).toMatchObject({ outcome: "changed" });
    for (const mode of ["plan", "apply"] as const)
      expect((await state.run(mode, forward({ value }))).results[0]).toMatchObject({ outcome: "unchanged" });
  },
);

test("a value that the kernel refuses is not written for the next start", async () => {
  const state = new StateFixture(memoryMachine());
  expect((await state.run("apply", forward({ value: "refused" }))).results[0]).toMatchObject({
    outcome: "failed",
    code: "COMMAND_FAILED",
    exit_code: 255,
  });
  expect(state.host.files.stat(file)).toBeNull();
});

test("a setting that the kernel does not know is an error that names it", async () => {
  const state = new StateFixture(memoryMachine());
  expect((await state.run("plan", forward({ key: "net.ipv4.none" }))).results[0]).toMatchObject({
    outcome: "failed",
    message: "This kernel knows no setting net.ipv4.none.",
  });
});

test("a key written with slashes and one written with dots are one", () => {
  const [dots, slashes, interfaces] = declare([
    { type: "sysctl", key: "net.ipv4.conf.eth0/1.forwarding", value: "1" },
    { type: "sysctl", key: "net/ipv4/conf/eth0.1/forwarding", value: "1" },
    { type: "sysctl", key: "net.ipv4.ip_forward", value: "1" },
  ]);
  expect(dots?.identity).toBe(slashes?.identity);
  expect(interfaces?.identity).toBe("net/ipv4/ip_forward");
});

test("another system than Linux is refused", async () => {
  const state = new StateFixture(new MemoryHost({ platform: "darwin" }));
  expect((await state.run("plan", forward())).results[0]).toMatchObject({ outcome: "failed" });
});

test.each([
  { key: "../etc/passwd" },
  { key: "net/../../x" },
  { key: "net./../x" },
  { key: "-w" },
  { key: "net" },
  { value: "1\nkernel.x=2" },
  { value: undefined },
])("%j is a fault", (more) => {
  expect(() => forward(more)).toThrow();
});

test.each(["kernel.//.//.//.tmp.rv.secret", "kernel.//.a", "kernel./.a"])(
  "%j, which would lead out of the settings, is a fault",
  (key) => {
    expect(() => declare([{ type: "sysctl", key, value: "1" }])).toThrow("must not have an empty part");
  },
);

test("a setting that the kernel does not have any more leaves its line, and is let go", async () => {
  const state = new StateFixture(memoryMachine());
  await state.run("apply", declare([{ id: "s", type: "sysctl", key: "net.ipv4.ip_forward", value: "1" }]));
  // Its module was unloaded, or not loaded at the last start.
  state.host.files.removeFile("/proc/sys/net/ipv4/ip_forward");
  const { results } = await state.run("apply", []);
  expect(results[0]).toMatchObject({ outcome: "changed", action: "remove" });
  expect([state.host.files.stat("/etc/sysctl.d/90-fleetwright.conf"), state.applied]).toEqual([null, []]);
});

test("a later version in another file is taken back in every file that was named", async () => {
  const state = new StateFixture(memoryMachine());
  const [made, edited] = ["/etc/sysctl.d/made.conf", "/etc/sysctl.d/edited.conf"];
  write(edited, "a = 1\nnet.ipv4.ip_forward = 7\nb = 1")(state.host);
  await state.run("apply", forward());
  for (const path of [made, edited, file]) {
    expect((await state.run("apply", forward({ path, value: "2" }))).results[0]?.outcome).toBe("changed");
    expect((await state.run("apply", forward({ path, value: "2" }))).results[0]?.outcome).toBe("unchanged");
  }
  await state.run("apply", []);
  expect([file, made].map((path) => state.host.files.stat(path))).toEqual([null, null]);
  expect([state.read(edited), state.read(live)]).toEqual(["a = 1\nnet.ipv4.ip_forward = 7\nb = 1", "0\n"]);
});

const made = "/etc/sysctl.d/made.conf";
const line = "net.ipv4.ip_forward = 1\n";

/** One module with the setting, in these files one after the other. */
async function moved(...paths: string[]): Promise<StateFixture> {
  const state = new StateFixture(memoryMachine());
  for (const path of paths) {
    const one = declare([{ id: "s", type: "sysctl", key: "net.ipv4.ip_forward", value: "1", path }], "one");
    expect((await state.run("apply", one, { scope: ["one"] })).status).toBe("succeeded");
  }
  return state;
}

test.each([
  ["an earlier one", [file, made, file], { type: "file", path: made, content: line }],
  ["an earlier one, as something else", [file, made, file], { type: "file", path: made, content: "x = 1\n" }],
  ["an earlier one, to be gone", [file, made, file], { type: "file", path: made, ensure: "absent" }],
  ["the first one", [made, file], { type: "file", path: made, content: line }],
  ["the only one", [made], { type: "file", path: made, content: line }],
])("a file that another module declares by now is left to it: %s", async (_what, paths, definition) => {
  const state = await moved(...paths);
  const two = declare([{ id: "t", ...definition }], "two");
  expect((await state.run("apply", two, { scope: ["two"] })).status).toBe("succeeded");
  const { results } = await state.run("apply", [], { scope: ["one"] });
  expect(results).toMatchObject([{ outcome: "changed", action: "remove" }]);
  expect((await state.run("plan", two, { scope: ["two"] })).results).toMatchObject([
    { outcome: "unchanged" },
  ]);
  expect(state.read(live)).toBe("0\n");
  expect(state.host.files.stat(file)).toBeNull();
});

test("a setting that was in more files than are remembered is removed all the same, and stays in the last of them alone", async () => {
  const files = Array.from({ length: 103 }, (_, index) => `/etc/sysctl.d/${index}.conf`);
  const state = await moved(...files);
  const { results } = await state.run("apply", [], { scope: ["one"] });
  expect(results).toMatchObject([{ outcome: "changed", action: "remove" }]);
  expect(files.filter((path) => state.host.files.stat(path) !== null)).toEqual(files.slice(101));
});

test("a file that comes with the run that takes the setting away comes after it, and is left to it from then on", async () => {
  const state = await moved(file, made, file);
  const declared = declare([{ id: "t", type: "file", path: made, content: line }]);
  for (const outcome of ["changed", "unchanged"])
    expect((await state.run("apply", declared)).results.at(0)).toMatchObject({ outcome });
  expect([state.read(made), state.host.files.stat(file)]).toEqual([line, null]);
  await state.run("apply", []);
  expect(state.host.files.stat(made)).toBeNull();
});

test("what stood before comes back where another module declares the same line, however it goes on", async () => {
  for (const isFirst of [false, true]) {
    const state = new StateFixture(memoryMachine());
    state.write(file, "x = 1\nnet.ipv4.ip_forward = 3\ny = 1\n");
    const one = declare(
      [{ id: "s", type: "sysctl", key: "net.ipv4.ip_forward", value: "1", path: file }],
      "one",
    );
    const two = declare([{ id: "t", type: "line", path: file, line: "net.ipv4.ip_forward = 1" }], "two");
    const sets: [typeof one, string][] = [
      [one, "one"],
      [two, "two"],
    ];
    for (const [set, name] of isFirst ? sets.toReversed() : sets)
      await state.run("apply", set, { scope: [name] });
    for (const name of ["one", "two"]) await state.run("apply", [], { scope: [name] });
    expect(state.read(file)).toBe("x = 1\nnet.ipv4.ip_forward = 3\ny = 1\n");
  }
});

test("a file in which another declares something else gives the line back", async () => {
  const state = await moved(file, made, file);
  const two = declare([{ id: "t", type: "line", path: made, line: "vm.swappiness = 1" }], "two");
  await state.run("apply", two, { scope: ["two"] });
  await state.run("apply", [], { scope: ["one"] });
  expect(state.read(made)).toBe("vm.swappiness = 1\n");
});

test.each([
  ["first", ["/etc/sysctl.d/a.conf", "/etc/sysctl.d/b.conf"]],
  ["second", ["/etc/sysctl.d/b.conf", "/etc/sysctl.d/a.conf"]],
])(
  "a file that somebody removed stays away where a setting is taken back in two: the %s",
  async (_, [gone, stays]) => {
    const [a, b] = ["/etc/sysctl.d/a.conf", "/etc/sysctl.d/b.conf"];
    const state = new StateFixture(memoryMachine());
    for (const path of [a, b]) write(path, "net.ipv4.ip_forward = 0\n")(state.host);
    await state.run("apply", forward({ path: a }));
    await state.run("apply", forward({ path: b }));
    state.host.files.removeFile(gone!);
    await state.run("apply", []);
    expect(state.host.files.stat(gone!)).toBeNull();
    expect(state.read(stays!)).toBe("net.ipv4.ip_forward = 0\n");
  },
);

test.each([
  ["net.ipv4.tcp_rmem", "4096  87380\t6291456"],
  ["net/ipv4/tcp_rmem", "4096\t87380   6291456"],
])("%s = %j is in sync however the kernel and the file part its numbers", async (key, value) => {
  const state = new StateFixture(memoryMachine());
  const rmem = declare([{ id: "s", type: "sysctl", key, value }]);
  write(file, "-net/ipv4/tcp_rmem=4096\t\t87380 6291456  \n")(state.host);
  write("/proc/sys/net/ipv4/tcp_rmem", "4096\t87380\t6291456\n")(state.host);
  expect((await state.run("plan", rmem)).results[0]).toMatchObject({ outcome: "unchanged" });
  write(file, "")(state.host);
  write("/proc/sys/net/ipv4/tcp_rmem", "1\t2\t3\n")(state.host);
  expect((await state.run("apply", rmem)).results[0]).toMatchObject({ outcome: "changed", attempts: 1 });
  expect((await state.run("apply", rmem)).results[0]).toMatchObject({ outcome: "unchanged" });
});

test("a line that was unwanted comes back without the value that somebody gave the kernel meanwhile", async () => {
  const state = new StateFixture(memoryMachine());
  write(file, "net.ipv4.ip_forward = 1\n")(state.host);
  await state.run("apply", forward({ ensure: "absent", value: undefined }));
  write(live, "1\n")(state.host);
  await state.run("apply", []);
  expect([state.read(live), state.read(file)]).toEqual(["1\n", "net.ipv4.ip_forward = 1\n"]);
});

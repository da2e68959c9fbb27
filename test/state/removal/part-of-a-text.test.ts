/**
 * What several resources made of one text comes back also where they go one after another. The first of them alone noted how the text ended, or
 * that there was none: where it went first that was forgotten, so a last line kept the line break that it was given, and a file that was made
 * for them stayed, empty.
 */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResourceTypes } from "../../../lib/state/resource-type.ts";
import { resourceTypes } from "../../../lib/state/resources/index.ts";
import { wholeMachine } from "../../support/machine/whole-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const line = (text: string, more: JsonObject = {}): JsonObject => {
  return { id: text, type: "line", path: "/etc/x", line: text, ...more };
};
const block = { id: "block", type: "block", path: "/etc/x", content: "in\n" };
const inPlace = line("B", { match: "b" });
const taken = line("b", { ensure: "absent" });
const stood = "a\n# BEGIN block\nold\n# END block";
const create = { create: true };
const entry = (name: string): JsonObject => ({ id: name, type: "host_entry", name, ip: "10.0.0.5" });
const mount = (path: string): JsonObject => {
  return { id: path, type: "mount", path, device: "/dev/sdb1", fstype: "ext4", ensure: "present" };
};
const setting = (key: string, path: string): JsonObject => {
  return { id: key, type: "sysctl", key, value: key.endsWith("rmem") ? "1 2 3" : "1", path };
};
const user = { id: "user", type: "user", name: "deploy" };
const key = (name: string): JsonObject => {
  const blob = `AAAAC3NzaC1lZDI1NTE5AAAAI${name.repeat(39)}ops`;
  return { id: name, type: "authorized_key", user: "deploy", key: `ssh-ed25519 ${blob}` };
};
const keys = "/home/deploy/.ssh/authorized_keys";

/** The text, what stood in it (null = nothing there), and what is desired one after another. */
const cases: Record<string, [path: string, before: string | null, ...sets: JsonObject[][]]> = {
  "two lines, the first before the second": ["/etc/x", "a\nb", [line("c"), line("d")], [line("d")]],
  "two lines, the second before the first": ["/etc/x", "a\nb", [line("c"), line("d")], [line("c")]],
  "a line that gives way to another": ["/etc/x", "a\nb", [line("c")], [line("d")]],
  "three lines in a row": ["/etc/x", "a\r\nb", [line("c")], [line("c"), line("d")], [line("d"), line("e")]],
  "a line before a block": ["/etc/x", "a\nb", [line("c"), block], [block]],
  "a block before a line": ["/etc/x", "a\nb", [block, line("c")], [line("c")]],
  "lines that made the file": ["/etc/x", null, [line("c", create), line("d", create)], [line("d", create)]],
  "a line that made the file of a block": ["/etc/x", null, [line("c", create), block], [block]],
  "a line before one in the place of the last": ["/etc/x", "a\nb", [line("d"), inPlace], [inPlace]],
  "a line before one that took the last away": ["/etc/x", "a\r\nb", [line("d"), taken], [taken]],
  "a line before the last of several equal ones": ["/etc/x", "b\nb", [line("d"), inPlace], [inPlace]],
  "a line before a block that stood at the end": [
    "/etc/x",
    stood,
    [line("d")],
    [line("d"), block],
    [block],
    [],
  ],
  "entries of hosts": ["/etc/hosts", "127.0.0.1 localhost", [entry("a"), entry("b")], [entry("b")]],
  "one in the place of the last before a line that came later": [
    "/etc/x",
    "a\nb",
    [inPlace],
    [inPlace, line("d")],
    [line("d")],
  ],
  "one that took the last away before a line that came later": [
    "/etc/x",
    "a\r\nb",
    [taken],
    [taken, line("d")],
    [line("d")],
  ],
  "the end of three": ["/etc/x", "a\nb", [inPlace], [inPlace, line("d")], [line("d"), block], [block]],
  "an entry of hosts before the last, which is another now": [
    "/etc/hosts",
    "127.0.0.1 localhost\n10.0.0.9 b",
    [entry("a"), entry("b")],
    [entry("b")],
  ],
  "a mount before the last, which is another now": [
    "/etc/fstab",
    "/dev/sdb1 /mnt/b ext4 ro 0 0",
    [mount("/mnt/a"), mount("/mnt/b")],
    [mount("/mnt/b")],
  ],
  "a setting before the last, which is another now": [
    "/etc/sysctl.d/own.conf",
    "net.ipv4.tcp_rmem = 4 5 6",
    [
      setting("net.ipv4.ip_forward", "/etc/sysctl.d/own.conf"),
      setting("net.ipv4.tcp_rmem", "/etc/sysctl.d/own.conf"),
    ],
    [setting("net.ipv4.tcp_rmem", "/etc/sysctl.d/own.conf")],
  ],
  settings: [
    "/etc/sysctl.d/own.conf",
    null,
    [
      setting("net.ipv4.ip_forward", "/etc/sysctl.d/own.conf"),
      setting("net.ipv4.tcp_rmem", "/etc/sysctl.d/own.conf"),
    ],
    [setting("net.ipv4.tcp_rmem", "/etc/sysctl.d/own.conf")],
  ],
  "keys of a user": [keys, null, [user, key("A"), key("B")], [user, key("B")], [user]],
};

test.each(Object.entries(cases))("%s", async (_name, [path, before, ...sets]) => {
  const state = new StateFixture(wholeMachine());
  if (before !== null) state.write(path, before);
  for (const set of [...sets, ...(path === keys ? [] : [[]])]) {
    const run = await state.run("apply", declare(set));
    expect(run.results.filter(({ outcome }) => outcome === "failed")).toEqual([]);
  }
  expect(state.host.files.stat(path) ? state.read(path) : null).toBe(before);
});

test("modules that are applied apart from each other are no different", async () => {
  const state = new StateFixture(wholeMachine());
  state.write("/etc/x", "a\nb");
  const [one, two] = [declare([line("c")], "one"), declare([line("d")], "two")];
  await state.run("apply", one, { scope: ["one"] });
  await state.run("apply", two, { scope: ["two"] });
  await state.run("apply", [], { scope: ["one"] });
  await state.run("apply", [], { scope: ["two"] });
  expect(state.read("/etc/x")).toBe("a\nb");
});

test("what somebody wrote into a file that was made for lines keeps it", async () => {
  const state = new StateFixture(wholeMachine());
  await state.run("apply", declare([line("c", create), line("d", create)]));
  await state.run("apply", declare([line("d", create)]));
  state.write("/etc/x", `${state.read("/etc/x")}mine\n`);
  await state.run("apply", []);
  expect(state.read("/etc/x")).toBe("mine\n");
});

/** A `line` of somebody who says otherwise what it is a part of. */
function linesOf(partOf: () => string): { types: ResourceTypes } {
  const type = resourceTypes.get("line")!;
  return {
    types: new Map([...resourceTypes, ["line", { ...type, removing: { ...type.removing, partOf } }]]),
  };
}

test("a type of one's own whose text has no name leaves alone what is no part of a text", async () => {
  const state = new StateFixture(wholeMachine());
  const folder = "/etc/systemd/system/app.service.d";
  for (const path of ["/etc/systemd", "/etc/systemd/system", folder])
    if (!state.host.files.stat(path)) state.host.files.makeDirectory(path, { mode: 0o755 });
  const dropIn = {
    id: "drop",
    type: "systemd_unit",
    name: "app.service",
    drop_in: "x.conf",
    content: "[Unit]\n",
  };
  const own = linesOf(() => "");
  await state.run("apply", declare([line("c", create), dropIn]), own);
  await state.run("apply", declare([dropIn]), own);
  expect((await state.run("apply", [], own)).status).toBe("succeeded");
  expect(state.host.files.list(folder)).toEqual([]);
});

test("a type of one's own that can't say what it is a part of is a part of nothing, and what was done is kept", async () => {
  const state = new StateFixture(wholeMachine());
  const own = linesOf(() => {
    throw new Error("It broke.");
  });
  await state.run("apply", declare([line("c", create), line("d", create)]), own);
  expect((await state.run("apply", declare([line("d", create)]), own)).status).toBe("succeeded");
  expect(state.read("/etc/x")).toBe("d\n");
  expect(state.applied.map(({ resource }) => resource.resource_id)).toEqual(["d"]);
});

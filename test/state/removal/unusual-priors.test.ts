/**
 * What stood before comes back however it was: more may stand on a machine than a module may declare. Once it was noted in words that
 * the agent itself did not take when it read them, and the removal failed for ever.
 */
import { expect, test } from "vitest";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const passwd = "/etc/passwd";
const group = "/etc/group";

interface Row {
  path: string;
  text: string;
  definition: JsonObject;
}

const ours = { comment: "ours", home: "/home/ours", shell: "/bin/ours" };
const user = (fields: string, more: JsonObject = ours): Row => ({
  path: passwd,
  text: `root:x:0:0:root:/root:/bin/sh\ndeploy:x:2000:100:${fields}\n`,
  definition: { type: "user", name: "deploy", ...more },
});
const groups = (text: string, definition: JsonObject): Row => ({ path: group, text, definition });
const long = "y".repeat(9000);

const rows: Readonly<Record<string, Row>> = {
  "a user at home at the top": user("x:/:/bin/sh"),
  "a user whose home ends in a slash": user("x:/var/lib/deploy/:/bin/sh"),
  "a user without a shell": user("x:/home/deploy:"),
  "a user without a home": user("x::/bin/sh"),
  "a user with a long comment": user(`${"x".repeat(300)}:/home/deploy:/bin/sh`),
  "a user in a group that begins with a digit": groups(
    "root:x:0:\nusers:x:100:\nstaff:x:50:\n2fa:x:51:root\n",
    { type: "user", name: "root", groups: ["staff"] },
  ),
  "an entry with the address of an interface": {
    path: "/etc/hosts",
    text: "127.0.0.1 localhost\nfe80::1%lo0 db\n",
    definition: { type: "host_entry", name: "db", ip: "fd00::5" },
  },
  "an entry with a name that ends in a dot": {
    path: "/etc/hosts",
    text: "10.0.0.8 db db. *.db\n",
    definition: { type: "host_entry", name: "db", ip: "10.0.0.5" },
  },
  "a mount with two commas in a row": {
    path: "/etc/fstab",
    text: "/dev/sdb1 /work ext4 rw,,noatime 0 0\n",
    definition: { type: "mount", path: "/work", device: "/dev/sdb1", fstype: "xfs", ensure: "present" },
  },
  "a long line": {
    path: "/work/f",
    text: `k ${long}\nz\n`,
    definition: { type: "line", path: "/work/f", line: "k 1", match: "k *" },
  },
  "a longer line": {
    path: "/work/f",
    text: `k ${long.repeat(9)}\nz\n`,
    definition: { type: "line", path: "/work/f", line: "k 1", match: "k *" },
  },
  "a line with a carriage return in it": {
    path: "/work/f",
    text: "k a\rb\nz\n",
    definition: { type: "line", path: "/work/f", line: "k 1", match: "k *" },
  },
  "an empty line": {
    path: "/work/f",
    text: "\n",
    definition: { type: "line", path: "/work/f", line: "k 1", match: "*" },
  },
  "a long block": {
    path: "/work/f",
    text: `# BEGIN block\n${`${long}\n`.repeat(130)}# END block\n`,
    definition: { type: "block", path: "/work/f", content: "ours\n" },
  },
  "a long setting": {
    path: "/etc/sysctl.d/90-fleetwright.conf",
    text: `net.ipv4.ip_forward = 0 ${" ".repeat(9000)}\n`,
    definition: { type: "sysctl", key: "net.ipv4.ip_forward", value: "1" },
  },
};

test.each(Object.entries(rows))("%s comes back", async (_what, { path, text, definition }) => {
  const state = new StateFixture(memoryMachine());
  state.write(path, text);
  const applied = await state.run("apply", declare([{ id: "r", ...definition }]));
  expect(applied.results[0]).toMatchObject({ outcome: "changed" });
  expect(state.read(path)).not.toBe(text);
  const removed = await state.run("apply", []);
  expect(removed.results[0]).toMatchObject({ outcome: "changed", action: "remove" });
  expect(state.read(path)).toBe(text);
  expect(state.applied).toEqual([]);
});

test("what an agent of an earlier version noted of a file with a mode comes back whole", async () => {
  const state = new StateFixture(memoryMachine());
  state.write("/work/f", "of January");
  await state.run(
    "apply",
    declare([{ id: "f", type: "file", path: "/work/f", content: "ours", mode: "0600" }]),
  );
  const noted = state.applied[0]?.prior ?? null;
  const resources = declare([{ id: "f", type: "file", path: "/work/f", mode: "0600" }]);
  // It noted the content too, whatever was declared.
  state.applied = resources.map((resource) => ({ resource, prior: noted }));
  expect((await state.run("apply", resources)).results[0]).toMatchObject({ outcome: "unchanged" });
  state.host.files.writeFile("/work/f", Buffer.from("of December"), { mode: 0o640 });
  expect((await state.run("apply", resources)).results[0]).toMatchObject({ outcome: "changed" });
  await state.run("apply", []);
  expect([state.read("/work/f"), state.host.files.stat("/work/f")?.mode]).toEqual(["of January", 0o644]);
});

test("a file comes back to an owner of a directory service, whatever that calls him", async () => {
  const users = { root: 0, "alice@corp.example": 5000 };
  const host = new MemoryHost({ users, groups: { root: 0, "CORP\\domain users": 5001 } });
  const state = new StateFixture(host);
  state.write("/f", "theirs");
  await host.files.setAttributes("/f", { uid: 5000, gid: 5001 });
  const desired = declare([{ id: "f", type: "file", path: "/f", content: "ours", owner: "root" }]);
  const { results } = await state.run("apply", desired);
  // People are told the name.
  expect(results[0]?.changes).toContainEqual({
    property: "owner",
    before: "alice@corp.example",
    after: "root",
  });
  const removed = await state.run("apply", []);
  expect(removed.results[0]).toMatchObject({ outcome: "changed", action: "remove" });
  expect([state.read("/f"), host.files.stat("/f")]).toEqual([
    "theirs",
    expect.objectContaining({ uid: 5000, gid: 5001 }),
  ]);
});

/** Taking a part of a text away leaves what another module has there by now; it goes when that module lets go of it, too. */
import { beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0";
const keys = "/home/deploy/.ssh/authorized_keys";
const block = { type: "block", path: "/x", content: "k=1", create: true };
const line = { type: "line", path: "/x", line: "k=1", create: true };

let state: StateFixture;
beforeEach(begin);

async function begin(): Promise<void> {
  state = new StateFixture(memoryMachine());
  state.write("/etc/hosts", "127.0.0.1 localhost\n");
  await state.run("apply", declare([{ id: "u", type: "user", name: "deploy" }], "users"));
  const owners = { uid: state.host.users.userId("deploy")!, gid: state.host.users.groupId("deploy")! };
  state.host.files.makeDirectory("/home/deploy/.ssh", { mode: 0o755, ...owners });
  state.host.files.writeFile(keys, new Uint8Array(), { mode: 0o644, ...owners });
}

/** Two resources that have the same lines of a file. */
const pairs: [string, JsonObject, JsonObject][] = [
  ["a line and a block with it", line, block],
  ["a line and a file with nothing else", line, { type: "file", path: "/x", content: "k=1\n" }],
  [
    "a host and its line",
    { type: "host_entry", name: "db", ip: "10.0.0.1" },
    { type: "line", path: "/etc/hosts", line: "10.0.0.1 db" },
  ],
  [
    "a key and its line",
    { type: "authorized_key", user: "deploy", key },
    { type: "line", path: keys, line: key, create: true },
  ],
];

describe.each(pairs)("of %s", (_what, one, other) => {
  test.each([
    ["the first", one, other],
    ["the second", other, one],
  ])("%s leaves what the other one has, whoever came first", async (_which, going, staying) => {
    const [a, b] = [declare([{ id: "a", ...going }], "a"), declare([{ id: "b", ...staying }], "b")];
    for (const order of [
      [a, b],
      [b, a],
    ]) {
      await begin();
      for (const each of order) {
        const { status } = await state.run("apply", each, { scope: [each[0]!.module] });
        expect(status).toBe("succeeded");
      }
      const plan = await state.run("plan", [], { scope: ["a"] });
      const applied = await state.run("apply", [], { scope: ["a"] });
      expect(applied.status).toBe("succeeded");
      expect(plan.results.map(({ changes }) => changes)).toEqual(
        applied.results.map(({ changes }) => changes),
      );
      expect(outcomes(await state.run("check", b))).toEqual(["b unchanged"]);
      await state.run("apply", [], { scope: ["a", "b"] });
      const path = String(b[0]!.spec["path"] ?? a[0]!.spec["path"] ?? keys);
      const left = state.host.files.stat(path) ? state.read(path) : "";
      expect(left).not.toMatch(/k=1|10\.0\.0\.1|ssh-/);
    }
  });
});

test("a key that an earlier agent noted without its home leaves the line that another one has", async () => {
  const [mine, theirs] = [
    declare([{ id: "a", type: "authorized_key", user: "deploy", key }], "a"),
    declare([{ id: "b", type: "line", path: keys, line: key }], "b"),
  ];
  await state.run("apply", mine, { scope: ["a"] });
  await state.run("apply", theirs, { scope: ["b"] });
  state.applied = state.applied.map((entry) => {
    if (entry.resource.type !== "authorized_key") return entry;
    const { home, ...spec } = entry.prior!.spec;
    expect(home).toBe("/home/deploy");
    return { ...entry, resource: mine[0]!, prior: { ...entry.prior!, spec } };
  });
  expect(outcomes(await state.run("apply", [], { scope: ["a"] }))).toEqual(["a unchanged"]);
  expect(state.read(keys)).toBe(`${key}\n`);
  await state.run("apply", [], { scope: ["a", "b"] });
  expect(state.read(keys)).toBe("");
});

describe.each(pairs)("of %s in one run", (_what, one, other) => {
  test.each([
    ["the first", one, other],
    ["the second", other, one],
  ])("%s goes without a change of what the other one has", async (_which, going, staying) => {
    const [a, b] = [declare([{ id: "a", ...going }], "a"), declare([{ id: "b", ...staying }], "b")];
    const scope = ["a", "b"];
    expect((await state.run("apply", [...a, ...b], { scope })).status).toBe("succeeded");
    for (const mode of ["plan", "apply"] as const)
      expect(outcomes(await state.run(mode, b, { scope }))).toEqual(["a unchanged", "b unchanged"]);
  });
});

test.each([
  ["is edited", "ours", "theirs"],
  ["has no end any more", "# END block\n", ""],
])("a line goes also where what another one has in the text %s", async (_how, part, instead) => {
  const [a, b] = [
    declare([{ id: "a", ...line }], "a"),
    declare([{ id: "b", ...block, content: "ours" }], "b"),
  ];
  await state.run("apply", b, { scope: ["b"] });
  await state.run("apply", a, { scope: ["a"] });
  const edited = state.read("/x").replace(part, instead);
  state.write("/x", edited);
  expect(outcomes(await state.run("apply", [], { scope: ["a"] }))).toEqual(["a changed"]);
  expect(state.read("/x")).toBe(edited.replace("k=1\n", ""));
});

/** What an `authorized_key` would undo, apply after apply. */
const fighting: [string, JsonObject][] = [
  ["a folder of another mode", { type: "directory", path: "/home/deploy/.ssh", mode: "0750" }],
  ["a file of another mode", { type: "file", path: keys, mode: "0644" }],
  ["a file without the key", { type: "file", path: keys, content: "" }],
  ["no file", { type: "file", path: keys, ensure: "absent" }],
  ["no line of the key", { type: "line", path: keys, line: key, ensure: "absent" }],
  ["a line of the key with options", { type: "line", path: keys, line: `no-pty ${key}` }],
];

test.each(fighting)("a key and %s are refused, together and apart", async (_what, other) => {
  const mine = declare([{ id: "k", type: "authorized_key", user: "deploy", key }], "a");
  const theirs = declare([{ id: "o", ...other }], "b");
  const refusal = expect.objectContaining({ code: "RESOURCE_CONFLICT" });
  await expect(state.run("plan", [...mine, ...theirs], { scope: ["a", "b"] })).rejects.toEqual(refusal);
  await state.run("apply", mine, { scope: ["a"] });
  await expect(state.run("apply", theirs, { scope: ["b"] })).rejects.toEqual(refusal);
});

test.each([
  ["a folder of the same mode", { type: "directory", path: "/home/deploy/.ssh", mode: "0700" }],
  ["a file of the same mode", { type: "file", path: keys, mode: "0600" }],
  ["a file with the key alone", { type: "file", path: keys, content: `${key}\n` }],
  ["the line of the key", { type: "line", path: keys, line: key }],
  ["another key", { type: "authorized_key", user: "deploy", key: `${key.slice(0, -4)}AAAA` }],
])("a key and %s get along", async (_what, other) => {
  const both = declare([
    { id: "k", type: "authorized_key", user: "deploy", key },
    { id: "o", ...other },
  ]);
  await state.run("apply", both, { scope: ["m"] });
  expect(outcomes(await state.run("apply", both, { scope: ["m"] }))).toEqual(["k unchanged", "o unchanged"]);
});

/** The modes of ~/.ssh and authorized_keys come back with the last resource that says them, not with the first that goes. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResolvedResource } from "../../../lib/state/resource.ts";
import { wholeMachine } from "../../support/machine/whole-machine.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const [folder, file] = ["/root/.ssh", "/root/.ssh/authorized_keys"] as const;
const textOf = (name: string): string => `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${name.repeat(39)}ops`;
const key = (module: string, more: JsonObject = {}): ResolvedResource[] =>
  declare([{ id: "k", type: "authorized_key", user: "root", key: textOf(module), ...more }], module);

/** A machine on which whoever is in the group of root could add keys. */
function machine(content = "# theirs\n"): StateFixture {
  const state = new StateFixture(wholeMachine());
  state.host.files.makeDirectory(folder, { mode: 0o775 });
  state.host.files.writeFile(file, Buffer.from(content), { mode: 0o664 });
  return state;
}

function modes({ host: { files } }: StateFixture): string[] {
  return [folder, file].map((path) => files.stat(path)?.mode.toString(8) ?? "nothing");
}

const [open, closed] = [
  ["775", "664"],
  ["700", "600"],
];

/** Removes one module after another, each apart; what is left is as it is to be. */
async function removeApart(state: StateFixture, modules: ResolvedResource[][]): Promise<string[][]> {
  const seen: string[][] = [];
  for (const [at, [resource]] of modules.entries()) {
    await state.run("apply", [], { scope: [resource!.module] });
    seen.push(modes(state));
    const check = await state.run("check", modules.slice(at + 1).flat());
    expect(check.results.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
  }
  return seen;
}

test.each([
  ["A", "B", "C"],
  ["C", "B", "A"],
  ["B", "A", "C"],
  ["B", "C", "A"],
])("three keys of which %s, %s and %s go in turn", async (...order) => {
  for (const content of ["# theirs\n", `${textOf("A")} theirs\n`]) {
    const state = machine(content);
    for (const module of ["A", "B", "C"]) await state.run("apply", key(module), { scope: [module] });
    const seen = await removeApart(
      state,
      order.map((module) => key(module)),
    );
    expect(seen).toEqual([closed, closed, open]);
    expect(state.read(file)).toBe(content);
  }
});

test("keys that one run is about are no different", async () => {
  const state = machine();
  for (const set of [[...key("A"), ...key("B")], key("B"), [...key("B"), ...key("C")], key("C")]) {
    await state.run("apply", set);
    expect(modes(state)).toEqual(closed);
  }
  await state.run("apply", []);
  expect(modes(state)).toEqual(open);
});

test("a key that gives way to another leaves the modes to it", async () => {
  const state = machine();
  await state.run("apply", key("A"));
  await state.run("apply", key("B"));
  expect(modes(state)).toEqual(closed);
  await state.run("apply", []);
  expect(modes(state)).toEqual(open);
});

test("a key that is not to be there says no mode, and hands on what it saw", async () => {
  const state = machine(`${textOf("B")}\n`);
  await state.run("apply", key("A"), { scope: ["A"] });
  await state.run("apply", key("B", { ensure: "absent" }), { scope: ["B"] });
  await state.run("apply", [], { scope: ["A"] });
  expect(modes(state)[0]).toBe("775");
  await state.run("apply", [], { scope: ["B"] });
  expect([...modes(state), state.read(file)]).toEqual([...open, `${textOf("B")}\n`]);
});

test("a key that is let go keeps the modes", async () => {
  const state = machine();
  await state.run("apply", [...key("A", { removal: "keep" }), ...key("B")]);
  await state.run("apply", key("B"));
  await state.run("apply", []);
  expect([...modes(state), state.read(file)]).toEqual([...closed, `# theirs\n${textOf("A")}\n`]);
});

test("a folder that another module gives a mode keeps it without the key, and the other way round", async () => {
  const ssh = declare([{ id: "d", type: "directory", path: folder, mode: "0700" }], "D");
  for (const order of [
    [key("A"), ssh],
    [ssh, key("A")],
  ]) {
    const state = machine();
    for (const set of order) await state.run("apply", set, { scope: [set[0]!.module] });
    const [first, second] = order as [ResolvedResource[], ResolvedResource[]];
    expect(outcomes(await state.run("apply", [], { scope: [first[0]!.module] }))).toHaveLength(1);
    expect(modes(state)[0]).toBe("700");
    const check = await state.run("check", second);
    expect(check.results.map(({ outcome }) => outcome)).toEqual(["unchanged"]);
  }
});

test("a folder without a mode of its own gets the old one back with the key", async () => {
  const state = machine();
  const ssh = declare([{ id: "d", type: "directory", path: folder }], "D");
  await state.run("apply", [...key("A"), ...ssh]);
  await state.run("apply", ssh);
  expect(modes(state)).toEqual(open);
});

test.each([
  ["700", "600", true],
  ["0700", "0600", true],
  ["700", "0600", true],
  ["0755", "0600", false],
  ["755", "600", false],
  ["700", "0640", false],
])(
  "a folder with %s and a file with %s agree with the modes that a key gives: %s",
  async (of, ofFile, agrees) => {
    const state = machine();
    const both = declare(
      [
        { id: "d", type: "directory", path: folder, mode: of },
        { id: "f", type: "file", path: file, mode: ofFile },
      ],
      "a",
    );
    const run = state.run("apply", [...both, ...key("k")]);
    if (!agrees) return expect(run).rejects.toMatchObject({ code: "RESOURCE_CONFLICT" });
    await run;
    expect(modes(state)).toEqual(closed);
    return expect(
      (await state.run("check", [...both, ...key("k")])).results.map(({ outcome }) => outcome),
    ).toEqual(["unchanged", "unchanged", "unchanged"]);
  },
);

/** Somebody makes a group anew that went, moves a user in the lists of one, or gives both other numbers: what comes back leaves it as they have it. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const { signal } = new AbortController();

const passwd = "root:x:0:0:root:/root:/bin/sh\nann:x:71:100::/:/bin/sh\nweb:x:70:82::/work:/bin/sh\n";

function machine(group: string, gshadow: string): StateFixture {
  const state = new StateFixture(memoryMachine());
  state.write("/etc/passwd", passwd);
  state.write("/etc/shadow", "ann:*:19000:0:99999:7:::\nweb:*:19000:0:99999:7:::\n");
  state.write("/etc/group", `root:x:0:\nusers:x:100:\n${group}`);
  state.write("/etc/gshadow", `root:*::\n${gshadow}`);
  return state;
}

async function apply(state: StateFixture, ...definitions: JsonObject[]): Promise<void> {
  const desired = declare(definitions.map((each, at) => ({ id: `r${at}`, ...each })));
  const { status, results } = await state.run("apply", desired);
  expect(status, JSON.stringify(results)).toBe("succeeded");
  const { results: again } = await state.run("plan", desired);
  expect(again.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
}

const row = (state: StateFixture, path: string, name: string): string | undefined =>
  state
    .read(path)
    .split("\n")
    .find((line) => line.startsWith(`${name}:`));

const drop = (state: StateFixture, path: string, name: string): void =>
  state.write(path, state.read(path).replace(new RegExp(`^${name}:.*\n`, "m"), ""));

describe.each([
  ["a password", "web:$6$theirs::", "web:$6$theirs::"],
  ["administrators", "web:!:ann:", "web:!:ann:"],
  ["members", "web:!::ann", "web:!::ann"],
])("a group that somebody made anew with %s", (_what, theirs, after) => {
  test("keeps that where its user comes back", async () => {
    const state = machine("web:x:82:\n", "web:$6$old::\n");
    await apply(state, { type: "user", name: "web", ensure: "absent" });
    expect(row(state, "/etc/group", "web")).toBeUndefined();
    drop(state, "/etc/gshadow", "web");
    state.write("/etc/group", `${state.read("/etc/group")}web:x:82:ann\n`);
    state.write("/etc/gshadow", `${state.read("/etc/gshadow")}${theirs}\n`);
    await apply(state);
    expect(row(state, "/etc/passwd", "web")).toBe("web:x:70:82::/work:/bin/sh");
    expect(row(state, "/etc/group", "web")).toBe("web:x:82:ann");
    expect(row(state, "/etc/gshadow", "web")).toBe(after);
  });

  test("keeps that where it comes back itself", async () => {
    const state = machine("team:x:83:ann\n", "team:$6$old::ann\n");
    const [mine, wanted] = [theirs, after].map((line) => line.replace("web:", "team:"));
    await apply(state, { type: "group", name: "team", ensure: "absent" });
    expect(row(state, "/etc/group", "team")).toBeUndefined();
    drop(state, "/etc/gshadow", "team");
    state.write("/etc/group", `${state.read("/etc/group")}team:!:84:\n`);
    state.write("/etc/gshadow", `${state.read("/etc/gshadow")}${mine}\n`);
    await apply(state);
    expect(row(state, "/etc/group", "team")).toBe("team:!:83:ann");
    expect(row(state, "/etc/gshadow", "team")).toBe(wanted);
  });
});

describe("a user whom somebody moved meanwhile in the list of a group", () => {
  const ours = "team:x:83:web,ann";
  const theirs = "team:x:83:ann,web";

  test.each<[string, JsonObject, (state: StateFixture) => Promise<unknown>]>([
    ["other properties come back", { groups: ["team"], shell: "/bin/bash" }, async () => {}],
    [
      "the primary group comes back, which stands",
      { group: "users" },
      async ({ host }) => host.run({ argv: ["usermod", "-g", "users", "web"] }, signal),
    ],
  ])("stays there where %s", async (_what, version, also) => {
    const state = machine(`${ours}\nweb:x:82:\n`, "");
    if ("group" in version) state.write("/etc/passwd", passwd.replace("web:x:70:82", "web:x:70:83"));
    await apply(state, { type: "user", name: "web", ...version });
    await also(state);
    state.write("/etc/group", state.read("/etc/group").replace(ours, theirs));
    await apply(state);
    expect(row(state, "/etc/passwd", "web")).toMatch(/:\/bin\/sh$/);
    expect(row(state, "/etc/passwd", "web")).toMatch("group" in version ? /^web:x:70:83:/ : /^web:x:70:82:/);
    expect(row(state, "/etc/group", "team")).toBe(theirs);
  });
});

test.each(["web,ann,bob", "ann,web,bob", "ann,bob,web"])(
  "a user who leaves a group with the members %s comes back to his place among them",
  async (members) => {
    const state = machine(`aside:x:84:\nteam:x:83:${members}\nweb:x:82:\n`, `team:!:ann:${members}\n`);
    await apply(state, { type: "user", name: "web", groups: ["aside"], membership: "inclusive" });
    expect(row(state, "/etc/group", "team")).not.toContain("web");
    await apply(state);
    expect(row(state, "/etc/group", "team")).toBe(`team:x:83:${members}`);
    expect(row(state, "/etc/gshadow", "team")).toBe(`team:!:ann:${members}`);
    expect(row(state, "/etc/group", "aside")).toBe("aside:x:84:");
  },
);

test.each(["file", "directory"])(
  "a %s goes back to its owners, whatever numbers these have by then",
  async (type) => {
    const state = machine("team:x:83:\nweb:x:82:\n", "");
    const { files } = state.host;
    if (type === "file") files.writeFile("/work/it", Buffer.from("x"), { mode: 0o640, uid: 71, gid: 83 });
    else files.makeDirectory("/work/it", { mode: 0o750, uid: 71, gid: 83 });
    await apply(state, { type, path: "/work/it", owner: "root", group: "root" });
    expect(files.stat("/work/it")).toMatchObject({ uid: 0, gid: 0 });
    await state.host.run({ argv: ["usermod", "-u", "171", "ann"] }, signal);
    await state.host.run({ argv: ["groupmod", "-g", "183", "team"] }, signal);
    await apply(state);
    expect(files.stat("/work/it")).toMatchObject({ uid: 171, gid: 183 });
  },
);

/** What a plan tells of the rest of the machine where a user comes, goes or gets another number: what the programs then do. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../lib/json.ts";
import { memoryMachine } from "../../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../../support/state-fixture.ts";

const { signal } = new AbortController();

async function machine(...programs: [string, ...string[]][]): Promise<StateFixture> {
  const state = new StateFixture(memoryMachine());
  for (const argv of programs) await state.host.run({ argv }, signal);
  return state;
}

/** What becomes of resources, by a plan and then by an apply of the same. */
async function bothOf(
  state: StateFixture,
  definitions: JsonObject[],
): Promise<[plan: string[], apply: string[]]> {
  const desired = declare(definitions);
  const plan = outcomes(await state.run("plan", desired));
  return [plan, outcomes(await state.run("apply", desired))];
}

test("a user who goes takes a group of the same name along only where it is his", async () => {
  const user = { id: "u", type: "user", name: "web", ensure: "absent" };
  const group = { id: "g", type: "group", name: "web" };
  const own = await machine(["useradd", "web"]);
  expect(await bothOf(own, [user, group])).toEqual([
    ["u would_change", "g would_change"],
    ["u changed", "g changed"],
  ]);
  const other = await machine(["groupadd", "staff"], ["useradd", "-g", "staff", "web"], ["groupadd", "web"]);
  expect(await bothOf(other, [user, group])).toEqual([
    ["u would_change", "g unchanged"],
    ["u changed", "g unchanged"],
  ]);
});

describe("a new home has all that every new home begins with", () => {
  const home = "/home/deploy";
  test.each<[what: string, resource: JsonObject]>([
    ["a file", { type: "file", path: `${home}/.profile`, content: "profile\n" }],
    ["a file with its mode", { type: "file", path: `${home}/.profile`, content: "profile\n", mode: "0600" }],
    [
      "a file of the user's",
      { type: "file", path: `${home}/.profile`, content: "profile\n", owner: "deploy" },
    ],
    ["a link", { type: "symlink", path: `${home}/.link`, target: ".profile" }],
    [
      "a folder",
      { type: "directory", path: `${home}/.config`, mode: "0710", owner: "deploy", group: "deploy" },
    ],
    ["a file in a folder", { type: "file", path: `${home}/.config/deep/conf`, content: "deep\n" }],
  ])("%s", async (_what, resource) => {
    const state = await machine();
    const { files } = state.host;
    for (const folder of ["/etc/skel", "/etc/skel/.config", "/etc/skel/.config/deep"])
      if (!files.stat(folder)) files.makeDirectory(folder, { mode: 0o710 });
    files.writeFile("/etc/skel/.profile", Buffer.from("profile\n"), { mode: 0o600 });
    files.writeFile("/etc/skel/.config/deep/conf", Buffer.from("deep\n"), { mode: 0o644 });
    files.makeSymlink("/etc/skel/.link", ".profile");
    const user = { id: "u", type: "user", name: "deploy", create_home: true };
    const [plan] = await bothOf(state, [user, { id: "r", ...resource }]);
    expect(plan).toEqual(["u would_change", "r unchanged"]);
  });
});

describe("what a user has in his home goes with his number", () => {
  test.each<[whose: string, homeUid: number, fileUid: number, becomes: number]>([
    ["the home is his", 3_000, 3_000, 4_000],
    ["the home has the new number already", 4_000, 3_000, 4_000],
    ["not where the home is another's", 5_000, 3_000, 3_000],
    ["not what is another's", 3_000, 5_000, 5_000],
  ])("where %s", async (_whose, homeUid, fileUid, becomes) => {
    const state = await machine(["useradd", "-u", "3000", "-m", "ada"]);
    const { files } = state.host;
    files.writeFile("/home/ada/file", Buffer.from("x"), { mode: 0o644, uid: fileUid });
    await files.setAttributes("/home/ada", { uid: homeUid });
    const [plan, apply] = await bothOf(state, [
      { id: "u", type: "user", name: "ada", uid: 4_000 },
      { id: "f", type: "file", path: "/home/ada/file", content: "x", owner: String(becomes) },
    ]);
    expect([plan, apply]).toEqual([
      ["u would_change", "f unchanged"],
      ["u changed", "f unchanged"],
    ]);
  });
});

/** What the programs of some systems do by themselves: ranges of a new user, and passwords that two marks lock. */
import { describe, expect, test } from "vitest";
import { memoryMachine } from "../../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../../support/state-fixture.ts";

const { signal } = new AbortController();
const user = (more: object = {}) => declare([{ id: "u", type: "user", name: "deploy", ...more }]);

async function machine(): Promise<StateFixture> {
  const state = new StateFixture(memoryMachine());
  await state.host.run({ argv: ["useradd", "-M", "deploy"] }, signal);
  return state;
}

const tables = {
  "-v": "/etc/subuid",
  "-V": "/etc/subuid",
  "-w": "/etc/subgid",
  "-W": "/etc/subgid",
} as const;
const isFlag = (word: string): word is keyof typeof tables => word in tables;

/** Gives new users ranges, as useradd(8) does where login.defs says so, and changes them as usermod(8) does. */
function withRanges(state: StateFixture, given: string): string[][] {
  const call = state.host.run.bind(state.host);
  const asked: string[][] = [];
  const edit = (path: string, change: (text: string) => string): void =>
    state.write(path, change(state.read(path)));
  state.host.run = async (command, on) => {
    const [program, ...words] = command.argv;
    const at = words.findIndex(isFlag);
    if (program !== "usermod" || at === -1) {
      const result = await call(command, on);
      if (program === "useradd")
        for (const path of ["/etc/subuid", "/etc/subgid"]) edit(path, (text) => `${text}deploy:${given}\n`);
      return result;
    }
    asked.push(words);
    for (const [place, flag] of words.entries()) {
      if (!isFlag(flag)) continue;
      const [first = 0, last = 0] = (words[place + 1] ?? "").split("-").map(Number);
      const row = `deploy:${first}:${last - first + 1}\n`;
      edit(tables[flag], (text) => (/[vw]/.test(flag) ? text + row : text.replace(row, "")));
    }
    return { ...(await call({ argv: ["usermod", "deploy"] }, on)), exitCode: 0 };
  };
  return asked;
}

describe.each([
  ["none", []],
  ["one", ["100000:65536"]],
  ["the one that a new user gets", ["165536:65536"]],
  ["another before that one", ["100000:10", "165536:65536"]],
  ["another after that one", ["165536:65536", "100000:10"]],
])("a user with %s of the ranges", (_what, ranges) => {
  test("comes back with these, and not with those of a user with a longer name who is gone by then", async () => {
    const state = await machine();
    const others = "deploy2:700000:65536\n";
    const before = ranges.map((range) => `deploy:${range}\n`).join("");
    const rows = (path: string): string[] => state.read(path).split("\n");
    for (const path of ["/etc/subuid", "/etc/subgid"]) state.write(path, others + before);
    expect((await state.run("apply", user({ ensure: "absent" }))).status).toBe("succeeded");
    // As userdel(8) leaves them.
    for (const path of ["/etc/subuid", "/etc/subgid"]) state.write(path, "");
    const asked = withRanges(state, "165536:65536");
    const { status, results } = await state.run("apply", []);
    expect({ status, results }).toMatchObject({ status: "succeeded" });
    for (const path of ["/etc/subuid", "/etc/subgid"]) expect(rows(path)).toEqual(before.split("\n"));
    // What stands as it did is left alone.
    const isThere = ranges.join() === "165536:65536";
    expect(asked.length).toBe(isThere ? 0 : 1);
  });
});

test.each(["!", "!!", "*", "!*", "!!$6$salt$hash"])(
  "the field %j is locked or not as it says",
  async (field) => {
    const state = await machine();
    const row = state
      .read("/etc/shadow")
      .split("\n")
      .find((each) => each.startsWith("deploy:"))!;
    const stood = row.replace(/^deploy:[^:]*/, `deploy:${field}`);
    state.write("/etc/shadow", state.read("/etc/shadow").replace(row, stood));
    const locked = field.startsWith("!");
    expect(outcomes(await state.run("apply", user({ locked })))).toEqual(["u unchanged"]);
    const hasNone = /^!+$/.test(field);
    const [opposite] = (await state.run("apply", user({ locked: !locked }))).results;
    expect(opposite?.outcome).toBe(hasNone ? "unchanged" : "changed");
    expect(outcomes(await state.run("plan", user({ locked: !locked })))).toEqual(["u unchanged"]);
    expect((await state.run("apply", [])).status).toBe("succeeded");
    const after = state
      .read("/etc/shadow")
      .split("\n")
      .find((each) => each.startsWith("deploy:"))!;
    expect(after.split(":")[1]?.replace(/^!+/, "!")).toBe(field.replace(/^!+/, "!"));
  },
);

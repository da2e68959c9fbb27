/** What a user or group is beside the lines and homes of others, at the ends of the calendar, and after a lock. */
import { describe, expect, test } from "vitest";
import { memoryMachine } from "../../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../../support/state-fixture.ts";

const { signal } = new AbortController();

async function machine(...programs: [string, ...string[]][]): Promise<StateFixture> {
  const state = new StateFixture(memoryMachine());
  for (const argv of programs) await state.host.run({ argv }, signal);
  return state;
}

const user = (more: object) => declare([{ id: "u", type: "user", name: "deploy", ...more }]);

/** What becomes of it by a plan, and by an apply. */
async function bothOf(state: StateFixture, desired: ReturnType<typeof declare>): Promise<string[]> {
  const plan = outcomes(await state.run("plan", desired));
  return [...plan, ...outcomes(await state.run("apply", desired))];
}

const done = ["u would_change", "u changed"];
const refused = ["u failed", "u failed"];

describe("a group of two lines is refused unless the programs split the lists of members", () => {
  test.each<[settings: string, expected: string]>([
    ["", "u failed"],
    ["MAX_MEMBERS_PER_GROUP 0\n", "u failed"],
    ["MAX_MEMBERS_PER_GROUP 00\n", "u failed"],
    ["#MAX_MEMBERS_PER_GROUP 5\n", "u failed"],
    ["OLD_MAX_MEMBERS_PER_GROUP 5\n", "u failed"],
    ["MAX_MEMBERS_PER_GROUP\n5\n", "u failed"],
    ["MAX_MEMBERS_PER_GROUP 5\n", "u would_change"],
    ["UMASK 022\n \tMAX_MEMBERS_PER_GROUP\t050\n", "u would_change"],
  ])("with the settings %j", async (settings, expected) => {
    const state = await machine(["useradd", "-M", "deploy"], ["groupadd", "many"]);
    const line = /^many:.*\n/m.exec(state.read("/etc/group"))?.[0] ?? "";
    state.write("/etc/group", `${state.read("/etc/group")}${line}`);
    state.write("/etc/login.defs", settings);
    expect(outcomes(await state.run("plan", user({ groups: ["many"] })))).toEqual([expected]);
  });
});

describe("a new user whose home is that of another", () => {
  test.each<[what: string, homeUid: number | null, more: object, expected: string[]]>([
    ["is refused where it is the other's", 3_000, {}, refused],
    ["is made where it is root's", 0, {}, done],
    ["is made where it is a third one's", 4_000, {}, done],
    ["is made where it is not there", null, {}, done],
    ["is made where it is only to be shared", 3_000, { create_home: false }, done],
  ])("%s", async (_what, homeUid, more, expected) => {
    const state = await machine(["useradd", "-M", "-u", "3000", "-d", "/home/shared", "other"]);
    if (homeUid !== null)
      state.host.files.makeDirectory("/home/shared", { mode: 0o755, uid: homeUid, gid: 0 });
    expect(await bothOf(state, user({ home: "/home/shared", ...more }))).toEqual(expected);
  });
});

test.each(["1970-01-01", "1970-01-02", "2027-01-31", "9999-12-30", "9999-12-31", "never"])(
  "a user who expires on %s is as declared from then on",
  async (expires) => {
    for (const before of ["2031-01-01", "never", "1970-01-01"]) {
      const state = await machine(["useradd", "-M", "deploy"]);
      await state.run("apply", user({ expires: before }));
      const first = expires === before ? "u unchanged" : "u changed";
      expect(outcomes(await state.run("apply", user({ expires })))).toEqual([first]);
      expect(await bothOf(state, user({ expires }))).toEqual(["u unchanged", "u unchanged"]);
      expect(outcomes(await state.run("apply", []))).not.toContain("u failed");
    }
  },
);

test.each(["", "0", "1", "19000"])(
  "a lock keeps the day %j of the last change of the password, and tells every program something",
  async (day) => {
    const state = await machine(["useradd", "-M", "deploy"]);
    const shadow = (): string => /^deploy:.*$/m.exec(state.read("/etc/shadow"))?.[0] ?? "";
    state.write(
      "/etc/shadow",
      state.read("/etc/shadow").replace(/^deploy:.*$/m, `deploy:$6$salt$word:${day}:::::`),
    );
    const told: string[][] = [];
    const run = state.host.run.bind(state.host);
    state.host.run = (command, given) => {
      told.push([...command.argv]);
      return run(command, given);
    };
    for (const locked of [true, false]) {
      expect(outcomes(await state.run("apply", user({ locked })))).toEqual(["u changed"]);
      expect(shadow().split(":").slice(0, 3)).toEqual([
        "deploy",
        locked ? "!$6$salt$word" : "$6$salt$word",
        day,
      ]);
    }
    expect(told.map(([program]) => program)).toContain("chpasswd");
    expect(told.flat()).not.toContain("");
  },
);

import { describe, expect, test } from "vitest";
import { MemoryHost, type MemoryProgram } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
import { readMarked, writeMarked } from "../../../lib/state/resources/shared/marked-lines.ts";
import { lawFolder } from "../../../lib/testing/resource-laws.ts";
import { describeLaws } from "../../support/laws.ts";
import { createCrontab } from "../../support/machine/crontab.ts";
import { createMachine, declare, StateFixture } from "../../support/state-fixture.ts";

const theirs = "MAILTO=ops\n# my own\n5 4 * * sun /home/me/job\n";
const ours = (line: string): string => `# BEGIN fleetwright: backup\n${line}\n# END fleetwright: backup\n`;

let crontabs = new Map<string, string>();
function createHost(): MemoryHost {
  crontabs = new Map([["me", theirs]]);
  const host = new MemoryHost({
    users: { root: 0, me: 1000 },
    programs: { crontab: createCrontab(crontabs) },
  });
  host.files.makeDirectory(lawFolder, {});
  return host;
}
const observe = (): JsonObject => Object.fromEntries(crontabs);
const job = { type: "cron", name: "backup", command: "/usr/bin/backup hunter2", hour: 3 };

describeLaws(
  {
    "a job in a new crontab": {
      definition: job,
      breakIt: () => void crontabs.delete("root"),
      observe,
      secret: "hunter2",
    },
    "a job beside those of others": {
      definition: { ...job, user: "me" },
      breakIt: () => void crontabs.set("me", `${theirs}${ours("* * * * * /usr/bin/backup")}`),
      observe,
    },
    "a job in the place of another": {
      definition: { ...job, user: "me" },
      prepare: () => void crontabs.set("me", `${ours("@daily old")}${theirs}`),
      breakIt: () => void crontabs.set("me", theirs + ours("@daily other")),
      // Where in the crontab it stands is all the same.
      observe: () => [
        readMarked(crontabs.get("me") ?? "", "backup"),
        writeMarked(crontabs.get("me") ?? "", "backup", null),
      ],
    },
    "a job that is not wanted": {
      definition: { type: "cron", name: "backup", user: "me", ensure: "absent" },
      prepare: () => void crontabs.set("me", theirs + ours("@daily old")),
      breakIt: () => void crontabs.set("me", theirs + ours("@daily old")),
      observe,
    },
  },
  { "in memory": createHost },
);

/** The line that is written for these properties. */
async function entry(more: JsonObject): Promise<string | undefined> {
  const tabs = new Map<string, string>();
  const state = new StateFixture(createMachine({ crontab: createCrontab(tabs) }));
  const { status } = await state.run(
    "apply",
    declare([{ type: "cron", name: "j", command: "job", ...more }]),
  );
  return status === "succeeded" ? tabs.get("root")?.split("\n")[1] : status;
}

describe("the line", () => {
  test.each<[JsonObject, string]>([
    [{ minute: "*/5" }, "*/5 * * * * job"],
    [{ minute: 30 }, "30 * * * * job"],
    [{ hour: 3 }, "0 3 * * * job"],
    [{ minute: 0 }, "0 * * * * job"],
    [{ hour: 0 }, "0 0 * * * job"],
    [{ day_of_month: 1 }, "0 0 1 * * job"],
    [{ month: 1 }, "0 0 * 1 * job"],
    [{ day_of_week: 0 }, "0 0 * * 0 job"],
    [{ hour: 0, month: 1 }, "0 0 * 1 * job"],
    [{ hour: "*/2", minute: "1,31" }, "1,31 */2 * * * job"],
    [{ day_of_week: "mon-fri" }, "0 0 * * mon-fri job"],
    [{ month: "jan", day_of_month: 1, hour: 6 }, "0 6 1 jan * job"],
    [{ minute: "0~30", hour: "0-23/2" }, "0~30 0-23/2 * * * job"],
    [{ minute: 0, hour: 0, day_of_month: 1, month: 1, day_of_week: 0 }, "0 0 1 1 0 job"],
    [{ minute: 59, hour: 23, day_of_month: 31, month: 12, day_of_week: 7 }, "59 23 31 12 7 job"],
    ...["@hourly", "@daily", "@weekly", "@monthly", "@yearly"].map((special): [JsonObject, string] => [
      { special },
      `${special} job`,
    ]),
    [
      { special: "@reboot", environment: { A: "it's 5%", B: "" } },
      "@reboot export A='it'\\''s 5\\%' B=''; job",
    ],
  ])("of %j is %s", async (more, expected) => {
    expect(await entry(more)).toBe(expected);
  });
});

test("a crontab that can't be read is never taken for an empty one", async () => {
  const written: string[] = [];
  const state = new StateFixture(
    createMachine({
      crontab: ({ argv, stdin }) => {
        if (argv.at(-1) !== "-l") written.push(stdin ?? "");
        return { exitCode: 1, stderr: "You (web) are not allowed to use this program (crontab)\n" };
      },
    }),
  );
  const { results } = await state.run("apply", declare([job]));
  expect(results[0]).toMatchObject({ code: "COMMAND_FAILED", exit_code: 1 });
  expect(written).toEqual([]);
});

test.each([
  "no crontab for root\n",
  "crontab: no crontab for root\n",
  "crontab: can't open 'root': No such file or directory\n",
])("%j means that there is none", async (stderr) => {
  const state = new StateFixture(createMachine({ crontab: () => ({ exitCode: 1, stderr }) }));
  expect((await state.run("plan", declare([job]))).results[0]).toMatchObject({
    outcome: "would_change",
    action: "create",
  });
});

test("one that could not be asked for has said nothing, whatever it wrote", async () => {
  const crontab: MemoryProgram = () => ({ exitCode: 2, stderr: "no crontab for root\n" });
  const { results } = await new StateFixture(createMachine({ crontab })).run("plan", declare([job]));
  expect(results[0]).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED", exit_code: 2 });
});

test("jobs of one name of several users, one of them known by his number alone, stand side by side", async () => {
  const tabs = new Map<string, string>();
  const state = new StateFixture(createMachine({ crontab: createCrontab(tabs) }));
  const users = [{ id: "a" }, { id: "b", user: "web" }, { id: "c", user: "4711" }];
  const desired = declare(users.map((each) => ({ ...job, ...each })));
  expect((await state.run("apply", desired)).status).toBe("succeeded");
  expect([...tabs.keys()]).toEqual(["root", "web", "4711"]);
  expect((await state.run("apply", desired)).results.map(({ outcome }) => outcome)).toEqual(
    users.map(() => "unchanged"),
  );
});

test("what cron refuses is a failure in its own words, and the old crontab stays", async () => {
  const tabs = new Map([["root", "bad\n"]]);
  const state = new StateFixture(createMachine({ crontab: createCrontab(tabs) }));
  const { results } = await state.run("apply", declare([job]));
  expect(results[0]?.message).toContain("errors in crontab file, can't install.");
  expect(tabs.get("root")).toBe("bad\n");
});

describe("a removal", () => {
  const jobOf = (name: string) => ({ id: name, type: "cron", name, command: "true", special: "@daily" });
  const create = (text?: string, takesBareEnds = false) => {
    const tabs = new Map(text === undefined ? [] : [["root", text]]);
    const vixie = createCrontab(tabs);
    const crontab: MemoryProgram = (command, signal) => {
      const { argv, stdin = "" } = command;
      if (!takesBareEnds || argv.at(-1) !== "-") return vixie(command, signal);
      tabs.set("root", stdin);
      return {};
    };
    return { tabs, state: new StateFixture(createMachine({ crontab })) };
  };

  test.each([[["a", "b"]], [["b", "a"]]])(
    "of jobs that came one after the other, in the order %j, takes the crontab away that was made for them",
    async (leaving) => {
      const { tabs, state } = create();
      await state.run("apply", declare([jobOf("a")]));
      await state.run("apply", declare([jobOf("a"), jobOf("b")]));
      const stays = ["a", "b"].filter((name) => name !== leaving[0]);
      await state.run("apply", declare(stays.map(jobOf)));
      expect(tabs.get("root")).toBeDefined();
      await state.run("apply", []);
      expect([...tabs]).toEqual([]);
    },
  );

  test("of the one job in a crontab that was empty leaves it empty", async () => {
    const { tabs, state } = create("");
    await state.run("apply", declare([jobOf("a")]));
    await state.run("apply", []);
    expect([...tabs]).toEqual([["root", ""]]);
  });

  test.each([
    "\n",
    "# a\n",
    theirs,
    "# a\n\nMAILTO=x\n",
    `${theirs}${ours("@daily x").replaceAll("backup", "z")}`,
  ])("gives back the crontab %j, byte by byte", async (before) => {
    const { tabs, state } = create(before);
    await state.run("apply", declare([jobOf("a"), jobOf("b")]));
    await state.run("apply", declare([jobOf("b")]));
    await state.run("apply", []);
    // A crontab of jobs that are all ours is one that was made for them.
    expect(tabs.get("root")).toBe(before);
  });

  test.each([
    [true, "MAILTO=x\n@daily y"],
    [false, "MAILTO=x\n@daily y\n"],
  ])("gives back an end without a line break where cron takes it (%j)", async (takesIt, after) => {
    const { tabs, state } = create("MAILTO=x\n@daily y", takesIt);
    await state.run("apply", declare([jobOf("a")]));
    await state.run("apply", []);
    expect(tabs.get("root")).toBe(after);
  });

  test("leaves the end of what others put below it as they wrote it, whatever the end was before", async () => {
    const { tabs, state } = create("MAILTO=x\n@daily y", true);
    await state.run("apply", declare([jobOf("a")]));
    tabs.set("root", `${tabs.get("root")}@daily z\n`);
    await state.run("apply", []);
    expect(tabs.get("root")).toBe("MAILTO=x\n@daily y\n@daily z\n");
  });

  test.each([
    [(text: string) => text, `# a\n${ours("@daily old")}@daily b\n`],
    [(text: string) => `# new\n${text}`, `# new\n# a\n@daily b\n${ours("@daily old")}`],
  ])(
    "puts a job that was not wanted back where it stood, while the rest is as it was",
    async (edit, after) => {
      const { tabs, state } = create(`# a\n${ours("@daily old")}@daily b\n`);
      await state.run("apply", declare([{ type: "cron", name: "backup", ensure: "absent" }]));
      expect(tabs.get("root")).toBe("# a\n@daily b\n");
      tabs.set("root", edit("# a\n@daily b\n"));
      await state.run("apply", []);
      expect(tabs.get("root")).toBe(after);
    },
  );
});

test.each([
  ["its end is gone", (text: string) => text.replace("# END fleetwright: backup\n", "")],
  ["its beginning is gone", (text: string) => text.replace("# BEGIN fleetwright: backup\n", "")],
  ["it stands twice", (text: string) => text + text],
  ["its marks changed places", () => ours("x").split("\n").slice(0, -1).toReversed().join("\n") + "\n"],
])("a job of which %s by hand is told, and no line of others is taken for it", async (_name, edit) => {
  const tabs = new Map([["root", theirs]]);
  const state = new StateFixture(createMachine({ crontab: createCrontab(tabs) }));
  await state.run("apply", declare([job]));
  const edited = `${edit(tabs.get("root") ?? "")}@daily theirs-too\n`;
  tabs.set("root", edited);
  const refused = {
    code: "HOST_ERROR",
    message:
      'The marks "# BEGIN fleetwright: backup" and "# END fleetwright: backup" in the crontab of the agent\'s user are not one pair: make them one around our lines, or take all of them out.',
  };
  for (const wanted of [[job], [{ ...job, hour: 4 }], []])
    for (const kind of ["plan", "apply"] as const) {
      const { results } = await state.run(kind, declare(wanted));
      expect(results).toMatchObject([refused]);
      expect(tabs.get("root")).toBe(edited);
    }
  tabs.set("root", theirs + ours("@daily put right"));
  await state.run("apply", []);
  expect(tabs.get("root")).toBe(theirs);
});

describe("marked lines", () => {
  test.each<[string, string, string | null]>([
    ["stand between both marks", `a\n${ours("x")}b\n`, "x\n"],
    [
      "are none where the end is missing, so what follows is not taken for ours",
      "# BEGIN fleetwright: backup\ntheirs\n",
      null,
    ],
    ["are none under another name", ours("x").replaceAll("backup", "other"), null],
  ])("%s", (_name, text, expected) => {
    expect(readMarked(text, "backup")).toBe(expected);
  });

  test.each<[string, string, string | null, string]>([
    ["are added at the end", "a", "x\n", `a\n${ours("x")}`],
    ["are replaced where they stand", `a\n${ours("x")}b\n`, "y\n", `a\n${ours("y")}b\n`],
    ["go with their marks", `a\n${ours("x")}b\n`, null, "a\nb\n"],
    ["that are not there need not go", "a", null, "a"],
  ])("%s", (_name, before, content, after) => {
    expect(writeMarked(before, "backup", content)).toBe(after);
  });
});

test.each<[string, JsonObject]>([
  ["a command of two lines", { ...job, command: "a\n* * * * * b" }],
  ["a variable of two lines", { ...job, environment: { A: "a\nb" } }],
  ["a variable with a strange name", { ...job, environment: { "A;b": "c" } }],
  ["a field that is another", { ...job, hour: "3 4" }],
  ["a name of two lines", { ...job, name: "a\nb" }],
  ["a minute after the last", { ...job, minute: 60 }],
  ["an hour after the last", { ...job, hour: 24 }],
  ["a day before the first", { ...job, day_of_month: 0 }],
  ["a day after the last", { ...job, day_of_month: 32 }],
  ["a month before the first", { ...job, month: 0 }],
  ["a month after the last", { ...job, month: 13 }],
  ["a day of the week after the last", { ...job, day_of_week: 8 }],
  ["a user that would be an option", { ...job, user: "-r" }],
  ["special beside a field", { ...job, special: "@daily" }],
  ["no time", { type: "cron", name: "a", command: "b" }],
  ["no command", { type: "cron", name: "a", hour: 3 }],
])("%s is a fault", (_what, definition) => {
  expect(resolveResource(definition, { module: "m" }).ok).toBe(false);
});

test("a crontab that is not UTF-8 is left alone: written back it would be another", async () => {
  const host = createHost();
  crontabs.set("me", `# caf${Buffer.from([0xe9]).toString("utf8")}\n${theirs}`);
  const before = crontabs.get("me");
  const { results } = await new StateFixture(host).run("apply", declare([{ id: "j", ...job, user: "me" }]));
  expect(results[0]?.code).toBe("HOST_ERROR");
  expect(crontabs.get("me")).toBe(before);
});

test.each([
  ["where there was none", ""],
  ["where another stood in its place", ours("@daily old")],
])(
  "a job of a user who is gone goes with him %s, and one for nobody is refused in words",
  async (_, before) => {
    const users: Record<string, number> = { root: 0, me: 1000 };
    const crontab = createCrontab(new Map(before === "" ? [] : [["me", before]]));
    const refusing: MemoryProgram = (command, stop) =>
      users["me"] === undefined
        ? { exitCode: 1, stderr: "crontab:  user `me' unknown\n" }
        : crontab(command, stop);
    const host = new MemoryHost({ users, programs: { crontab: refusing } });
    host.files.makeDirectory("/etc", {});
    const passwd = (text: string): void => host.files.writeFile("/etc/passwd", Buffer.from(text), {});
    passwd("root:x:0:0\nme:x:1000:1000\n");
    const state = new StateFixture(host);
    await state.run("apply", declare([{ id: "j", ...job, user: "me" }]));
    passwd("root:x:0:0\n");
    delete users["me"];
    const removed = await state.run("apply", []);
    expect([removed.status, state.applied]).toEqual(["succeeded", []]);
    const absent = { id: "j", type: "cron", name: "backup", user: "me", ensure: "absent" };
    expect((await state.run("apply", declare([absent]))).results[0]).toMatchObject({ outcome: "unchanged" });
    for (const mode of ["plan", "apply"] as const) {
      const { results } = await state.run(mode, declare([{ id: "j", ...job, user: "me" }]));
      expect(results[0]).toMatchObject({ outcome: "failed", message: 'There is no user "me".' });
    }
  },
);

describe("a job of the agent's own user", () => {
  const own = (more: JsonObject): JsonObject => ({ id: "j", ...job, ...more });
  const named = (more: JsonObject): JsonObject => ({ id: "k", ...job, user: "root", ...more });

  test.each([
    ["by name", { user: "root" }],
    ["by number", { user: "0" }],
  ])("is the same job with that user named %s", async (_name, user) => {
    const state = new StateFixture(createHost());
    const desired = declare([own({}), named(user)]);
    expect((await state.run("apply", desired)).status).toBe("succeeded");
    const again = await state.run("apply", desired);
    expect(again.results.map(({ outcome }) => outcome)).toEqual(["unchanged", "unchanged"]);
    await state.run("apply", []);
    expect(crontabs.has("root")).toBe(false);
  });

  test.each([
    ["by name", 0, "root"],
    ["by number", 0, "0"],
    ["by name, who is not root", 1000, "me"],
    ["by number, who is not root", 1000, "1000"],
  ])("is refused beside another one of that name with that user named %s", async (_how, uid, user) => {
    const host = createHost();
    const state = new StateFixture(
      Object.assign(host, { ownProcess: () => ({ line: [], cgroups: [], uid }) }),
    );
    const before = new Map(crontabs);
    const desired = declare([own({}), named({ user, hour: 4 })]);
    for (const mode of ["plan", "apply"] as const)
      await expect(state.run(mode, desired)).rejects.toMatchObject({ code: "RESOURCE_CONFLICT" });
    expect(crontabs).toEqual(before);
  });

  test("stays the same one where a later version names that user, and goes as it came", async () => {
    const state = new StateFixture(createHost());
    crontabs.set("root", theirs);
    await state.run("apply", declare([own({})]));
    const later = await state.run("apply", declare([own({ user: "root" })]));
    expect(later.results.map(({ outcome }) => outcome)).toEqual(["unchanged"]);
    await state.run("apply", []);
    expect(crontabs.get("root")).toBe(theirs);
  });
});

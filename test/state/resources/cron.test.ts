import { describe, expect, test } from "vitest";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/internal/json.ts";
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
  const host = new MemoryHost({ programs: { crontab: createCrontab(crontabs) } });
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
    [{ hour: "*/2", minute: "1,31" }, "1,31 */2 * * * job"],
    [{ day_of_week: "mon-fri" }, "0 0 * * mon-fri job"],
    [{ month: "jan", day_of_month: 1, hour: 6 }, "0 6 1 jan * job"],
    [{ special: "@daily" }, "@daily job"],
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

test.each(["no crontab for root\n", "crontab: can't open 'root': No such file or directory\n"])(
  "%j means that there is none",
  async (stderr) => {
    const state = new StateFixture(createMachine({ crontab: () => ({ exitCode: 1, stderr }) }));
    expect((await state.run("plan", declare([job]))).results[0]).toMatchObject({
      outcome: "would_change",
      action: "create",
    });
  },
);

test("what cron refuses is a failure in its own words, and the old crontab stays", async () => {
  const tabs = new Map([["root", "bad\n"]]);
  const state = new StateFixture(createMachine({ crontab: createCrontab(tabs) }));
  const { results } = await state.run("apply", declare([job]));
  expect(results[0]?.message).toContain("errors in crontab file, can't install.");
  expect(tabs.get("root")).toBe("bad\n");
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
  ["a user that would be an option", { ...job, user: "-r" }],
  ["special beside a field", { ...job, special: "@daily" }],
  ["no time", { type: "cron", name: "a", command: "b" }],
  ["no command", { type: "cron", name: "a", hour: 3 }],
])("%s is a fault", (_what, definition) => {
  expect(resolveResource(definition, { module: "m" }).ok).toBe(false);
});

/** Each command prints its result in each way of `--output`: the table of commands says which there are. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { hasNames } from "../../../adapters/cli/output.ts";
import { createProgram } from "../../../adapters/cli/program.ts";
import type { CommandResult } from "../../support/command-line.ts";
import { outputCalls as calls } from "../../support/output-calls.ts";
import { startOutputScene, type OutputScene } from "../../support/output-scene.ts";

/** Commands that are not called here, and why. */
const exceptions: Readonly<Record<string, string>> = Object.fromEntries([
  ...of("runs until it is stopped", "serve", "agent", "terminal open"),
  ...of("streams what was recorded", "terminal replay"),
  ...of("writes lines of JSON, which are checked below", "audit export"),
  ...of("prints no result: what it did is gone", "logout", "agents remove", "enrol revoke", "tags remove"),
  ...of("prints no result: what it did is gone", "modules remove", "secrets remove", "assignments remove"),
  ...of("prints no result: what it did is gone", "thresholds remove", "windows remove", "channels remove"),
  ...of("prints no result: what it did is gone", "operators remove", "terminal close", "notifications read"),
  ...of("prints no result", "notifications read-all"),
  ...of("does what can't be done again; prints as `agents approve` does", "agents reject", "agents replace"),
  ...of("does what can't be done again", "agents reject-pending", "secrets rotate-key", "audit prune"),
  ...of(
    "does what can't be done again; prints as `show` does",
    "secrets show",
    "secrets set",
    "secrets import",
  ),
  ...of("does what can't be done again; prints as `show` does", "assignments create", "thresholds create"),
  ...of("does what can't be done again; prints as `show` does", "windows create", "windows end"),
  ...of("does what can't be done again; prints as `show` does", "channels create", "channels update"),
  ...of("does what can't be done again; prints as `show` does", "operators add", "operators set-role"),
  ...of("does what can't be done again; prints as `show` does", "rollouts pause", "rollouts resume"),
  ...of("does what can't be done again; prints as `show` does", "rollouts cancel", "operations cancel"),
  ...of("does what can't be done again; prints as `show` does", "state forget", "notifications unmute"),
  ...of("speaks to something outside", "channels test", "channels redeliver", "terminal show"),
  ...of("prints what a program reads, whatever is asked for", "complete", "completion", "man"),
  ...of("writes files", "backup", "backup verify", "restore", "sync apply", "sync export"),
]);

function of(reason: string, ...commands: string[]): [string, string][] {
  return commands.map((command) => [command, reason]);
}

/** Of a scene that has nothing of the kind there are no names to print. */
const empty: ReadonlySet<string> = new Set([
  "agents approve",
  "discover",
  "secrets list",
  "alarms",
  "terminal list",
  "notifications list",
  "channels deliveries",
]);

/** Tables with a column that is copied and typed, so that none of it is left out. */
const untrimmed: ReadonlySet<string> = new Set(["status"]);

/** Lines of the tables in a text: from a heading in capitals to the next empty line. */
function tableLinesOf(text: string): string[] {
  return text
    .split("\n\n")
    .flatMap((part) => part.match(/^[A-Z][A-Z ]+( {2}[A-Z][A-Z ]+)*$[^]*/m)?.[0].split("\n") ?? []);
}

/** Commands that end with another code than 0 where they worked: something differs. */
const works = [0, 3];

it("calls every command of the table, but for those that are named here with a reason", () => {
  const program = createProgram(() => async () => {});
  const known = [...Object.keys(calls), ...Object.keys(exceptions)].toSorted();
  expect(known).toEqual(leavesOf(program).toSorted());
});

function leavesOf({ commands }: Pick<Command, "commands">): string[] {
  return commands.flatMap((command) => {
    const below = leavesOf(command);
    const isOwn = below.length === 0 || command.name() === "backup";
    const names = below.map((name) => `${command.name()} ${name}`);
    return isOwn ? [command.name(), ...names] : names;
  });
}

it("each is JSON, YAML of the same form, text, and names that others take or a refusal", async () => {
  const scene = await startOutputScene();
  const run = (command: string, format: string): Promise<CommandResult> =>
    runOf(scene, calls[command]!, format);
  const faults: Record<string, unknown> = {};
  for (const command of Object.keys(calls)) {
    const json = await run(command, "json");
    const yaml = await run(command, "yaml");
    const [table, wide] = [await run(command, "table"), await run(command, "wide")];
    const names = await run(command, "name");
    try {
      for (const told of [json, yaml, table, wide]) expect(works, told.stderr).toContain(told.code);
      expect(yaml.stdout).not.toMatch(/^(\{"|\[\{)/);
      expect(formOf(parse(yaml.stdout))).toEqual(formOf(JSON.parse(json.stdout)));
      // Nothing was printed there that it could show.
      if (command !== "operations output")
        for (const { stdout } of [table, wide]) expect(stdout).not.toBe("");
      expectNames(command, names);
      if (!untrimmed.has(command))
        expect(tableLinesOf(table.stdout).filter((each) => each.length > 80)).toEqual([]);
    } catch (error) {
      faults[command] = error instanceof Error ? error.message.slice(0, 500) : error;
    }
  }
  expect(faults).toEqual({});

  for (const [list, ...show] of shown) {
    const [first = ""] = (await run(list, "name")).stdout.split("\n");
    expect(await scene.run(...show, first), `${show.join(" ")} ${first}`).toMatchObject({ code: 0 });
  }
}, 240_000);

/** Lists whose names a command of these words takes. */
const shown = [
  ["agents list", "agents", "show"],
  ["modules list", "modules", "show"],
  ["assignments list", "assignments", "show"],
  ["thresholds list", "thresholds", "show"],
  ["windows list", "windows", "show"],
  ["operators list", "operators", "show"],
  ["whoami", "operators", "show"],
  ["enrol list", "enrol", "show"],
  ["operations list", "operations", "show"],
  ["rollouts list", "rollouts", "show"],
  ["channels list", "channels", "show"],
] as const;

function runOf(scene: OutputScene, call: string, format: string): Promise<CommandResult> {
  const words = call
    .split(" ")
    .map((word) => (word.startsWith("$") ? (scene.known[word.slice(1)] ?? `no ${word}`) : word));
  return scene.run("-o", format, ...words);
}

function expectNames(command: string, { code, stdout, stderr }: CommandResult): void {
  if (!hasNames(command) || command === "audit head") {
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining("--output")]);
    return;
  }
  expect(works, stderr).toContain(code);
  const lines = stdout.split("\n").slice(0, -1);
  expect(lines.length > 0 || empty.has(command), "prints no name").toBe(true);
  for (const line of lines) expect(line).toMatch(/^\S+$/);
}

it("an export of the audit log is lines of JSON or a file, and a head that was printed is one that is read", async () => {
  const scene = await startOutputScene();
  for (const format of ["yaml", "name"]) {
    expect(await scene.run("audit", "export", "-o", format)).toMatchObject({ code: 2, stdout: "" });
    const file = join(scene.folder, `export-${format}`);
    const written = await scene.run("audit", "export", "-o", format, "--file", file);
    expect(written).toMatchObject({ code: 0, stdout: expect.stringContaining(file) as string });
  }
  const file = join(scene.folder, "head.json");
  writeFileSync(file, await scene.print("audit", "head", "-o", "json"));
  expect(await scene.run("audit", "verify", "--head", file)).toMatchObject({ code: 0 });
});

/** What is there, whatever it is at the moment: times and counts go on. */
function formOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length > 0 ? [formOf(value[0])] : [];
  if (typeof value !== "object" || value === null) return value === null ? null : typeof value;
  return Object.keys(value).toSorted();
}

/** What removes something, or is about more than one machine, asks; where nobody can be asked it wants `--yes`. */
import type { Command } from "commander";
import { expect, it } from "vitest";
import { MemoryStorage, systemCaller, toTimestamp } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { sureOption, yesOption } from "../../../adapters/cli/ask.ts";
import { pathOf } from "../../../adapters/cli/completion/place.ts";
import { createProgram } from "../../../adapters/cli/program.ts";
import { runIn, startCommandLine, startSignedIn } from "../../support/command-line.ts";
import { connect, leave } from "../../support/leaving-agents.ts";

it("asks at a terminal, goes on after a yes, changes nothing after a no, and is refused where nobody can be asked", async () => {
  const line = await startSignedIn();
  const { folder, run } = line;
  const upload = () => runIn(folder, ["modules", "upload", "-"], undefined, "name: web\nresources: []\n");
  await upload();
  const remove = ["modules", "remove", "web"];
  expect(await run(...remove)).toEqual({
    code: 2,
    stdout: "",
    stderr: "fleetwright: Remove the module web? Nobody can be asked here: say --yes.\n",
  });
  expect(await run(...remove, "--json")).toMatchObject({ code: 2, stdout: "" });
  const no = await runIn(folder, remove, undefined, { typed: "n\n" });
  expect(no).toMatchObject({ code: 1, stderr: expect.stringContaining("Remove the module web? [y/N] ") });
  expect(await line.print("modules", "list", "-o", "name")).toBe("web\n");
  expect(await runIn(folder, remove, undefined, { typed: "y\n" })).toMatchObject({ code: 0 });
  await upload();
  expect(await run(...remove, "--yes")).toMatchObject({ code: 0, stdout: "web is removed.\n" });
  expect(await line.print("modules", "list", "-o", "name")).toBe("");
});

/** What each of them is called with. */
const calls: Readonly<Record<string, string>> = {
  "agents reject": "agents reject machine-1 machine-2",
  "agents reject-pending": "agents reject-pending --all",
  "agents remove": "agents remove machine-1",
  "agents replace": "agents replace machine-1 machine-2",
  "assignments remove": "assignments remove motd",
  "audit prune": "audit prune --before $past",
  "audit retention": "audit retention --days 1",
  "channels remove": "channels remove ops",
  "enrol revoke": "enrol revoke $token",
  "modules remove": "modules remove motd",
  "operators remove": "operators remove $operator",
  resume: "resume",
  "secrets remove": "secrets remove key",
  "thresholds remove": "thresholds remove $threshold",
  "windows remove": "windows remove $window",
};

it("each command that wants --yes where nobody can be asked says so, and changes nothing without it", async () => {
  const clock = new FakeClock();
  const before = await createTestOrchestrator({ clock });
  await before.orchestrator.modules.upload(systemCaller, { content: "name: motd\nresources: []\n" });
  await leave(before, await connect(before, 1), await connect(before, 2));
  // Paused after a restore, with events that are old enough to go.
  const data = (before.storage as MemoryStorage).restoredCopy();
  await before[Symbol.asyncDispose]();
  const line = await startCommandLine({ storage: new MemoryStorage({ data, clock }), clock });
  clock.leap(5 * 86_400_000);
  await line.print("login", "--key", line.key);
  const { id } = JSON.parse(await line.print("enrol", "token", "--json")) as { id: string };
  const known: Record<string, string> = { $past: toTimestamp(clock.now() - 86_400_000), $token: id };
  const { audit, channels, maintenanceWindows, thresholds } = line.server.orchestrator;
  const config = { host: "127.0.0.1", port: 1 };
  await channels.create(systemCaller, { name: "ops", type: "syslog", config, enabled: false });
  const ends_at = toTimestamp(clock.now() + 60_000);
  const window = { selector: "*", reason: "quiet", mode: "mute", ends_at } as const;
  known["$window"] = (await maintenanceWindows.create(systemCaller, window)).id;
  const limit = { name: "hot", metric: "cpu.percent", condition: "above", value: 90 } as const;
  known["$threshold"] = (await thresholds.create(systemCaller, limit)).id;
  known["$operator"] = (await line.print("operators", "list", "-o", "name")).trim();
  const head = await audit.head(systemCaller);
  const program = createProgram(() => () => Promise.resolve());
  const sure = commandsOf(program).filter(({ options }) =>
    options.some(({ long, description }) => long === "--yes" && description === sureOption[1]),
  );
  expect(sure.map((command) => pathOf(command)).toSorted()).toEqual(Object.keys(calls).toSorted());
  for (const call of Object.values(calls)) {
    const words = call.split(" ").map((word) => known[word] ?? word);
    for (const more of [[], ["--json"]])
      expect(await line.run(...words, ...more), call).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("say --yes") as string,
      });
  }
  expect(await audit.head(systemCaller)).toMatchObject({ sequence: head.sequence });
});

it("every other --yes says that nothing is asked without a terminal", () => {
  const program = createProgram(() => () => Promise.resolve());
  const told = commandsOf(program).flatMap(({ options }) =>
    options.filter(({ long }) => long === "--yes").map(({ description }) => description),
  );
  expect(new Set(told)).toEqual(new Set([yesOption[1], sureOption[1]]));
});

function commandsOf({ commands }: Command): Command[] {
  return commands.flatMap((command) => [command, ...commandsOf(command)]);
}

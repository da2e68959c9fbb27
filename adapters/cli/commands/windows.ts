import { InvalidArgumentError, Option, type Command } from "commander";
import type { MaintenanceWindow } from "fleetwright";
import { makeSure, sureOption } from "../ask.ts";
import type { SureOptions } from "../ask.ts";
import type { CommandCall, Run } from "../call.ts";
import { UsageError } from "../failure.ts";
import { findListed } from "../find-id.ts";
import { duration, integer, limitOption } from "../options.ts";
import { countOf } from "../show-results.ts";
import { idColumn, timeColumn, toFacts, toLines, type Column } from "../text.ts";

/** How a window is given. */
interface Given {
  reason?: string;
  mode?: MaintenanceWindow["mode"];
  selector?: string;
  wholeFleet?: true;
  from?: string;
  until?: string;
  for?: number;
  cron?: string;
  duration?: number;
  timeZone?: string;
  endless?: true;
}

const columns: readonly Column<MaintenanceWindow>[] = [
  ["ID", ({ id }) => id, idColumn],
  ["STATUS", ({ status }) => status],
  ["MODE", ({ mode }) => mode],
  ["AGENTS", ({ selector }) => selector ?? "the whole fleet"],
  ["BEGINS", ({ occurrences: [next] }) => next?.starts_at, timeColumn],
  ["ENDS", ({ occurrences: [next] }) => next?.ends_at, timeColumn],
  ["REASON", ({ reason }) => reason],
];

/** `fleetwright windows ...` */
export function addWindowsCommands(program: Command, run: Run): void {
  const windows = program
    .command("windows")
    .alias("window")
    .description("maintenance windows: times in which agents are left alone, or are silent");
  windows
    .command("list")
    .description("list maintenance windows, newest first, those that have ended too")
    .option(...limitOption)
    .action(
      run((call, options: { limit?: number }) =>
        call.showList(call.client.maintenanceWindows.list, options, columns),
      ),
    );
  windows
    .command("show <window>")
    .description("show a maintenance window, with when it goes on next")
    .action(
      run(async (call, typed: string) =>
        show(call, await call.client.maintenanceWindows.get(await findWindow(call, typed))),
      ),
    );
  withTimes(windows.command("create").description("set a maintenance window"))
    .requiredOption("--reason <text>", "why")
    .addOption(modeOption().makeOptionMandatory())
    .action(run(create));
  withTimes(windows.command("update <window>").description("change a window; what is not given stays"))
    .option("--reason <text>", "why")
    .addOption(modeOption())
    .option("--whole-fleet", "for all agents")
    .option("--endless", "it recurs without end")
    .action(run(update));
  windows
    .command("end <window>")
    .description("end what goes on now; a window that recurs comes again")
    .action(
      run(async (call, typed: string) => {
        const id = await findWindow(call, typed);
        show(call, await call.client.maintenanceWindows.update(id, { end_occurrence: true }));
      }),
    );
  windows
    .command("remove <window>")
    .description("remove a window; what it held goes on")
    .option(...sureOption)
    .action(
      run(async (call, typed: string, options: SureOptions) => {
        const id = await findWindow(call, typed);
        const { reason } = await call.client.maintenanceWindows.get(id);
        await makeSure(call, options, `Remove the window ${id} (${reason})`);
        await call.client.maintenanceWindows.remove(id);
        call.show(null, () => toLines(["The window is removed."]));
      }),
    );
}

function modeOption(): Option {
  return new Option(
    "--mode <mode>",
    "mute: notifications are silent; freeze: nothing is applied or run there, either",
  ).choices(["mute", "freeze"]);
}

function withTimes(command: Command): Command {
  return command
    .option("--selector <selector>", "the agents it is for; default the whole fleet")
    .option("--from <time>", "when it begins, with its zone; default now", time)
    .addOption(
      new Option("--until <time>", "when it ends, with its zone")
        .argParser(time)
        .conflicts(["for", "endless"]),
    )
    .addOption(
      new Option("--for <duration>", "how long it lasts from now or --from, as 30m, 6h or 2d")
        .argParser(duration)
        .conflicts("endless"),
    )
    .option("--cron <cron>", "when it comes again, e.g. '0 2 * * 6'; with --duration")
    .option("--duration <minutes>", "how long each time lasts", integer(1, 10_080))
    .option("--time-zone <zone>", "zone of --cron, e.g. Europe/Berlin; default UTC");
}

function findWindow({ client }: CommandCall, typed: string): Promise<string> {
  const { list } = client.maintenanceWindows;
  return findListed("window", typed, { list, aboutOf: ({ reason }) => reason });
}

async function create(call: CommandCall, given: Given): Promise<void> {
  const { reason, mode, selector, from } = given;
  const schedule = scheduleOf(given);
  const ends_at = endOf(given, from);
  const ends_in_seconds = secondsFromNow(given);
  if (!schedule && (ends_at ?? ends_in_seconds) === undefined)
    throw new UsageError("Give --for, --until or --cron.");
  const window = await call.client.maintenanceWindows.create({
    reason: reason!,
    mode: mode!,
    ...(selector !== undefined && { selector }),
    ...(from !== undefined && { starts_at: from }),
    ...(ends_at !== undefined && { ends_at }),
    ...(ends_in_seconds !== undefined && { ends_in_seconds }),
    ...(schedule && { schedule }),
  });
  show(call, window);
}

async function update(call: CommandCall, typed: string, given: Given): Promise<void> {
  const id = await findWindow(call, typed);
  const { reason, mode, selector, wholeFleet, from, endless } = given;
  const schedule = scheduleOf(given);
  const ends_at = endless ? null : endOf(given, from);
  const ends_in_seconds = secondsFromNow(given);
  const window = await call.client.maintenanceWindows.update(id, {
    ...(reason !== undefined && { reason }),
    ...(mode !== undefined && { mode }),
    ...(selector !== undefined && { selector }),
    ...(wholeFleet && { selector: null }),
    ...(from !== undefined && { starts_at: from }),
    ...(ends_at !== undefined && { ends_at }),
    ...(ends_in_seconds !== undefined && { ends_in_seconds }),
    ...(schedule && { schedule }),
  });
  show(call, window);
}

function scheduleOf({ cron, duration: duration_minutes, timeZone: time_zone }: Given): {
  cron: string;
  duration_minutes: number;
  time_zone?: string;
} | null {
  if (cron === undefined && duration_minutes === undefined && time_zone === undefined) return null;
  if (cron === undefined || duration_minutes === undefined)
    throw new UsageError("--cron and --duration go together.");
  return { cron, duration_minutes, ...(time_zone !== undefined && { time_zone }) };
}

function endOf({ until, for: lastsSeconds }: Given, from: string | undefined): string | undefined {
  if (lastsSeconds === undefined || from === undefined) return until;
  return new Date(Date.parse(from) + lastsSeconds * 1_000).toISOString();
}

/** From now is by the server's clock: by one that is a day ahead, a freeze of two hours would last a day longer. */
function secondsFromNow({ for: lastsSeconds, from }: Given): number | undefined {
  return from === undefined ? lastsSeconds : undefined;
}

function time(text: string): string {
  // Without its zone a time would be that of the machine the command runs on.
  if (/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text))) return text;
  throw new InvalidArgumentError("Not a time with its zone, such as 2026-01-31T12:00:00Z.");
}

function show(call: CommandCall, window: MaintenanceWindow): void {
  const { schedule } = window;
  call.show(window, () =>
    toFacts([
      ["Id", window.id],
      ["Reason", window.reason],
      ["Mode", window.mode],
      ["Agents", window.selector ?? "the whole fleet"],
      ["Status", window.status],
      ...(schedule
        ? [
            [
              "Recurs",
              `${schedule.cron} (${schedule.time_zone}), ${countOf(schedule.duration_minutes, "minute")}`,
            ] as [string, string],
          ]
        : []),
      ...window.occurrences.map(({ starts_at, ends_at }, at): [string, string] => [
        at === 0 ? "When" : "",
        `${starts_at} to ${ends_at}`,
      ]),
      ["Created", `${window.created_at} by ${window.created_by}`],
    ]),
  );
}

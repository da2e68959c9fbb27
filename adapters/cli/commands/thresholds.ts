import { Option, type Command } from "commander";
import type { Alarm, Threshold } from "fleetwright";
import { makeSure, sureOption } from "../ask.ts";
import type { SureOptions } from "../ask.ts";
import type { CommandCall, Run } from "../call.ts";
import { UsageError } from "../failure.ts";
import { findAgent } from "../find-agent.ts";
import { findNamed } from "../find-id.ts";
import { decimal, integer, limitOption } from "../options.ts";
import { idColumn, timeColumn, toFacts, toLines, type Column } from "../text.ts";

type Severity = Threshold["severity"];

/** How a threshold is given. */
interface Given {
  name?: string;
  metric?: string;
  percentOf?: string | false;
  above?: number;
  below?: number;
  recoverAt?: number | false;
  for?: number;
  recoverAfter?: number;
  severity?: Severity;
  selector?: string;
  wholeFleet?: true;
  enable?: true;
  disable?: true;
}

const columns: readonly Column<Threshold>[] = [
  ["ID", ({ id }) => id, idColumn],
  ["NAME", ({ name }) => name],
  ["LIMIT", limitOf],
  ["FOR", ({ for_seconds }) => `${for_seconds} s`],
  ["SEVERITY", ({ severity, enabled }) => (enabled ? severity : "disabled")],
  ["AGENTS", ({ selector }) => selector ?? "the whole fleet"],
];

const alarmColumns: readonly Column<Alarm>[] = [
  ["SINCE", ({ since }) => since, timeColumn],
  ["SEVERITY", ({ severity }) => severity],
  ["AGENT", ({ agent_name }) => agent_name],
  ["THRESHOLD", ({ threshold }) => threshold],
  ["SERIES", ({ series }) => series],
  ["VALUE", ({ value }) => String(Number(value.toPrecision(4)))],
];

/** `fleetwright thresholds ...` and `fleetwright alarms` */
export function addThresholdsCommands(program: Command, run: Run): void {
  const thresholds = program
    .command("thresholds")
    .alias("threshold")
    .description("limits of what agents measure, with an alarm where one is crossed");
  thresholds
    .command("list")
    .description("list thresholds, newest first")
    .option(...limitOption)
    .action(
      run((call, options: { limit?: number }) =>
        call.showList(call.client.thresholds.list, options, columns),
      ),
    );
  thresholds
    .command("show <threshold>")
    .description("show a threshold")
    .action(
      run(async (call, typed: string) =>
        show(call, await call.client.thresholds.get(await findThreshold(call, typed))),
      ),
    );
  thresholds
    .command("remove <threshold>")
    .description("remove a threshold; its alarms end")
    .option(...sureOption)
    .action(
      run(async (call, typed: string, options: SureOptions) => {
        const id = await findThreshold(call, typed);
        const { name } = await call.client.thresholds.get(id);
        await makeSure(call, options, `Remove the threshold ${name}`);
        await call.client.thresholds.remove(id);
        call.show(null, () => toLines(["The threshold is removed."]));
      }),
    );
  addCreate(thresholds, run);
  addUpdate(thresholds, run);
  addAlarms(program, run);
}

async function findThreshold({ client }: CommandCall, typed: string): Promise<string> {
  const { id } = await findNamed("threshold", typed, client.thresholds.list);
  return id;
}

function addCreate(thresholds: Command, run: Run): void {
  withLimits(
    thresholds
      .command("create <name>")
      .description(
        "set a threshold, e.g. --metric mount.used_bytes --percent-of mount.total_bytes --above 90",
      )
      .requiredOption("--metric <series>", "a series, or a metric: each of its series"),
  ).action(
    run(async (call, name: string, given: Given) => {
      const { condition, value, ...limits } = toInput(given);
      if (condition === undefined || value === undefined) throw new UsageError("Give --above or --below.");
      const input = { ...limits, name, metric: given.metric!, condition, value };
      show(call, await call.client.thresholds.create(input));
    }),
  );
}

function addUpdate(thresholds: Command, run: Run): void {
  withLimits(
    thresholds
      .command("update <threshold>")
      .description("change a threshold; what is not given stays")
      .option("--name <text>", "what it is called")
      .option("--metric <series>", "a series, or a metric: each of its series")
      .option("--whole-fleet", "for all agents")
      .option("--no-percent-of", "count what is measured as it is")
      .option("--no-recover-at", "it need come back to the limit alone")
      .addOption(new Option("--enable", "watch again").conflicts("disable"))
      .option("--disable", "watch nothing, and end its alarms"),
  ).action(
    run(async (call, typed: string, given: Given) =>
      show(
        call,
        await call.client.thresholds.update(await findThreshold(call, typed), {
          ...toInput(given),
          ...(given.name !== undefined && { name: given.name }),
          ...(given.metric !== undefined && { metric: given.metric }),
          ...(given.wholeFleet && { selector: null }),
          ...(given.percentOf === false && { percent_of: null }),
          ...(given.recoverAt === false && { recovery_value: null }),
          ...(given.enable && { enabled: true }),
          ...(given.disable && { enabled: false }),
        }),
      ),
    ),
  );
}

function addAlarms(program: Command, run: Run): void {
  program
    .command("alarms")
    .description("list the alarms that there are now, newest first")
    .option(...limitOption)
    .option("--threshold <threshold>", "only those of this threshold")
    .option("--agent <agent>", "only those of this agent")
    .addOption(severityOption("only those of this severity"))
    .action(
      run(
        async (
          call,
          {
            threshold,
            agent,
            ...rest
          }: { limit?: number; threshold?: string; agent?: string; severity?: Severity },
        ) =>
          call.showList(
            call.client.thresholds.alarms,
            {
              ...rest,
              ...(threshold !== undefined && { threshold_id: await findThreshold(call, threshold) }),
              ...(agent !== undefined && { node_id: (await findAgent(call.client, agent)).node_id }),
            },
            alarmColumns,
          ),
      ),
    );
}

function withLimits(command: Command): Command {
  return command
    .addOption(
      new Option("--above <value>", "an alarm where it is more").argParser(decimal).conflicts("below"),
    )
    .addOption(new Option("--below <value>", "an alarm where it is less").argParser(decimal))
    .option("--percent-of <metric>", "count in percent of another metric with the same labels")
    .option("--recover-at <value>", "how far it must come back; default the limit itself", decimal)
    .option("--for <seconds>", "how long it must be beyond, default 300", integer(0, 86_400))
    .option("--recover-after <seconds>", "how long it must have come back, default 60", integer(0, 86_400))
    .addOption(severityOption("how much its alarms deserve attention, default warning"))
    .option("--selector <selector>", "the agents that it is for; default the whole fleet");
}

function severityOption(text: string): Option {
  return new Option("--severity <severity>", text).choices(["info", "warning", "critical"]);
}

/** What the options say of a threshold, as the API takes it. */
function toInput(given: Given): Partial<Pick<Threshold, "condition" | "value" | Optional>> {
  const { above, below, percentOf, recoverAt, for: forSeconds, recoverAfter, severity, selector } = given;
  return {
    ...(above !== undefined && { condition: "above" as const, value: above }),
    ...(below !== undefined && { condition: "below" as const, value: below }),
    ...(typeof percentOf === "string" && { percent_of: percentOf }),
    ...(typeof recoverAt === "number" && { recovery_value: recoverAt }),
    ...(forSeconds !== undefined && { for_seconds: forSeconds }),
    ...(recoverAfter !== undefined && { recovery_seconds: recoverAfter }),
    ...(severity !== undefined && { severity }),
    ...(selector !== undefined && { selector }),
  };
}

type Optional =
  "percent_of" | "recovery_value" | "for_seconds" | "recovery_seconds" | "severity" | "selector";

function limitOf({ metric, percent_of, condition, value }: Threshold): string {
  return `${metric} ${condition} ${value}${percent_of === undefined ? "" : ` % of ${percent_of}`}`;
}

function show(call: CommandCall, threshold: Threshold): void {
  const { recovery_value = threshold.value } = threshold;
  call.show(threshold, () =>
    toFacts([
      ["Id", threshold.id],
      ["Name", threshold.name],
      ["Limit", limitOf(threshold)],
      ["Alarm", `after ${threshold.for_seconds} s, ${threshold.severity}`],
      ["Recovery", `at ${recovery_value}, after ${threshold.recovery_seconds} s`],
      ["Agents", threshold.selector ?? "the whole fleet"],
      ["Enabled", threshold.enabled ? "yes" : "no"],
      ["Created", `${threshold.created_at} by ${threshold.created_by}`],
    ]),
  );
}

import { Option, type Command } from "commander";
import type { DriftRecord } from "fleetwright";
import type { Input } from "../../client/inputs.ts";
import { yesOption } from "../ask.ts";
import type { CommandCall, Run } from "../call.ts";
import { exitCode } from "../context.ts";
import { UsageError } from "../failure.ts";
import { findAgent } from "../find-agent.ts";
import { withSuggestion } from "../find-id.ts";
import { forget } from "../forget.ts";
import type { ForgetOptions } from "../forget.ts";
import { gather, integer, limitOption, paramOption } from "../options.ts";
import { runOne } from "../run-one.ts";
import type { RunOptions } from "../run-one.ts";
import { describeCounts, describeDrift } from "../show-results.ts";
import { describeState } from "../show-state.ts";
import { idColumn, timeColumn } from "../text.ts";
import type { Column } from "../text.ts";
import { awaitDrift } from "../wait.ts";

interface DriftOptions {
  last?: true;
  list?: true;
  limit?: number;
  status?: Input<"newestDriftInput">["status"];
  selector?: string;
}

const driftColumns: readonly Column<DriftRecord>[] = [
  ["CHECK", ({ drift_id }) => drift_id, idColumn],
  ["TIME", ({ checked_at }) => checked_at, timeColumn],
  ["STATUS", ({ status }) => status],
  ["FOUND", ({ counts, error }) => (error && counts.total === 0 ? error.code : describeCounts(counts))],
];

/** `fleetwright plan|apply|drift AGENT`, `fleetwright state ...` */
export function addStateCommands(program: Command, run: Run): void {
  for (const kind of ["plan", "apply"] as const) addRunCommand(program, run, kind);
  program
    .command("drift [agent]")
    .description(
      "compare a machine with its last successful apply; without one, list what the newest check of each found",
    )
    .option("--status <status>", "of all agents: only those found in_sync, drifted or failed")
    .option("--selector <selector>", "of all agents: only those that it matches")
    .option("--last", "what the last check found, without another one")
    .addOption(new Option("--list", "the checks there were, newest first").conflicts("last"))
    .option(...limitOption)
    .action(
      run(async (call, text: string | undefined, options: DriftOptions) => {
        if (text === undefined) return showNewestDrift(call, options);
        const { last, list, limit, status, selector } = options;
        if (status !== undefined || selector !== undefined)
          throw new UsageError("--status and --selector are for the list of all agents: name none.");
        if (limit !== undefined && !list) throw new UsageError("A --limit is for --list.");
        const { node_id, name = node_id } = await findAgent(call.client, text);
        const verbs = call.client.drift;
        if (list)
          return call.showList(
            (query) => verbs.list(node_id, query),
            { ...(limit !== undefined && { limit }) },
            driftColumns,
          );
        const drift = last
          ? await verbs.latest(node_id)
          : await awaitDrift(call, await verbs.check(node_id, { wait_seconds: 0 }));
        call.show(drift, () => describeDrift(name, drift));
        if (drift.status === "in_sync") return exitCode.ok;
        return drift.status === "drifted" ? exitCode.differs : exitCode.failure;
      }),
    );
  addBelievedCommands(program.command("state").description("what is believed of a machine"), run);
}

function showNewestDrift(call: CommandCall, { last, list, ...query }: DriftOptions): Promise<void> {
  if (last || list) throw new UsageError("Name the agent whose checks are asked for.");
  return call.showList(call.client.drift.newest, query, [
    ["AGENT", ({ agent_name }) => agent_name],
    ...driftColumns,
  ]);
}

function addRunCommand(program: Command, run: Run, kind: "plan" | "apply"): void {
  const command = program
    .command(kind === "plan" ? "plan <agent>" : "apply [agent]")
    .description(kind === "plan" ? "tell what an apply would change" : "bring a machine to its desired state")
    .option(
      "--module <name>",
      `${kind} these modules alone, as web or web@3, and leave all else as it is; they stay wanted on the machine; may be given more than once`,
      gather,
    )
    .option(
      "--remove-module <name>",
      "take away what this module brought; may be given more than once",
      gather,
    )
    .option(...paramOption)
    .option("--timeout <seconds>", "how long it may run", integer(1, 86_400))
    .option("--queue", "wait for an agent that is not connected")
    .option("--no-wait", "answer at once");
  if (kind === "apply") {
    command
      .option("--plan <id>", "exactly what this plan says, or nothing; the agent need not be named")
      .option("--allow-empty", "remove everything, where nothing is desired any more")
      .option("--max-removals <n>", "do nothing where more would be removed", integer(0, 20_000))
      .option("--override-window", "in spite of maintenance windows; for Admins")
      .option(...yesOption);
  }
  command.action(
    run((call, agent: string | undefined, options: RunOptions) => {
      const names = [...(options.module ?? []), ...(options.removeModule ?? [])];
      return withSuggestion(call, { module: names }, () => runOne(call, { kind, agent, options }));
    }),
  );
}

function addBelievedCommands(state: Command, run: Run): void {
  state
    .command("show <agent>")
    .description(
      "show what was applied, what the next apply removes, what is not applied yet, and who brings each module",
    )
    .action(
      run(async (call, text: string) => {
        const { node_id, name = node_id } = await findAgent(call.client, text);
        const believed = await call.client.state.believed(node_id);
        call.show(believed, (view) => describeState(name, believed, view));
      }),
    );
  state
    .command("forget <agent> <resource...>")
    .description(
      "drop ownership of resources (module/id) or of all that a module brought, and leave them as they are",
    )
    .option("--no-wait", "answer at once")
    .option(...yesOption)
    .action(
      run((call, ...[agent, names, options]: [string, string[], ForgetOptions]) =>
        forget(call, { agent, names, options }),
      ),
    );
}

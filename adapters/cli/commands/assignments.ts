import type { Command } from "commander";
import type { Assignment, OperationDetail, RolloutDetail, RolloutMember } from "fleetwright";
import type { Client } from "fleetwright/client";
import type { NewAssignment } from "../../client/inputs.ts";
import { collect, type CommandCall, type Run } from "../call.ts";
import { exitCode } from "../context.ts";
import type { ExitCode } from "../context.ts";
import { gather, limitOption, paramOption } from "../options.ts";
import type { ParamOptions } from "../options.ts";
import { addStrategyOptions, describeStrategy, toStrategy } from "../rollout-options.ts";
import type { StrategyOptions } from "../rollout-options.ts";
import { describeOperation } from "../show-results.ts";
import { toFacts, toLine, toLines } from "../text.ts";
import type { Column } from "../text.ts";
import { awaitOperation, awaitRollout, exitCodeOf, firstWaitSeconds, isUnfinished } from "../wait.ts";

interface CreateOptions extends StrategyOptions {
  selector: string;
  module: string[];
  description?: string;
  param?: ParamOptions;
  schedule?: string;
  timeZone?: string;
  enforce?: boolean;
  unattendedRemovals?: boolean;
}

interface RunOptions extends StrategyOptions {
  wait: boolean;
}

/** `fleetwright assignments ...` */
export function addAssignmentsCommands(program: Command, run: Run): void {
  const assignments = program.command("assignments").description("which modules go to which agents");
  assignments
    .command("list")
    .description("list assignments")
    .option(...limitOption)
    .action(
      run((call, options: { limit?: number }) =>
        call.showList(call.client.assignments.list, options, columns),
      ),
    );
  assignments
    .command("show <name>")
    .description("show one assignment and the agents that it matches")
    .action(
      run(async (call, name: string) => {
        const assignment = await call.client.assignments.get(name);
        call.show(assignment, () =>
          toFacts([
            ["name", assignment.name],
            ["description", assignment.description],
            ["selector", assignment.selector],
            ["modules", assignment.modules.join(" ")],
            ["params", assignment.params && JSON.stringify(assignment.params)],
            ["rollout", describeStrategy(assignment.rollout ?? {})],
            [
              "schedule",
              assignment.schedule && `${assignment.schedule.cron} ${assignment.schedule.time_zone}`,
            ],
            ["next run", assignment.next_run_at],
            ["enforced", assignment.enforce ? "yes" : "no"],
            ["unattended removals", assignment.unattended_removals ? "yes" : "no"],
            ["agents", assignment.matched_agents.map((agent) => agent.name).join(" ")],
          ]),
        );
      }),
    );
  assignments
    .command("remove <name>")
    .description("remove an assignment; machines change with their next apply")
    .action(
      run(async (call, name: string) => {
        await call.client.assignments.remove(name);
        call.show(null, () => toLines([`${name} is removed.`]));
      }),
    );
  addCreateCommand(assignments, run);
  addRunCommands(assignments, run);
}

function addCreateCommand(assignments: Command, run: Run): void {
  const create = assignments
    .command("create <name>")
    .description("assign modules to every agent that a selector matches")
    .requiredOption("--selector <selector>", "which agents; * is every agent")
    .requiredOption("--module <name>", "a module; may be given more than once", gather)
    .option("--description <text>", "what it is for")
    .option(...paramOption)
    .option("--schedule <cron>", "when it is applied by itself: five fields, or e.g. @daily")
    .option("--time-zone <zone>", "time zone of the schedule; default UTC")
    .option("--enforce", "apply again what a drift check finds changed")
    .option("--unattended-removals", "let the schedule and --enforce remove what is not desired any more");
  addStrategyOptions(create).action(
    run(async (call, name: string, options: CreateOptions) => {
      const assignment = await call.client.assignments.create(toAssignment(name, options));
      call.show(assignment, () => toLines([`Agents that ${name} matches: ${assignment.matches}`]));
    }),
  );
}

function addRunCommands(assignments: Command, run: Run): void {
  assignments
    .command("plan <name>")
    .description("plan on every agent that an assignment matches")
    .option("--no-wait", "answer at once")
    .action(
      run(async (call, name: string, { wait }: RunOptions) => {
        const wait_seconds = wait ? firstWaitSeconds : 0;
        return follow(call, await call.client.assignments.plan(name, { wait_seconds }), wait);
      }),
    );
  const apply = assignments
    .command("apply <name>")
    .description("apply on every agent that an assignment matches")
    .option("--no-wait", "answer at once");
  addStrategyOptions(apply).action(
    run(async (call, name: string, { wait, ...options }: RunOptions) => {
      const rollout = toStrategy(options);
      const input = { wait_seconds: wait ? firstWaitSeconds : 0, ...(rollout && { rollout }) };
      return follow(call, await call.client.assignments.apply(name, input), wait);
    }),
  );
}

function toAssignment(name: string, options: CreateOptions): NewAssignment {
  const { module: modules, param: params, selector, description, timeZone, enforce } = options;
  const { schedule: cron, unattendedRemovals: unattended_removals } = options;
  const rollout = toStrategy(options);
  return {
    name,
    modules,
    selector,
    ...(description !== undefined && { description }),
    ...(params && { params }),
    ...(cron !== undefined && { schedule: { cron, ...(timeZone !== undefined && { time_zone: timeZone }) } }),
    ...(enforce !== undefined && { enforce }),
    ...(unattended_removals !== undefined && { unattended_removals }),
    ...(rollout && { rollout }),
  };
}

const columns: readonly Column<Assignment>[] = [
  ["ASSIGNMENT", ({ name }) => name],
  ["SELECTOR", ({ selector }) => selector],
  ["MODULES", ({ modules }) => modules.join(" ")],
  ["AGENTS", ({ matches }) => matches],
];

/** Every agent of a rollout, also where the rollout itself shows only the first. */
async function membersOf(client: Client, rollout: RolloutDetail): Promise<readonly RolloutMember[]> {
  if (!rollout.truncated) return rollout.operations;
  const list = (query: object) => client.rollouts.agents(rollout.rollout_id, { ...query });
  return (await collect(list, { limit: Infinity })).items;
}

async function follow(call: CommandCall, begun: RolloutDetail, wait: boolean): Promise<ExitCode> {
  const { client } = call;
  const rollout = await awaitRollout(client, begun, wait);
  const members = await membersOf(client, rollout);
  const operations: OperationDetail[] = [];
  for (const { operation_id } of members) {
    if (operation_id !== undefined) operations.push(await awaitOperation(client, operation_id, wait));
  }
  const refused = members.filter(({ error, operation_id }) => error && operation_id === undefined);
  call.show({ ...rollout, operations }, () => describeRollout(rollout, operations, refused));
  if (refused.length > 0) return exitCode.failure;
  return isUnfinished(rollout) ? exitCode.unfinished : exitCodeOf(operations);
}

function describeRollout(
  rollout: RolloutDetail,
  operations: readonly OperationDetail[],
  refused: readonly RolloutMember[],
): string {
  const succeeded = operations.filter(({ status }) => status === "succeeded").length;
  const lines = refused.map(({ name, error }) => toLine(`${name}: ${error?.code}: ${error?.message}`));
  const summary = `${rollout.assignment}: ${rollout.kind} succeeded on ${succeeded} of ${rollout.matched} agents`;
  const told = rollout.reason === undefined ? [] : [toLine(rollout.reason)];
  return operations.map(describeOperation).join("") + toLines([...lines, ...told, summary]);
}

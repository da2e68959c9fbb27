import type { Command } from "commander";
import type { Assignment } from "fleetwright";
import type { NewAssignment } from "../../client/inputs.ts";
import { makeSure, sureOption, yesOption } from "../ask.ts";
import type { SureOptions } from "../ask.ts";
import type { Run } from "../call.ts";
import { UsageError } from "../failure.ts";
import { withSuggestion } from "../find-id.ts";
import { gather, limitOption, paramOption } from "../options.ts";
import type { ParamOptions } from "../options.ts";
import { addStrategyOptions, toStrategy } from "../rollout-options.ts";
import type { StrategyOptions } from "../rollout-options.ts";
import { applyAssignment, planAssignment } from "../run-assignment.ts";
import type { AssignmentRunOptions } from "../run-assignment.ts";
import { assignmentColumns, describeAssignment } from "../show-assignment.ts";
import { toLines } from "../text.ts";

interface ChangeOptions extends StrategyOptions {
  selector?: string;
  module?: string[];
  description?: string;
  param?: ParamOptions;
  /** False takes it away. */
  schedule?: string | false;
  timeZone?: string;
  enforce?: boolean;
  unattendedRemovals?: boolean;
}

interface CreateOptions extends ChangeOptions {
  selector: string;
  module: string[];
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
        call.showList(call.client.assignments.list, options, assignmentColumns),
      ),
    );
  assignments
    .command("show <name>")
    .description("show one assignment, the agents that it matches and what each has of its modules")
    .action(
      run(async (call, name: string) => {
        const get = () => call.client.assignments.get(name);
        const assignment = await withSuggestion(call, { assignment: name }, get);
        call.show(assignment, (view) => describeAssignment(assignment, view));
      }),
    );
  assignments
    .command("remove <name>")
    .description("remove an assignment; machines change with their next apply")
    .option(...sureOption)
    .action(
      run(async (call, name: string, options: SureOptions) => {
        await makeSure(call, options, `Remove the assignment ${name}`);
        await withSuggestion(call, { assignment: name }, () => call.client.assignments.remove(name));
        call.show(null, () => toLines([`${name} is removed.`]));
      }),
    );
  addCreateCommand(assignments, run);
  addUpdateCommand(assignments, run);
  addRunCommands(assignments, run);
}

function addCreateCommand(assignments: Command, run: Run): void {
  const create = assignments
    .command("create <name>")
    .description("assign modules to every agent that a selector matches")
    .requiredOption("--selector <selector>", "which agents; * is every agent")
    .requiredOption(...moduleOption);
  addChangeOptions(create).action(
    run(async (call, name: string, options: CreateOptions) => {
      const { selector, module: modules } = options;
      const input = { name, ...toFields(options), selector, modules };
      const work = () => call.client.assignments.create(input);
      const assignment = await withSuggestion(call, { module: modules }, work);
      call.show(assignment, () => describeMatches(assignment));
    }),
  );
}

function addUpdateCommand(assignments: Command, run: Run): void {
  const update = assignments
    .command("update <name>")
    .description("change an assignment: what is not given stays; machines change with their next apply")
    .option("--selector <selector>", "which agents; * is every agent")
    .option(...moduleOption);
  addChangeOptions(update)
    .option("--no-schedule", "apply it by itself no longer")
    .option("--no-enforce", "apply nothing again by itself")
    .option("--no-unattended-removals", "leave removals to an apply that somebody asks for")
    .addHelpText(
      "after",
      "\nModules, params, the schedule and how it goes through the agents are replaced as a whole.",
    )
    .action(
      run(async (call, name: string, options: ChangeOptions) => {
        const { schedule, timeZone } = options;
        if (timeZone !== undefined && typeof schedule !== "string")
          throw new UsageError("--time-zone is that of --schedule; give both.");
        const change = { ...toFields(options), ...(schedule === false && { schedule: null }) };
        if (Object.keys(change).length === 0) throw new UsageError("Say what is to be changed.");
        const names = { assignment: name, module: options.module };
        const work = () => call.client.assignments.update(name, change);
        const assignment = await withSuggestion(call, names, work);
        call.show(assignment, () => describeMatches(assignment));
      }),
    );
}

const moduleOption = [
  "--module <name>",
  "a module, as web for its newest revision or web@3; may be given more than once",
  gather,
] as const;

function addChangeOptions(command: Command): Command {
  command
    .option("--description <text>", "what it is for")
    .option(...paramOption)
    .option("--schedule <cron>", "when it is applied by itself: five fields, or e.g. @daily")
    .option("--time-zone <zone>", "time zone of the schedule; default UTC")
    .option("--enforce", "apply again what a drift check finds changed")
    .option("--unattended-removals", "let the schedule and --enforce remove what is not desired any more");
  return addStrategyOptions(command);
}

function addRunCommands(assignments: Command, run: Run): void {
  assignments
    .command("plan <name>")
    .description("plan on every agent that an assignment matches")
    .option("--no-wait", "answer at once")
    .action(
      run((call, name: string, options: { wait: boolean }) =>
        withSuggestion(call, { assignment: name }, () => planAssignment(call, name, options)),
      ),
    );
  const apply = assignments
    .command("apply <name>")
    .description("apply on every agent that an assignment matches")
    .option("--no-wait", "answer at once")
    .option("--plan <rollout>", "exactly what this plan said, on its agents alone")
    .option("--override-window", "in spite of maintenance windows; for Admins")
    .option(...yesOption);
  addStrategyOptions(apply).action(
    run((call, name: string, options: AssignmentRunOptions) =>
      withSuggestion(call, { assignment: name }, () => applyAssignment(call, name, options)),
    ),
  );
}

function toFields(options: ChangeOptions): Partial<Omit<NewAssignment, "name">> {
  const { module: modules, param: params, selector, description, timeZone, enforce } = options;
  const { schedule: cron, unattendedRemovals: unattended_removals } = options;
  const rollout = toStrategy(options);
  return {
    ...(selector !== undefined && { selector }),
    ...(modules && { modules }),
    ...(description !== undefined && { description }),
    ...(params && { params }),
    ...(typeof cron === "string" && {
      schedule: { cron, ...(timeZone !== undefined && { time_zone: timeZone }) },
    }),
    ...(enforce !== undefined && { enforce }),
    ...(unattended_removals !== undefined && { unattended_removals }),
    ...(rollout && { rollout }),
  };
}

function describeMatches({ name, matches }: Assignment): string {
  return toLines([`Agents that ${name} matches: ${matches}`]);
}

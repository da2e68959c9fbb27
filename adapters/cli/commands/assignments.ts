import type { Assignment, OperationDetail, Rollout } from "fleetwright";
import type { Command } from "commander";
import type { CommandCall, Run } from "../call.ts";
import { exitCode } from "../context.ts";
import type { ExitCode } from "../context.ts";
import { gather, limitOption, paramOption } from "../options.ts";
import type { ParamOptions } from "../options.ts";
import { describeOperation } from "../show-results.ts";
import { toFacts, toLine, toLines } from "../text.ts";
import type { Column } from "../text.ts";
import { awaitOperation, exitCodeOf, firstWaitSeconds } from "../wait.ts";

interface CreateOptions {
  selector: string;
  module: string[];
  description?: string;
  param?: ParamOptions;
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
            ["agents", assignment.matched_agents.map((agent) => agent.name).join(" ")],
          ]),
        );
      }),
    );
  assignments
    .command("create <name>")
    .description("assign modules to every agent that a selector matches")
    .requiredOption("--selector <selector>", "which agents; * is every agent")
    .requiredOption("--module <name>", "a module; may be given more than once", gather)
    .option("--description <text>", "what it is for")
    .option(...paramOption)
    .action(
      run(async (call, name: string, { module: modules, param: params, ...rest }: CreateOptions) => {
        const input = { name, modules, ...rest, ...(params && { params }) };
        const assignment = await call.client.assignments.create(input);
        call.show(assignment, () => toLines([`Agents that ${name} matches: ${assignment.matches}`]));
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
  for (const kind of ["plan", "apply"] as const) {
    assignments
      .command(`${kind} <name>`)
      .description(`${kind} on every agent that an assignment matches`)
      .option("--no-wait", "answer at once")
      .action(
        run((call, name: string, { wait }: { wait: boolean }) => runRollout(call, { kind, name, wait })),
      );
  }
}

const columns: readonly Column<Assignment>[] = [
  ["ASSIGNMENT", ({ name }) => name],
  ["SELECTOR", ({ selector }) => selector],
  ["MODULES", ({ modules }) => modules.join(" ")],
  ["AGENTS", ({ matches }) => matches],
];

async function runRollout(
  call: CommandCall,
  { kind, name, wait }: { kind: "plan" | "apply"; name: string; wait: boolean },
): Promise<ExitCode> {
  const { client } = call;
  const rollout = await client.assignments[kind](name, { wait_seconds: wait ? firstWaitSeconds : 0 });
  const operations: OperationDetail[] = [];
  for (const { operation_id } of rollout.operations) {
    if (operation_id !== undefined) operations.push(await awaitOperation(client, operation_id, wait));
  }
  const refused = rollout.operations.filter(({ operation_id }) => operation_id === undefined);
  call.show({ ...rollout, operations }, () => describeRollout(rollout, operations, refused));
  return refused.length > 0 ? exitCode.failure : exitCodeOf(operations);
}

function describeRollout(
  rollout: Rollout,
  operations: readonly OperationDetail[],
  refused: Rollout["operations"],
): string {
  const succeeded = operations.filter(({ status }) => status === "succeeded").length;
  const lines = refused.map(({ name, error }) => toLine(`${name}: ${error?.code}: ${error?.message}`));
  const summary = `${rollout.assignment}: ${rollout.kind} succeeded on ${succeeded} of ${rollout.matched} agents`;
  return operations.map(describeOperation).join("") + toLines([...lines, summary]);
}

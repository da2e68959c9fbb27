import type { Command } from "commander";
import type { Operation } from "fleetwright";
import type { RunInput } from "../../client/inputs.ts";
import type { CommandCall, Run } from "../call.ts";
import { exitCode } from "../context.ts";
import type { ExitCode } from "../context.ts";
import { UsageError } from "../failure.ts";
import { findAgent } from "../find-agent.ts";
import { LiveProgress } from "../live-progress.ts";
import { gather, integer, paramOption } from "../options.ts";
import type { ParamOptions } from "../options.ts";
import { describeDrift, describeOperation } from "../show-results.ts";
import { awaitDrift, awaitOperation, exitCodeOf, firstWaitSeconds } from "../wait.ts";

interface RunOptions {
  module?: string[];
  param?: ParamOptions;
  plan?: string;
  timeout?: number;
  queue?: boolean;
  allowEmpty?: boolean;
  maxRemovals?: number;
  wait: boolean;
}

/** `fleetwright plan|apply|drift AGENT` */
export function addStateCommands(program: Command, run: Run): void {
  for (const kind of ["plan", "apply"] as const) {
    const command = program
      .command(kind === "plan" ? "plan <agent>" : "apply [agent]")
      .description(
        kind === "plan" ? "tell what an apply would change" : "bring a machine to its desired state",
      )
      .option("--module <name>", "a module beside those of assignments; may be given more than once", gather)
      .option(...paramOption)
      .option("--timeout <seconds>", "how long it may run", integer(1, 86_400))
      .option("--queue", "wait for an agent that is not connected")
      .option("--no-wait", "answer at once");
    if (kind === "apply") {
      command
        .option("--plan <id>", "exactly what this plan says, or nothing; the agent need not be named")
        .option("--allow-empty", "remove everything, where nothing is desired any more")
        .option("--max-removals <n>", "do nothing where more would be removed", integer(0, 20_000));
    }
    command.action(
      run((call, agent: string | undefined, options: RunOptions) => runOne(call, { kind, agent, options })),
    );
  }
  program
    .command("drift <agent>")
    .description("compare a machine with its last successful apply")
    .action(
      run(async (call, text: string) => {
        const { node_id, name = node_id } = await findAgent(call.client, text);
        const check = await call.client.drift.check(node_id, { wait_seconds: firstWaitSeconds });
        const drift = await awaitDrift(call.client, check);
        call.show(drift, () => describeDrift(name, drift));
        if (drift.status === "in_sync") return exitCode.ok;
        return drift.status === "drifted" ? exitCode.differs : exitCode.failure;
      }),
    );
}

async function runOne(
  call: CommandCall,
  { kind, agent, options }: { kind: "plan" | "apply"; agent: string | undefined; options: RunOptions },
): Promise<ExitCode> {
  const { client } = call;
  const node_id = await findMachine(call, agent, options.plan);
  const isLive = options.wait && call.options.json !== true;
  const { operation_id } = await client.state[kind](node_id, toInput(options, isLive));
  if (isLive) return exitCodeOf([await showLive(call, operation_id)]);
  const operation = await awaitOperation(client, operation_id, options.wait);
  call.show(operation, () => describeOperation(operation));
  return exitCodeOf([operation]);
}

/** The machine that is named, or that of the plan. */
async function findMachine({ client }: CommandCall, agent?: string, plan?: string): Promise<string> {
  if (agent !== undefined) return (await findAgent(client, agent)).node_id;
  if (plan === undefined) throw new UsageError("Name an agent, or a plan with --plan.");
  return (await client.operations.get(plan)).node_id;
}

/** Shows each resource as it is done and what scripts print, until the operation has ended. */
async function showLive(call: CommandCall, operationId: string): Promise<Operation> {
  const progress = new LiveProgress();
  for await (const item of call.client.operations.watch(operationId)) {
    call.context.stdout(progress.tell(item));
    if (item.type === "ended") return item.operation;
  }
  return call.client.operations.get(operationId);
}

function toInput(options: RunOptions, isLive: boolean): RunInput {
  const { module: modules, param: params, plan, timeout, queue, allowEmpty, maxRemovals, wait } = options;
  return {
    wait_seconds: wait && !isLive ? firstWaitSeconds : 0,
    ...(modules && { modules }),
    ...(params && { params }),
    ...(plan !== undefined && { plan_id: plan }),
    ...(timeout !== undefined && { timeout_seconds: timeout }),
    ...(queue && { when_offline: "queue" }),
    ...(allowEmpty && { allow_empty: true }),
    ...(maxRemovals !== undefined && { max_removals: maxRemovals }),
  };
}

import type { Operation } from "fleetwright";
import type { Command } from "commander";
import type { RunInput } from "../../client/verbs.ts";
import type { CommandCall, Run } from "../call.ts";
import { exitCode } from "../context.ts";
import type { ExitCode } from "../context.ts";
import { findAgent } from "../find-agent.ts";
import { LiveProgress } from "../live-progress.ts";
import { gather, integer } from "../options.ts";
import { describeDrift, describeOperation } from "../show-results.ts";
import { awaitDrift, awaitOperation, exitCodeOf, firstWaitSeconds } from "../wait.ts";

interface RunOptions {
  module?: string[];
  timeout?: number;
  queue?: boolean;
  allowEmpty?: boolean;
  wait: boolean;
}

/** `fleetwright plan|apply|drift AGENT` */
export function addStateCommands(program: Command, run: Run): void {
  for (const kind of ["plan", "apply"] as const) {
    const command = program
      .command(`${kind} <agent>`)
      .description(
        kind === "plan" ? "tell what an apply would change" : "bring a machine to its desired state",
      )
      .option("--module <name>", "a module beside those of assignments; may be given more than once", gather)
      .option("--timeout <seconds>", "how long it may run", integer(1, 86_400))
      .option("--queue", "wait for an agent that is not connected")
      .option("--no-wait", "answer at once");
    if (kind === "apply")
      command.option("--allow-empty", "remove everything, where nothing is desired any more");
    command.action(run((call, agent: string, options: RunOptions) => runOne(call, { kind, agent, options })));
  }
  program
    .command("drift <agent>")
    .description("compare a machine with its last successful apply")
    .action(
      run(async (call, text: string) => {
        const { node_id, name = node_id } = await findAgent(call.client, text);
        const check = await call.client.agents.checkDrift(node_id, { wait_seconds: firstWaitSeconds });
        const drift = await awaitDrift(call.client, check);
        call.show(drift, () => describeDrift(name, drift));
        if (drift.status === "in_sync") return exitCode.ok;
        return drift.status === "drifted" ? exitCode.differs : exitCode.failure;
      }),
    );
}

async function runOne(
  call: CommandCall,
  { kind, agent, options }: { kind: "plan" | "apply"; agent: string; options: RunOptions },
): Promise<ExitCode> {
  const { client } = call;
  const { node_id } = await findAgent(client, agent);
  const isLive = options.wait && call.options.json !== true;
  const { operation_id } = await client.agents[kind](node_id, toInput(options, isLive));
  if (isLive) return exitCodeOf([await showLive(call, operation_id)]);
  const operation = await awaitOperation(client, operation_id, options.wait);
  call.show(operation, () => describeOperation(operation));
  return exitCodeOf([operation]);
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

function toInput(
  { module: modules, timeout, queue, allowEmpty, wait }: RunOptions,
  isLive: boolean,
): RunInput {
  return {
    wait_seconds: wait && !isLive ? firstWaitSeconds : 0,
    ...(modules && { modules }),
    ...(timeout !== undefined && { timeout_seconds: timeout }),
    ...(queue && { when_offline: "queue" }),
    ...(allowEmpty && { allow_empty: true }),
  };
}

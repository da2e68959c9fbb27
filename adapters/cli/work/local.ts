import { join, resolve } from "node:path";
import { systemCaller } from "fleetwright";
import type { Operation } from "fleetwright";
import type { CommandCall } from "../call.ts";
import { exitCode } from "../context.ts";
import type { ExitCode } from "../context.ts";
import { LiveProgress } from "../live-progress.ts";
import type { LogLevel } from "../log-level.ts";
import type { ParamOptions, TagOptions } from "../options.ts";
import { homeFolder } from "../profile.ts";
import { readText } from "../read-text.ts";
import { describeDrift, describeOperation } from "../show-results.ts";
import { exitCodeOf } from "../wait.ts";
import { LocalMachine } from "./local-machine.ts";
import { createLogger } from "./logger.ts";

/** Options of every command of `fleetwright local`. */
export interface LocalOptions {
  stateDir?: string;
  root?: string;
  logLevel?: LogLevel;
}

/** Those of a plan and an apply. */
export interface LocalRunOptions extends LocalOptions {
  param?: ParamOptions;
  tag?: TagOptions;
  timeout?: number;
  allowEmpty?: boolean;
}

function open({ context }: CommandCall, options: LocalOptions): Promise<LocalMachine> {
  return LocalMachine.open({
    stateDir: resolve(options.stateDir ?? join(homeFolder(context), "local")),
    logger: createLogger(context, options.logLevel ?? "error"),
    ...(options.root !== undefined && { root: resolve(options.root) }),
  });
}

/** Plans or applies the modules of these files, and no others. */
export async function runLocal(
  call: CommandCall,
  { kind, files, options }: { kind: "plan" | "apply"; files: string[]; options: LocalRunOptions },
): Promise<ExitCode> {
  const texts: string[] = [];
  for (const file of files) texts.push(await readText(call.context, file));
  await using machine = await open(call, options);
  const { orchestrator, nodeId } = machine;
  const modules: string[] = [];
  for (const content of texts)
    modules.push((await orchestrator.modules.upload(systemCaller, { content })).name);
  await orchestrator.agents.tags.replace(systemCaller, { node_id: nodeId, tags: options.tag ?? {} });
  const { operation_id } = await orchestrator.operations[kind](systemCaller, {
    node_id: nodeId,
    modules,
    wait_seconds: 0,
    ...(options.param && { params: options.param }),
    ...(options.timeout !== undefined && { timeout_seconds: options.timeout }),
    ...(options.allowEmpty && { allow_empty: true }),
  });
  return exitCodeOf([await follow(call, machine, operation_id)]);
}

/** Shows each resource as it is done, until the operation has ended; a signal ends it after the change in progress. */
async function follow(call: CommandCall, machine: LocalMachine, operation_id: string): Promise<Operation> {
  const { operations } = machine.orchestrator;
  const isLive = call.options.json !== true;
  const progress = new LiveProgress(() => []);
  const done = new AbortController();
  const interrupting = call.context.untilStopped(done.signal).then(() => machine.interrupt());
  try {
    for await (const { item } of operations.watch(systemCaller, { operation_id })) {
      if (isLive) call.context.stdout(progress.tell(item));
    }
  } finally {
    done.abort();
    await interrupting;
  }
  const operation = await operations.get(systemCaller, { operation_id });
  if (!isLive) call.show(operation, () => describeOperation(operation));
  return operation;
}

/** Compares this machine with what was applied last. */
export async function checkLocalDrift(call: CommandCall, options: LocalOptions): Promise<ExitCode> {
  await using machine = await open(call, options);
  const { orchestrator, nodeId } = machine;
  const drift = await orchestrator.drift.check(systemCaller, { node_id: nodeId, wait_seconds: 300 });
  const { name = nodeId } = await orchestrator.agents.get(systemCaller, { node_id: nodeId });
  call.show(drift, () => describeDrift(name, drift));
  if (drift.status === "in_sync") return exitCode.ok;
  return drift.status === "drifted" ? exitCode.differs : exitCode.failure;
}

import { join, resolve } from "node:path";
import { isOrchestratorError, OrchestratorError, systemCaller } from "fleetwright";
import type { Operation, OperationDetail } from "fleetwright";
import { askerOf } from "../ask.ts";
import type { CommandCall } from "../call.ts";
import { exitCode } from "../context.ts";
import type { ExitCode } from "../context.ts";
import { UsageError } from "../failure.ts";
import { LiveProgress } from "../live-progress.ts";
import type { LogLevel } from "../log-level.ts";
import type { ParamOptions, TagOptions } from "../options.ts";
import { homeFolder } from "../profile.ts";
import { readText } from "../read-text.ts";
import { agreeToRemovals } from "../removals.ts";
import { uploadRequiredFirst } from "../required-first.ts";
import { describeDrift, describeOperation } from "../show-results.ts";
import { exitCodeOf, isTold } from "../wait.ts";
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
  yes?: boolean;
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
  await desire(machine, { files, texts, params: options.param });
  await orchestrator.agents.tags.replace(systemCaller, { node_id: nodeId, tags: options.tag ?? {} });
  const input = {
    node_id: nodeId,
    ...(options.timeout !== undefined && { timeout_seconds: options.timeout }),
  };
  if (kind === "plan") {
    const begun = await orchestrator.operations.plan(systemCaller, { ...input, wait_seconds: 0 });
    return await followOne(call, machine, begun);
  }
  const ask = askerOf(call, options.yes);
  const plan = ask && (await foresee(machine, input));
  if (plan && !isTold(plan)) {
    call.show(plan, () => describeOperation(plan));
    return exitCodeOf([plan]);
  }
  const agreed = ask && plan && (await agreeToRemovals(ask, plan, options));
  const begun = await orchestrator.operations.apply(systemCaller, {
    ...input,
    ...agreed,
    wait_seconds: 0,
    ...(options.allowEmpty && { allow_empty: true }),
  });
  return await followOne(call, machine, begun);
}

async function followOne(
  call: CommandCall,
  machine: LocalMachine,
  { operation_id }: Operation,
): Promise<ExitCode> {
  return exitCodeOf([await follow(call, machine, operation_id)]);
}

/** What an apply would do. Every operation ends. */
async function foresee(
  { orchestrator: { operations } }: LocalMachine,
  input: { node_id: string; timeout_seconds?: number },
): Promise<OperationDetail> {
  const { operation_id } = await operations.plan(systemCaller, { ...input, wait_seconds: 0 });
  for await (const { item } of operations.watch(systemCaller, { operation_id }))
    if (item.type === "ended") break;
  return operations.get(systemCaller, { operation_id });
}

/**
 * The files are all that is desired: one assignment brings them. That of the run before goes first, so that it has no say in what may
 * be uploaded.
 */
async function desire(
  machine: LocalMachine,
  { files, texts, params = {} }: { files: string[]; texts: string[]; params: ParamOptions | undefined },
): Promise<void> {
  const { assignments } = machine.orchestrator;
  const name = "local";
  const { items } = await assignments.list(systemCaller);
  if (items.some((assignment) => assignment.name === name)) await assignments.remove(systemCaller, { name });
  const modules = await upload(machine, files, texts);
  if (modules.length > 0) await assignments.create(systemCaller, { name, selector: "*", modules, params });
}

/** Uploads what the files say. Resolves with the names of the modules, in order. */
async function upload({ orchestrator }: LocalMachine, files: string[], texts: string[]): Promise<string[]> {
  const names: string[] = [];
  const uploaded: (string | undefined)[] = [];
  const take = async (index: number): Promise<void> => {
    const content = texts[index]!;
    const { name } = await orchestrator.modules.upload(systemCaller, { content }).catch((error: unknown) => {
      throw isOrchestratorError(error, "MODULE_INVALID") ? inFile(files[index], error) : error;
    });
    // The later would be a revision of the former, and nothing of the former would be desired.
    const same = uploaded[names.indexOf(name)];
    if (same !== undefined) throw new UsageError(`${same} and ${files[index]} both are the module ${name}.`);
    names.push(name);
    uploaded.push(files[index]);
  };
  await uploadRequiredFirst([...texts.keys()], take, isOfRequirements);
  return names;
}

function isOfRequirements(error: unknown): boolean {
  if (!isOrchestratorError(error, "MODULE_INVALID") || error.issues.length === 0) return false;
  return error.issues.every(({ path }) => path[0] === "requires");
}

function inFile(file: string | undefined, { code, message, issues }: OrchestratorError): OrchestratorError {
  return new OrchestratorError(code, { message: `${file}: ${message}`, issues: [...issues] });
}

/** Shows each resource as it is done, until the operation has ended; a signal ends it after the change in progress. */
async function follow(call: CommandCall, machine: LocalMachine, operation_id: string): Promise<Operation> {
  const { operations } = machine.orchestrator;
  const isLive = call.options.json !== true;
  const progress = new LiveProgress(() => []);
  const done = new AbortController();
  const interrupting = call.context.untilStopped(done.signal).then(() => machine.interrupt(call.context));
  try {
    for await (const { item } of operations.watch(systemCaller, { operation_id })) {
      if (isLive) call.context.stdout(call.paint.results(progress.tell(item)));
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

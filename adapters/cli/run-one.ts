/** A plan or an apply of one machine. */
import type { Operation, OperationDetail } from "fleetwright";
import { ApiError } from "../client/api-error.ts";
import type { PlanInput, RunInput } from "../client/inputs.ts";
import { askerOf } from "./ask.ts";
import type { CommandCall } from "./call.ts";
import type { ExitCode } from "./context.ts";
import { staleHint, UsageError } from "./failure.ts";
import { findAgent } from "./find-agent.ts";
import { findOperation } from "./find-id.ts";
import { whileGoingOn } from "./going-on.ts";
import { LiveProgress } from "./live-progress.ts";
import type { ParamOptions } from "./options.ts";
import { agreeToRemovals, nothingRemoved } from "./removals.ts";
import type { Agreed } from "./removals.ts";
import { describeOperation } from "./show-results.ts";
import { toLines } from "./text.ts";
import { awaitOperation, exitCodeOf, isTold } from "./wait.ts";

/** Options of `fleetwright plan` and `fleetwright apply`. */
export interface RunOptions {
  module?: string[];
  removeModule?: string[];
  param?: ParamOptions;
  plan?: string;
  timeout?: number;
  queue?: boolean;
  allowEmpty?: boolean;
  maxRemovals?: number;
  overrideWindow?: true;
  yes?: boolean;
  wait: boolean;
}

/** Plans or applies; an apply asks first where it would remove something and somebody is there to ask. */
export async function runOne(
  call: CommandCall,
  { kind, agent, options: typed }: { kind: "plan" | "apply"; agent: string | undefined; options: RunOptions },
): Promise<ExitCode> {
  const { client } = call;
  const plan_id = typed.plan === undefined ? {} : { plan: await findOperation(client, typed.plan) };
  const options = { ...typed, ...plan_id };
  const node_id = await findMachine(call, agent, options.plan);

  const isLive = options.wait && call.options.json !== true;
  if (kind === "plan") {
    const begun = await client.state.plan(node_id, { ...toPlanInput(options), wait_seconds: 0 });
    return follow(call, begun, { isLive, waits: options.wait });
  }
  // A plan that is named says itself what goes.
  const ask = options.plan === undefined ? askerOf(call, options.yes) : null;
  let input = toApplyInput(options);
  if (ask) {
    const plan = await foresee(call, node_id, options);
    if (plan && !isTold(plan)) {
      call.show(plan, () => describeOperation(plan));
      return exitCodeOf([plan]);
    }
    input = toAgreedInput(options, plan ? await agreeToRemovals(ask, plan, options) : nothingRemoved);
  }
  const begun = await client.state.apply(node_id, { ...input, wait_seconds: 0 });
  return follow(call, begun, { isLive, waits: options.wait });
}

/** Shows how an operation goes on until it has ended, from its beginning; as JSON, what it came to. */
export function watchOperation(call: CommandCall, operation_id: string): Promise<ExitCode> {
  return follow(call, { operation_id }, { isLive: call.options.json !== true, waits: true });
}

/** What an apply with these options would do; null where it waits for an agent that is not there. */
async function foresee(
  call: CommandCall,
  nodeId: string,
  options: RunOptions,
): Promise<OperationDetail | null> {
  const { client, context } = call;
  // Whoever sits here does not wait for an agent to come: the apply does.
  const { when_offline: _, ...input } = toPlanInput(options);
  try {
    const { operation_id } = await client.state.plan(nodeId, { ...input, wait_seconds: 0 });
    return await awaitOperation(call, operation_id, true);
  } catch (error) {
    const isAway = error instanceof ApiError && error.code === "AGENT_OFFLINE";
    if (!isAway || options.queue !== true) throw error;
    context.stderr(
      "The agent is away, so nobody knows what would be removed: this removes nothing (--yes lets it).\n",
    );
    return null;
  }
}

/** The machine that is named, or that of the plan. */
async function findMachine({ client }: CommandCall, agent?: string, plan?: string): Promise<string> {
  if (agent !== undefined) return (await findAgent(client, agent)).node_id;
  if (plan === undefined) throw new UsageError("Name an agent, or a plan with --plan.");
  return (await client.operations.get(plan)).node_id;
}

async function follow(
  call: CommandCall,
  { operation_id }: Pick<Operation, "operation_id">,
  { isLive, waits }: { isLive: boolean; waits: boolean },
): Promise<ExitCode> {
  const show = (): Promise<Operation> =>
    isLive ? showLive(call, operation_id) : showEnd(call, operation_id, waits);
  const operation = await whileGoingOn(call, { kind: "operation", id: operation_id }, show);
  if (operation.error?.code === "PLAN_STALE") call.context.stderr(toLines([staleHint]));
  return exitCodeOf([operation]);
}

async function showEnd(call: CommandCall, operationId: string, waits: boolean): Promise<Operation> {
  const operation = await awaitOperation(call, operationId, waits);
  call.show(operation, () => call.paint.results(describeOperation(operation)));
  return operation;
}

/** Shows each resource as it is done and what scripts print, until the operation has ended. */
async function showLive(call: CommandCall, operationId: string): Promise<Operation> {
  const progress = new LiveProgress();
  for await (const item of call.client.operations.watch(operationId)) {
    call.context.stdout(call.paint.results(progress.tell(item)));
    if (item.type === "ended") return item.operation;
  }
  return call.client.operations.get(operationId);
}

function toPlanInput(options: RunOptions): PlanInput {
  const { module: modules, removeModule: remove_modules, param: params, timeout, queue } = options;
  return {
    ...(modules && { modules }),
    ...(remove_modules && { remove_modules }),
    ...(params && { params }),
    ...(timeout !== undefined && { timeout_seconds: timeout }),
    ...(queue && { when_offline: "queue" }),
  };
}

function toApplyInput(options: RunOptions): RunInput {
  const { plan, allowEmpty, maxRemovals, overrideWindow } = options;
  return {
    ...toPlanInput(options),
    ...(plan !== undefined && { plan_id: plan }),
    ...(allowEmpty && { allow_empty: true }),
    ...(maxRemovals !== undefined && { max_removals: maxRemovals }),
    ...(overrideWindow && { override_window: true }),
  };
}

function toAgreedInput(options: RunOptions, agreed: Agreed): RunInput {
  const { module: _1, removeModule: _2, param: _3, ...others } = options;
  return { ...toApplyInput("plan_id" in agreed ? others : options), ...agreed };
}

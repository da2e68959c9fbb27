/** A plan or an apply of an assignment, on every agent that it matches. */
import type { Operation, OperationDetail, RolloutDetail, RolloutMember, RolloutStrategy } from "fleetwright";
import type { Client } from "fleetwright/client";
import { askerOf, confirm, firstLines } from "./ask.ts";
import type { Ask } from "./ask.ts";
import { collect } from "./call.ts";
import type { CommandCall } from "./call.ts";
import { exitCode } from "./context.ts";
import type { ExitCode } from "./context.ts";
import { toStrategy } from "./rollout-options.ts";
import type { StrategyOptions } from "./rollout-options.ts";
import { countOf, describeCounts, describeOperation, describeTotals } from "./show-results.ts";
import { toLine, toLines } from "./text.ts";
import { awaitOperation, awaitRollout, exitCodeOf, firstWaitSeconds, isTold, isUnfinished } from "./wait.ts";

/** Options of `fleetwright assignments apply`. */
export interface AssignmentRunOptions extends StrategyOptions {
  yes?: boolean;
  overrideWindow?: true;
  wait: boolean;
}

/** Tells what an apply would do, agent by agent. */
export async function planAssignment(
  call: CommandCall,
  name: string,
  { wait }: { wait: boolean },
): Promise<ExitCode> {
  const wait_seconds = wait ? firstWaitSeconds : 0;
  return follow(call, await call.client.assignments.plan(name, { wait_seconds }), wait);
}

/** Applies; asks first where it is about more than one agent or would remove something, and somebody is there to ask. */
export async function applyAssignment(
  call: CommandCall,
  name: string,
  { wait, yes, overrideWindow, ...options }: AssignmentRunOptions,
): Promise<ExitCode> {
  const ask = askerOf(call, yes);
  const strategy = toStrategy(options);
  const rollout = ask ? await agree(call, ask, { name, strategy }) : strategy;
  const input = {
    wait_seconds: wait ? firstWaitSeconds : 0,
    ...(rollout && { rollout }),
    ...(overrideWindow && { override_window: true }),
  };
  return follow(call, await call.client.assignments.apply(name, input), wait);
}

/** Has somebody agree, and gets a strategy by which no agent removes more than the one that was seen to remove most. */
async function agree(
  call: CommandCall,
  ask: Ask,
  { name, strategy }: { name: string; strategy: RolloutStrategy | undefined },
): Promise<RolloutStrategy> {
  const { client, context } = call;
  const bound = strategy?.max_removals ?? (await client.assignments.get(name)).rollout?.max_removals;
  const begun = await client.assignments.plan(name, { wait_seconds: firstWaitSeconds });
  const preview = await awaitRollout(client, begun, true);
  const ofPreview = { rollout_id: preview.rollout_id, limit: Infinity };
  const told = (await collect(client.operations.list, ofPreview)).items.filter(isTold);
  const removing = told.filter(({ counts }) => counts.removed > 0);
  const most = removing.reduce((before, { counts }) => Math.max(before, counts.removed), 0);
  const dark = describeDark(preview.matched - told.length, most);
  if (preview.matched > 1 || removing.length > 0) {
    await confirm(ask, {
      told: [
        toLine(`${name}: ${countOf(preview.matched, "agent")}, ${describeTotals(told)}`),
        ...firstLines(removing.map(describeOne)),
        ...dark,
      ],
      question: `Apply on ${countOf(preview.matched, "agent")}${describeRemovals(removing, preview.matched)}?`,
      otherwise: "Nothing was changed.",
    });
  } else {
    context.stderr(toLines(dark));
  }
  return { ...strategy, max_removals: Math.min(most, bound ?? most) };
}

/** Agents whose plan says nothing, such as those that are away. */
function describeDark(agents: number, most: number): string[] {
  if (agents === 0) return [];
  const limit = most === 0 ? "nothing" : `no more than ${most}`;
  return [`  ${countOf(agents, "agent")} could not be planned on; an apply there removes ${limit}`];
}

function describeOne({ agent_name, counts }: Operation): string {
  return toLine(`  ${agent_name}: ${describeCounts(counts)}`);
}

function describeRemovals(removing: readonly Operation[], matched: number): string {
  const removed = removing.reduce((sum, { counts }) => sum + counts.removed, 0);
  if (removed === 0) return "";
  const where = matched === 1 ? "" : ` on ${removing.length} of them`;
  return ` and remove ${countOf(removed, "resource")}${where}`;
}

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
  const { assignment, kind, matched } = rollout;
  const succeeded = operations.filter(({ status }) => status === "succeeded").length;
  const lines = refused.map(({ name, error }) => toLine(`${name}: ${error?.code}: ${error?.message}`));
  const told = rollout.reason === undefined ? [] : [toLine(rollout.reason)];
  const totals = isUnfinished(rollout) ? [] : [`${assignment}: ${describeTotals(operations)}`];
  const summary = `${assignment}: ${kind} succeeded on ${succeeded} of ${matched} agents`;
  return operations.map(describeOperation).join("") + toLines([...lines, ...told, ...totals, summary]);
}

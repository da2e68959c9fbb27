/** A plan or an apply of an assignment, on every agent that it matches. */
import type { RolloutDetail, RolloutGroup, RolloutStrategy } from "fleetwright";
import type { Client } from "fleetwright/client";
import { askerOf, confirm, firstLines } from "./ask.ts";
import type { Ask } from "./ask.ts";
import { collect } from "./call.ts";
import type { CommandCall } from "./call.ts";
import { exitCode } from "./context.ts";
import type { ExitCode } from "./context.ts";
import { findRollout } from "./find-id.ts";
import { whileGoingOn } from "./going-on.ts";
import { toStrategy } from "./rollout-options.ts";
import type { StrategyOptions } from "./rollout-options.ts";
import { describeGroups, describeMembers, describeRecap, describeTotals } from "./show-groups.ts";
import type { Grouped } from "./show-groups.ts";
import { countOf, describeCounts } from "./show-results.ts";
import { toLine, toLines } from "./text.ts";
import { awaitRollout, isUnfinished } from "./wait.ts";

/** Options of `fleetwright assignments apply`. */
export interface AssignmentRunOptions extends StrategyOptions {
  yes?: boolean;
  plan?: string;
  overrideWindow?: true;
  wait: boolean;
}

/** Groups that are shown; there are rarely more than some. */
const mostGroups = 50;

/** Tells what an apply would do, agents with equal changes together. */
export async function planAssignment(
  call: CommandCall,
  name: string,
  { wait }: { wait: boolean },
): Promise<ExitCode> {
  return follow(call, await call.client.assignments.plan(name, { wait_seconds: 0, show_agents: 0 }), wait);
}

/** Applies; asks first where it is about more than one agent or would remove something, and somebody is there to ask. */
export async function applyAssignment(
  call: CommandCall,
  name: string,
  { wait, yes, plan: typed, overrideWindow, ...options }: AssignmentRunOptions,
): Promise<ExitCode> {
  const plan = typed === undefined ? undefined : await findRollout(call.client, typed);
  const ask = askerOf(call, yes);
  const strategy = toStrategy(options);
  if (ask && plan !== undefined) await agreeToPlan(call, ask, { name, plan });
  const rollout = ask && plan === undefined ? await agree(call, ask, { name, strategy }) : strategy;
  const input = {
    wait_seconds: 0,
    show_agents: 0,
    ...(plan !== undefined && { plan_rollout_id: plan }),
    ...(rollout && { rollout }),
    ...(overrideWindow && { override_window: true }),
  };
  return follow(call, await call.client.assignments.apply(name, input), wait);
}

/** Shows a rollout as it is: its groups and what all agents came to. */
export async function showRollout(call: CommandCall, rollout: RolloutDetail): Promise<ExitCode> {
  const grouped = await readGroups(call.client, rollout);
  const { operations: _1, truncated: _2, ...shown } = rollout;
  const { groups, further } = grouped;
  call.show({ ...shown, groups, further }, () => describeGroups(rollout, grouped) + describeRecap(rollout));
  return exitCodeOfRollout(rollout);
}

/** What the end of a rollout means for whoever called the command. */
export function exitCodeOfRollout(rollout: RolloutDetail): ExitCode {
  if (isUnfinished(rollout)) return exitCode.unfinished;
  const { kind, counts, matched, recap } = rollout;
  if ((counts["succeeded"] ?? 0) < matched) return exitCode.failure;
  return kind === "plan" && (recap?.changed ?? 0) > 0 ? exitCode.differs : exitCode.ok;
}

async function follow(call: CommandCall, begun: RolloutDetail, wait: boolean): Promise<ExitCode> {
  const rollout = await whileGoingOn(call, { kind: "rollout", id: begun.rollout_id }, () =>
    awaitRollout(call, begun, wait),
  );
  return showRollout(call, rollout);
}

async function readGroups(client: Client, { rollout_id, recap }: RolloutDetail): Promise<Grouped> {
  const { items, next_cursor } = await groupsOf(client, rollout_id, { limit: mostGroups });
  const shown = items.reduce((sum, { count }) => sum + count, 0);
  // Those that were not begun yet are in no group.
  const { changed = 0, unchanged = 0, failed = 0, stale = 0, cancelled = 0, unknown = 0 } = recap ?? {};
  const grouped = changed + unchanged + failed + stale + cancelled + unknown;
  return { groups: items, further: next_cursor === null ? 0 : Math.max(0, grouped - shown) };
}

function groupsOf(
  client: Client,
  rolloutId: string,
  query: { limit: number; show_resources?: number },
): ReturnType<Client["rollouts"]["changes"]> {
  return collect((page: object) => client.rollouts.changes(rolloutId, page), query);
}

/** Has somebody agree, and gets a strategy by which no agent removes more than the one that was seen to remove most. */
async function agree(
  call: CommandCall,
  ask: Ask,
  { name, strategy }: { name: string; strategy: RolloutStrategy | undefined },
): Promise<RolloutStrategy> {
  const { client, context } = call;
  const bound = strategy?.max_removals ?? (await client.assignments.get(name)).rollout?.max_removals;
  const begun = await client.assignments.plan(name, { wait_seconds: 0, show_agents: 0 });
  const preview = await awaitRollout(call, begun, true);
  const { told, removing, unplanned } = await lookAt(client, preview);
  const most = removing.reduce((before, { counts }) => Math.max(before, counts.removed), 0);
  const dark = describeDark(preview.matched - told, { most, unplanned });
  if (preview.matched > 1 || removing.length > 0) {
    await confirm(ask, {
      told: [...describePreview(name, preview, removing), ...dark],
      question: questionAbout(preview),
      otherwise: "Nothing was changed.",
    });
  } else {
    context.stderr(toLines(dark));
  }
  return { ...strategy, max_removals: Math.min(most, bound ?? most) };
}

/** Has somebody agree to a plan that is there. */
async function agreeToPlan(
  { client }: CommandCall,
  ask: Ask,
  { name, plan }: { name: string; plan: string },
): Promise<void> {
  const preview = await client.rollouts.get(plan, { show_agents: 0 });
  const { kind, assignment, status } = preview;
  // The server says why it can't be applied: nobody is asked about what would be refused after a yes.
  if (kind !== "plan" || assignment !== name || (status !== "succeeded" && status !== "partial")) return;
  const { removing } = await lookAt(client, preview);
  if (preview.matched < 2 && removing.length === 0) return;
  await confirm(ask, {
    told: describePreview(name, preview, removing),
    question: questionAbout(preview),
    otherwise: "Nothing was changed.",
  });
}

/** On how many agents a plan tells what an apply would do, and the groups of those that it would remove something from or tells nothing of. */
async function lookAt(
  client: Client,
  { rollout_id, recap }: RolloutDetail,
): Promise<Record<"removing" | "unplanned", RolloutGroup[]> & { told: number }> {
  const { changed = 0, unchanged = 0, failed = 0, removing = 0 } = recap ?? {};
  if (failed + removing === 0) return { told: changed + unchanged, removing: [], unplanned: [] };
  const { items } = await groupsOf(client, rollout_id, { limit: Infinity, show_resources: 0 });
  // One that failed somewhere tells the rest.
  const partly = items.filter(({ outcome, error }) => outcome === "failed" && !error);
  return {
    told: partly.reduce((sum, { count }) => sum + count, changed + unchanged),
    removing: items.filter(({ counts }) => counts.removed > 0),
    unplanned: items.filter(({ error }) => error !== undefined),
  };
}

function describePreview(
  name: string,
  { matched, recap }: RolloutDetail,
  removing: readonly RolloutGroup[],
): string[] {
  const totals = recap ? describeTotals(recap, recap.failed === 0) : "";
  const lines = removing.map((group) => `  ${describeMembers(group)}: ${describeCounts(toCounts(group))}`);
  return [toLine(`${name}: ${countOf(matched, "agent")}, ${totals}`), ...firstLines(lines)];
}

function toCounts({ counts }: RolloutGroup): Parameters<typeof describeCounts>[0] {
  return { ...counts, total: 0, unchanged: 0, skipped: 0 };
}

/** Agents whose plan says nothing, such as those that are away, and why. */
function describeDark(
  agents: number,
  { most, unplanned }: { most: number; unplanned: readonly RolloutGroup[] },
): string[] {
  if (agents === 0) return [];
  const limit = most === 0 ? "nothing" : `no more than ${most}`;
  const reasons = unplanned.map((group) =>
    toLine(`    ${describeMembers(group)}: ${group.error?.code}: ${group.error?.message}`),
  );
  const line = `  ${countOf(agents, "agent")} could not be planned on; an apply there removes ${limit}`;
  return [line, ...firstLines(reasons)];
}

function questionAbout({ matched, recap }: RolloutDetail): string {
  const removed = recap?.resources.removed ?? 0;
  const where = matched === 1 ? "" : ` on ${recap?.removing} of them`;
  const removals = removed === 0 ? "" : ` and remove ${countOf(removed, "resource")}${where}`;
  return `Apply on ${countOf(matched, "agent")}${removals}?`;
}

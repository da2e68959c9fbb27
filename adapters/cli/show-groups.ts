/** What a rollout came to, for people: agents with equal changes together, and how many there are of each end. */
import type { Recap, RolloutDetail, RolloutGroup } from "fleetwright";
import { countOf, describeCounts, describeResults } from "./show-results.ts";
import { toLine, toLines } from "./text.ts";

/** Names of agents that a group shows. */
const shownAgents = 5;

/** Groups of a rollout as they were read, and of how many agents the rest is. */
export interface Grouped {
  groups: readonly RolloutGroup[];
  /** Agents of groups that are not among them. */
  further: number;
}

/** The groups, smallest first, each with what is the same on all of its agents. */
export function describeGroups({ kind, rollout_id }: RolloutDetail, { groups, further }: Grouped): string {
  const rest = `${countOf(further, "agent")} in further groups: fleetwright rollouts changes ${rollout_id}`;
  return toLines([...groups.flatMap((group) => describeGroup(kind, group)), ...(further > 0 ? [rest] : [])]);
}

function describeGroup(kind: string, group: RolloutGroup): string[] {
  const { status, error, counts, outcome, resources, truncated } = group;
  const told = { ...counts, total: 0, unchanged: 0, skipped: 0 };
  const ended = status === "succeeded" || resources.length > 0 ? ` (${describeCounts(told)})` : "";
  const end = outcome === "stale" ? "left out" : `${kind} ${status}`;
  const why = error ? `: ${error.code}: ${error.message}` : "";
  return [
    `${describeMembers(group)}: ${toLine(`${end}${ended}${why}`)}`,
    ...describeResults(resources),
    ...(truncated ? ["  (more is not shown)"] : []),
  ];
}

/** The agents of a group: "web-1", or "7 the same: web-1, web-2, web-3, web-4, web-5 and 2 more". */
export function describeMembers({ count, agents }: Pick<RolloutGroup, "count" | "agents">): string {
  const names = agents.slice(0, shownAgents).map(({ name }) => toLine(name));
  const more = count > names.length ? ` and ${count - names.length} more` : "";
  return `${count > 1 ? `${count} the same: ` : ""}${names.join(", ")}${more}`;
}

/** The lines at the end: why it was stopped, who was left alone, and what all agents came to. */
export function describeRecap(rollout: RolloutDetail): string {
  const { assignment, kind, matched, counts, reason, unplanned, recap, rollout_id } = rollout;
  const name = toLine(assignment ?? "");
  const succeeded = counts["succeeded"] ?? 0;
  const isOver = rollout.finished_at !== undefined;
  const isUsable = rollout.status === "succeeded" || rollout.status === "partial";
  const hasPlanned = isUsable && kind === "plan" && succeeded > 0 && (recap?.changed ?? 0) > 0;
  return toLines([
    ...(unplanned ? [describeUnplanned(name, unplanned)] : []),
    ...(reason === undefined ? [] : [toLine(reason)]),
    ...(recap ? [`${name}: ${describeOutcomes(rollout, recap)}`] : []),
    ...(recap && isOver ? [`${name}: resources: ${describeTotals(recap, succeeded === matched)}`] : []),
    `${name}: ${isOver ? kind : `${kind} ${rollout.status},`} succeeded on ${succeeded} of ${countOf(matched, "agent")}`,
    // Whoever did not wait for its end looks for it by this.
    ...(isOver ? [] : [`  rollout ${rollout_id}`]),
    ...(hasPlanned
      ? [`  apply exactly this: fleetwright assignments apply ${name} --plan ${rollout_id}`]
      : []),
  ]);
}

/** The resources of all agents, e.g. "3 to remove on 2 agents, 1 to change". */
export function describeTotals({ resources, removing }: Recap, isWhole: boolean): string {
  if (resources.total === 0 && !isWhole) return "no results";
  return describeCounts(resources, ` on ${countOf(removing, "agent")}`);
}

function describeOutcomes({ kind, matched }: RolloutDetail, recap: Recap): string {
  const told: [count: number, what: string][] = [
    [recap.changed, kind === "plan" ? "to change" : "changed"],
    [recap.unchanged, "unchanged"],
    [recap.failed, "failed"],
    [recap.stale, "left out, since the plan is not true there any more"],
    [recap.cancelled, "cancelled"],
    [recap.unknown, "not heard of"],
  ];
  const ended = told.reduce((sum, [count]) => sum + count, 0);
  const some = [...told, [matched - ended, "not ended, or never begun"] as const].filter(
    ([count]) => count > 0,
  );
  return `${countOf(matched, "agent")}: ${some.map(([count, what]) => `${count} ${what}`).join(", ")}`;
}

function describeUnplanned(
  assignment: string,
  { count, agents }: NonNullable<RolloutDetail["unplanned"]>,
): string {
  const names = agents.map(({ name }) => toLine(name)).join(", ");
  const more = count > agents.length ? ` and ${count - agents.length} more` : "";
  return `${assignment}: ${countOf(count, "agent")} not in the plan, left alone: ${names}${more}`;
}

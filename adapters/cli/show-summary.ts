/** The fleet in one look, for people. */
import type { Attention, AttentionKind, Summary } from "fleetwright";
import { toFacts, toLines, toTable } from "./text.ts";
import type { Column } from "./text.ts";

/** Counts of the fleet, then what needs somebody, worst first; `isWell` says whether the server itself needs nobody. */
export function describeSummary({ agents, last_apply, drift, ...summary }: Summary, isWell: boolean): string {
  const { rollouts, operations, attention } = summary;
  return (
    toFacts([
      [
        "agents",
        `${agents.approved} approved, ${agents.connected} connected, ${agents.away} away, ${agents.pending} waiting`,
      ],
      ["last apply", describeCounts(last_apply)],
      ["drift", describeCounts(drift)],
      ["operations", `${operations.running} running, ${operations.queued} queued`],
      ["rollouts", `${rollouts.running} running, ${rollouts.paused} paused`],
    ]) +
    toLines([""]) +
    (attention.length === 0
      ? toLines([isWell ? "Nothing needs you." : "The server needs you: see its checks above."])
      : toLines(["Needs you:"]) + toTable(attention, columns))
  );
}

/** What each is called, the command that shows more, and that its count is not one of agents. */
const kinds: Readonly<Record<AttentionKind, { what: string; see: string; isOfOther?: true }>> = {
  alarms: { what: "alarms", see: "alarms", isOfOther: true },
  failed_applies: {
    what: "agents whose last apply failed",
    see: "agents list --status approved --last-apply unsuccessful",
  },
  unknown_operations: {
    what: "operations nobody knows the end of",
    see: "operations list --status unknown",
    isOfOther: true,
  },
  away_agents: { what: "agents away", see: "agents list --status approved --disconnected" },
  drifted_agents: { what: "agents that drifted", see: "drift --status drifted" },
  failed_drift_checks: { what: "agents whose drift check failed", see: "drift --status failed" },
  paused_rollouts: { what: "rollouts paused", see: "rollouts list --status paused", isOfOther: true },
  pending_agents: { what: "agents waiting for approval", see: "agents list --status pending" },
};

const columns: readonly Column<Attention>[] = [
  ["SEVERITY", ({ severity }) => severity],
  ["COUNT", ({ count }) => count],
  ["WHAT", ({ kind }) => nameOf(kind).what],
  ["AGENTS", describeAgents],
  ["SEE", ({ kind }) => nameOf(kind).see],
];

/** A newer server may tell of what this program has no words for. */
function nameOf(kind: AttentionKind): { what: string; see: string | undefined; isOfOther?: true } {
  return Object.hasOwn(kinds, kind) ? kinds[kind] : { what: kind, see: undefined, isOfOther: true };
}

/** How many agents a server names at most. */
const mostNamed = 5;

/** Several alarms may be of one agent: of these there may be more agents only where as many are named as ever are. */
function describeAgents({ agents, count, kind }: Attention): string | undefined {
  if (agents.length === 0) return undefined;
  const names = agents.map(({ name }) => name).join(", ");
  const mayBeAll = nameOf(kind).isOfOther && agents.length < mostNamed;
  return agents.length < count && !mayBeAll ? `${names}, ...` : names;
}

function describeCounts(counts: Partial<Record<string, number>>): string {
  const present = Object.entries(counts).map(([status, count]) => `${count} ${status.replaceAll("_", " ")}`);
  return present.length === 0 ? "none yet" : present.join(", ");
}

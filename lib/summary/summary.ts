import type { AgentQuery } from "../agents/agent-lookups.ts";
import type { AgentService } from "../agents/agent-service.ts";
import type { Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { severities } from "../events.ts";
import type { OperationService } from "../operations/operation-service.ts";
import type { RolloutService } from "../rollouts/rollout-service.ts";
import type { ThresholdService } from "../thresholds/threshold-service.ts";
import type { Attention, Summary } from "./schemas.ts";

interface Features {
  agents: AgentService;
  operations: OperationService;
  rollouts: RolloutService;
  thresholds: ThresholdService;
}

/** What there is, and of how many agents the newest apply did not succeed. */
type Counts = Omit<Summary, "attention"> & { unsuccessful: number };

/** How many agents each thing that needs somebody names. */
const mostNamed = 5;

/** The fleet in one look. */
export class FleetSummary {
  readonly #context: Context;
  readonly #features: Features;

  constructor(context: Context, features: Features) {
    this.#context = context;
    this.#features = features;
  }

  /** Counts what there is, and what needs somebody. Reads no agents but those that it names, and goes through what is under way. */
  async get(caller: Caller): Promise<Summary> {
    await this.#context.authorize(caller, "summary.get");
    const { unsuccessful, ...counts } = await this.#count();
    return { ...counts, attention: await this.#attention({ ...counts, unsuccessful }) };
  }

  async #count(): Promise<Counts> {
    const { agents, operations, rollouts, thresholds } = this.#features;
    const { queued = 0, running = 0 } = operations.store.unsettledCounts();
    const open = { running: 0, paused: 0, stopping: 0 };
    for await (const { status } of rollouts.store.open())
      if (status in open) open[status as keyof typeof open] += 1;
    return {
      agents: {
        ...agents.registry.counts(),
        connected: agents.presence.count,
        away: await agents.countAway(),
      },
      ...agents.findings.counts(),
      operations: { queued, running, unknown: this.#agentsOfUnknown().length },
      rollouts: open,
      alarms: thresholds.alarmCounts(),
    };
  }

  /** What needs somebody, worst first; within a severity in the order in which people look. */
  async #attention(counts: Counts): Promise<Attention[]> {
    const { agents, drift, operations, rollouts, alarms } = counts;
    const found: Omit<Attention, "agents">[] = [
      ...severities.map((severity) => ({ kind: "alarms" as const, severity, count: alarms[severity] })),
      {
        kind: "failed_applies",
        severity: "critical",
        count: counts.unsuccessful,
      },
      { kind: "unknown_operations", severity: "warning", count: operations.unknown },
      { kind: "away_agents", severity: "warning", count: agents.away },
      { kind: "drifted_agents", severity: "warning", count: drift.drifted ?? 0 },
      { kind: "failed_drift_checks", severity: "warning", count: drift.failed ?? 0 },
      { kind: "paused_rollouts", severity: "warning", count: rollouts.paused },
      { kind: "pending_agents", severity: "info", count: agents.pending },
    ];
    const rank = ({ severity }: Pick<Attention, "severity">): number => severities.indexOf(severity);
    const needed = found.filter(({ count }) => count > 0).toSorted((a, b) => rank(b) - rank(a));
    const named: Attention[] = [];
    for (const each of needed) named.push({ ...each, agents: await this.#agentsOf(each) });
    return named;
  }

  /** Some of the agents that something is about, by their names. */
  async #agentsOf({ kind, severity }: Pick<Attention, "kind" | "severity">): Promise<Attention["agents"]> {
    const { agents, thresholds } = this.#features;
    const nodeIds = await {
      alarms: () => thresholds.alarmedAgents(severity, mostNamed),
      failed_applies: () => this.#firstOf({ last_apply: "unsuccessful" }),
      unknown_operations: () => [...new Set(this.#agentsOfUnknown())].slice(0, mostNamed),
      away_agents: () => agents.awayAgents(mostNamed),
      drifted_agents: () => this.#firstOf({ drift: "drifted" }),
      failed_drift_checks: () => this.#firstOf({ drift: "failed" }),
      paused_rollouts: () => [],
      pending_agents: () => this.#firstOf({ status: "pending" }),
    }[kind]();
    const described = await agents.describe(nodeIds);
    return described.map(({ node_id, name }) => ({ node_id, name }));
  }

  /** The agent of each unknown operation. One that is not in the fleet any more is never heard, and nobody can do anything about it. */
  #agentsOfUnknown(): string[] {
    const { agents, operations } = this.#features;
    return [...operations.store.unsettledAgents("unknown")].filter((nodeId) =>
      agents.registry.isApproved(nodeId),
    );
  }

  /** The first agents that pass a filter; approved ones where it says nothing else. */
  async #firstOf(filter: AgentQuery): Promise<string[]> {
    const query = { status: "approved" as const, ...filter, limit: mostNamed };
    const { items } = await this.#features.agents.list.page(query);
    return items.map(({ key }) => key);
  }
}

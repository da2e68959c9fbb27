/**
 * How many beginnings and ends of alarms are told one by one: of each agent so many, and of each threshold there fewer, so that one threshold
 * that is too near to what is measured leaves something for others of the machine. Where several spend all of it, others have nothing left
 * here: `AlarmDamping` tells the first alarm of each of them all the same, and that is counted, too. Each process counts for itself.
 */
import type { Clock } from "../clock.ts";
import { hourMs } from "../internal/durations.ts";

/** So many at once, and so many an hour from then on. */
interface Share {
  most: number;
  perHour: number;
}

const ofAgent: Share = { most: 60, perHour: 20 };
const ofThreshold: Share = { most: 20, perHour: 10 };

/** Agents that are remembered; beyond that the one that had no alarm for longest is told one by one again. */
const mostAgents = 10_000;

interface Spent {
  count: number;
  atMs: number;
}

export class TellingBudget {
  readonly #clock: Clock;
  /** By agent, then by threshold, "" being the agent; what was spent of it and has not come back yet. */
  readonly #spent = new Map<string, Map<string, Spent>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many may be told now, of an agent or of one threshold there; less than 0 where more were told than are its due. */
  left(nodeId: string, thresholdId: string | null): number {
    const { most } = shareOf(thresholdId);
    return Math.floor(most - this.spent(nodeId, thresholdId));
  }

  /** How many were told, of an agent or of one threshold there, less what has come back since. */
  spent(nodeId: string, thresholdId: string | null): number {
    const spent = this.#spent.get(nodeId)?.get(thresholdId ?? "");
    if (!spent) return 0;
    const back = ((this.#clock.monotonic() - spent.atMs) * shareOf(thresholdId).perHour) / hourMs;
    return Math.max(0, spent.count - back);
  }

  /** How many amounts are remembered, those of agents and those of their thresholds. */
  get size(): number {
    return [...this.#spent.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** One of a threshold was told. */
  spend(nodeId: string, thresholdId: string): void {
    const all = this.#spent.get(nodeId) ?? new Map<string, Spent>();
    const atMs = this.#clock.monotonic();
    for (const id of [null, thresholdId]) all.set(id ?? "", { count: this.spent(nodeId, id) + 1, atMs });
    // Deleting first moves the agent to the end: the map's order is then the order of last use.
    this.#spent.delete(nodeId);
    this.#spent.set(nodeId, all);
    this.#dropUnspent(nodeId);
    this.#dropOldest();
    if (this.#spent.size > mostAgents) this.#spent.delete(this.#spent.keys().next().value!);
  }

  /** Forgets an agent. */
  forget(nodeId: string): void {
    this.#spent.delete(nodeId);
  }

  /** Drops those that had nothing told for longest, up to the first of which something has not come back yet. */
  #dropOldest(): void {
    for (const nodeId of this.#spent.keys()) {
      this.#dropUnspent(nodeId);
      if (this.#spent.has(nodeId)) return;
    }
  }

  /** Thresholds are removed, and what comes back says nothing any more: neither is kept. */
  #dropUnspent(nodeId: string): void {
    const all = this.#spent.get(nodeId)!;
    for (const id of all.keys()) if (this.spent(nodeId, id === "" ? null : id) === 0) all.delete(id);
    if (all.size === 0) this.#spent.delete(nodeId);
  }
}

function shareOf(thresholdId: string | null): Share {
  return thresholdId === null ? ofAgent : ofThreshold;
}

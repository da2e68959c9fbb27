/**
 * What is kept from beginning: applies and runs of agents that a maintenance window freezes, and all of a rollout that is paused or stops.
 * They stay in line, hold up nobody, and end as all that waits does: cancelled, or expired.
 *
 *   queued ──its turn in the line, and it may not begin──▶ held ──it may again──▶ waits for its turn ──▶ in line again
 *
 * When a freeze ends, or a rollout is resumed, what was held goes on in the order in which it was asked for, evenly over a minute and at most
 * one a second where it is little, and no more of it runs at once than of a rollout. Nothing of this is kept: an operation that waits is looked
 * at before it begins, after a start as well, and is held again where it may not begin then.
 */
import type { Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import type { Freeze, MaintenanceService } from "../maintenance/maintenance-service.ts";
import type { BackgroundWork } from "../upkeep/background-work.ts";
import { heldTooLong, offline, pausedTooLong } from "./conclusions.ts";
import type { OperationDocument } from "./documents.ts";
import type { Lanes } from "./lanes.ts";
import type { OperationStore } from "./operation-store.ts";
import type { Outcome } from "./outcomes.ts";

/** Over how many turns all that was held goes on, and how long each is. */
const turns = 60;
const turnMs = 1_000;

type Operation = Readonly<OperationDocument>;

interface Held {
  operationId: string;
  nodeId: string;
  rolloutId: string | undefined;
  /** Its place among all that was asked for. */
  place: number;
  /** Whether no window keeps it: what is for its rollout alone. */
  isExempt: boolean;
  /** Whether a window keeps it, or did until its turn comes: not where only its rollout was paused. */
  isFrozen: boolean;
}

interface Parts {
  maintenance: MaintenanceService;
  store: OperationStore;
  lanes: Lanes;
  work: BackgroundWork;
  /** Has the next in line of an agent looked at. */
  take: (nodeId: string) => void;
}

export class HeldWork {
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #held = new Map<string, Held>();
  readonly #ofAgents = new Map<string, number>();
  /** How many of each rollout are frozen. */
  readonly #ofRollouts = new Map<string, number>();
  /** Rollouts of which nothing may begin. */
  readonly #keptRollouts = new Set<string>();
  readonly #watchers: ((rolloutId: string) => void)[] = [];
  /** Operations that had their turn, and the agent of each, for as long as they may run. */
  #released = new Map<string, string>();
  /** How many have their turn at once. */
  #pace = 0;
  #timer: Timer | null = null;

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    parts.store.watch((after) => {
      if (after.status !== "queued") this.#leave(after.operation_id);
    });
    parts.store.watchGone((_, operationId) => this.#leave(operationId));
    parts.maintenance.watch(() => this.look());
    // Who is matched by a window, and who no longer, goes by what is known of the agent.
    for (const collection of ["agents", "agent_attributes"])
      context.feed.follow(collection, ({ key }) => {
        if (this.#ofAgents.has(key) && parts.maintenance.freezeOf(key) === null) this.look();
      });
  }

  /** Has a watcher hear of rollouts of which a window holds an operation from now on. */
  watch(watcher: (rolloutId: string) => void): void {
    this.#watchers.push(watcher);
  }

  /** Has nothing more of a rollout begin, or what waits of it again. */
  keepRollout(rolloutId: string, isKept: boolean): void {
    if (isKept) this.#keptRollouts.add(rolloutId);
    if (isKept || !this.#keptRollouts.delete(rolloutId)) return;
    // What a window held before has waited for the rollout since.
    for (const held of this.#held.values())
      if (held.rolloutId === rolloutId) this.#freeze(held, this.#isFrozenNow(held));
    this.look();
  }

  /** Whether an operation that would begin is held. From then on it is, until its turn has come. */
  holds(operation: Operation): boolean {
    const {
      operation_id: operationId,
      node_id: nodeId,
      rollout_id: rolloutId,
      queued_at: place = 0,
    } = operation;
    if (this.#held.has(operationId)) return true;
    if (!this.#isKept(rolloutId) && this.freezeOf(operation) === null) return false;
    const isExempt = isFreeOfWindows(operation);
    const held: Held = { operationId, nodeId, rolloutId, place, isExempt, isFrozen: false };
    this.#held.set(operationId, held);
    this.#parts.lanes.hold(operationId);
    count(this.#ofAgents, nodeId, 1);
    this.#freeze(held, this.#isFrozenNow(held));
    return true;
  }

  #freeze(held: Held, isFrozen: boolean): void {
    if (held.isFrozen === isFrozen) return;
    held.isFrozen = isFrozen;
    if (held.rolloutId === undefined) return;
    count(this.#ofRollouts, held.rolloutId, isFrozen ? 1 : -1);
    if (isFrozen) for (const watcher of this.#watchers) watcher(held.rolloutId);
  }

  #isFrozenNow({ nodeId, isExempt }: Held): boolean {
    return !isExempt && this.#parts.maintenance.freezeOf(nodeId) !== null;
  }

  #isKept(rolloutId: string | undefined): boolean {
    return rolloutId !== undefined && this.#keptRollouts.has(rolloutId);
  }

  /** What keeps an operation that waits from beginning now; null where no window does. */
  freezeOf(operation: Operation): Freeze | null {
    return operation.status === "queued" ? this.#freezeOf(operation) : null;
  }

  /** Whether an operation that was sent may not begin now where it never reached its agent. */
  forbids(operation: Operation): boolean {
    return this.#freezeOf(operation) !== null;
  }

  #freezeOf(operation: Operation): Freeze | null {
    return isFreeOfWindows(operation) ? null : this.#parts.maintenance.freezeOf(operation.node_id);
  }

  /** How many operations of a rollout a window holds, or did until their turn comes. */
  countOf(rolloutId: string): number {
    return this.#ofRollouts.get(rolloutId) ?? 0;
  }

  /** How many of them would wait for a window if the rollout were resumed now. */
  frozenOf(rolloutId: string): number {
    if (!this.#isKept(rolloutId)) return this.countOf(rolloutId);
    return [...this.#held.values()].filter((held) => held.rolloutId === rolloutId && this.#isFrozenNow(held))
      .length;
  }

  /** How an operation ends that waited for too long: also where the freeze is over, and its turn has not come yet. */
  expired(operation: Operation): Outcome {
    if (this.freezeOf(operation) !== null) return heldTooLong;
    const held = this.#held.get(operation.operation_id);
    if (!held) return offline;
    return held.isFrozen && !this.#isKept(held.rolloutId) ? heldTooLong : pausedTooLong;
  }

  /** Windows have begun, ended or changed, or an agent or a rollout has: what may begin again has its turn. */
  look(): void {
    if (this.#timer === null && this.#held.size > 0) this.#turn();
  }

  #turn(): void {
    this.#timer = null;
    const { freezeOf } = this.#parts.maintenance;
    const frozen = new Map<string, boolean>();
    const isFrozen = (nodeId: string): boolean => {
      const known = frozen.get(nodeId) ?? freezeOf.call(this.#parts.maintenance, nodeId) !== null;
      frozen.set(nodeId, known);
      return known;
    };
    const waiting: Held[] = [];
    for (const held of this.#held.values()) {
      if (!held.isExempt && isFrozen(held.nodeId)) this.#freeze(held, true);
      else if (!this.#isKept(held.rolloutId)) waiting.push(held);
    }
    if (waiting.length === 0) {
      this.#pace = 0;
      return;
    }
    waiting.sort((a, b) => a.place - b.place || (a.operationId < b.operationId ? -1 : 1));
    this.#pace = Math.max(this.#pace, Math.ceil(waiting.length / turns));
    const free = this.#context.options.rolloutConcurrency - this.#running();
    for (const { operationId, nodeId } of waiting.slice(0, Math.max(0, Math.min(this.#pace, free)))) {
      this.#leave(operationId);
      this.#released.set(operationId, nodeId);
      this.#parts.take(nodeId);
    }
    this.#timer = this.#parts.work.after(turnMs, () => Promise.resolve(this.#turn()));
  }

  /** How much of what had its turn runs. What did not begin by the next turn waits for something else. */
  #running(): number {
    const { lanes } = this.#parts;
    const running = [...this.#released].filter(([id, nodeId]) => lanes.runningOf(nodeId)?.operationId === id);
    this.#released = new Map(running);
    return running.length;
  }

  #leave(operationId: string): void {
    const held = this.#held.get(operationId);
    if (!held) return;
    this.#held.delete(operationId);
    this.#parts.lanes.letGo(operationId);
    count(this.#ofAgents, held.nodeId, -1);
    this.#freeze(held, false);
  }
}

/** Whether no window keeps an operation from beginning. */
function isFreeOfWindows({ kind, override_window }: Operation): boolean {
  return (kind !== "apply" && kind !== "run") || override_window === true;
}

function count(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + by;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}

/**
 * Drift checks that are made by themselves: each agent once in every interval, at a moment of its own that its node_id
 * says, so that a fleet is spread evenly over the interval and a restart changes nothing. Only agents that have been
 * connected since the start are in the queue; what is not due costs nothing.
 */
import type { AgentService } from "../agents/agent-service.ts";
import type { Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import type { OperationDocument } from "../operations/documents.ts";
import type { OperationService } from "../operations/operation-service.ts";
import type { BackgroundWork } from "../upkeep/background-work.ts";
import { DueQueue } from "./due-queue.ts";

/** For so long after an apply nothing is checked: what it started may still be settling. */
const afterApplyMs = 300_000;

interface Parts {
  agents: AgentService;
  operations: OperationService;
  work: BackgroundWork;
  /** Begins a check and resolves with the id of its operation. */
  begin: (nodeId: string) => Promise<string>;
}

export class ScheduledChecks {
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #intervalMs: number;
  readonly #queue = new DueQueue();
  /** Agents whose check has not ended, by the id of the operation; that of one being begun is not known yet. */
  readonly #running = new Map<string, string>();
  #beginning = 0;
  #timer: Timer | null = null;

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    this.#intervalMs = context.options.driftIntervalSeconds * 1000;
    context.epochs.onResume(() => this.#checkDue());
  }

  /** An agent may be given work. */
  add(nodeId: string): void {
    if (this.#intervalMs === 0 || this.#queue.has(nodeId)) return;
    this.#putNext(nodeId);
    this.#setTimer();
  }

  /** An agent is not to be checked any more. */
  remove(nodeId: string): void {
    this.#queue.delete(nodeId);
  }

  /** A check has ended. */
  ended({ operation_id }: Readonly<OperationDocument>): void {
    const nodeId = this.#running.get(operation_id);
    if (nodeId === undefined) return;
    this.#running.delete(operation_id);
    this.#checkDue();
  }

  #checkDue(): void {
    if (this.#context.epochs.isPaused) return;
    const now = this.#context.clock.monotonic();
    while (this.#running.size + this.#beginning < this.#context.options.driftConcurrency) {
      const nodeId = this.#queue.take(now);
      if (nodeId === null) break;
      this.#beginning += 1;
      this.#parts.work.do(async () => {
        try {
          await this.#check(nodeId);
        } finally {
          this.#beginning -= 1;
          this.#checkDue();
        }
      });
    }
    this.#setTimer();
  }

  async #check(nodeId: string): Promise<void> {
    // Who is away comes into the queue again with the next connection.
    if (!this.#parts.agents.presence.isConnected(nodeId)) return;
    this.#putNext(nodeId);
    const state = await this.#parts.operations.stateOf(nodeId);
    if (!state?.baseline || !state.last_apply) return;
    const sinceMs = this.#context.clock.now() - Date.parse(state.last_apply.at);
    if (sinceMs >= 0 && sinceMs < afterApplyMs) {
      this.#queue.set(nodeId, this.#context.clock.monotonic() + afterApplyMs - sinceMs);
      return;
    }
    try {
      const operationId = await this.#parts.begin(nodeId);
      this.#running.set(operationId, nodeId);
      const operation = await this.#parts.operations.store.find(operationId);
      // It may have ended before it was known here that it runs.
      if (operation?.status !== "queued" && operation?.status !== "running")
        this.#running.delete(operationId);
    } catch (error) {
      if (isOrchestratorError(error, "STORAGE_FULL") || !isOrchestratorError(error)) throw error;
      this.#context.logger.debug("A drift check could not be begun.", { node_id: nodeId, code: error.code });
    }
  }

  /** Puts an agent into the queue for its next moment. */
  #putNext(nodeId: string): void {
    const now = this.#context.clock.now();
    const waitMs = msToMoment({ nodeId, nowMs: now, intervalMs: this.#intervalMs });
    // By the count that never jumps: a clock that is set makes nobody due, and nobody wait for long.
    this.#queue.set(nodeId, this.#context.clock.monotonic() + waitMs);
  }

  #setTimer(): void {
    this.#timer?.cancel();
    const earliest = this.#queue.earliest();
    const isFull = this.#running.size + this.#beginning >= this.#context.options.driftConcurrency;
    if (earliest === null || isFull) return;
    const waitMs = earliest - this.#context.clock.monotonic();
    this.#timer = this.#parts.work.after(waitMs, () => Promise.resolve(this.#checkDue()));
  }
}

/** How long it is to an agent's next moment, more than 0 and at most an interval. */
export function msToMoment(of: { nodeId: string; nowMs: number; intervalMs: number }): number {
  // The id is a hash: its first 32 bits are as good as chance, and always the same.
  const momentMs = Math.floor((Number.parseInt(of.nodeId.slice(0, 8), 16) / 2 ** 32) * of.intervalMs);
  const passedMs = (((of.nowMs - momentMs) % of.intervalMs) + of.intervalMs) % of.intervalMs;
  return of.intervalMs - passedMs;
}

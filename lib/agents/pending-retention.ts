/**
 * Forgets agents that nobody approved and that do not come any more: whoever can reach the server can make keys, and each that
 * is kept takes one of the slots of `pendingAgents`.
 *
 *   pending ──not connected for `pendingAgentRetentionDays`──▶ forgotten; its key may come back, as a stranger
 *
 * When an agent was here is known from its record, which is written anew while it is connected, so that a crash loses half a day at
 * most. Only the agents that wait are looked at, however large the fleet is.
 */
import { systemCaller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { dayMs } from "../internal/durations.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { keepRounds } from "../upkeep/rounds.ts";
import type { AgentDocument } from "./documents.ts";
import { forgottenEvent } from "./pending-slots.ts";
import type { Presence } from "./presence.ts";
import type { AgentRegistry } from "./registry.ts";

const roundMs = 3_600_000;
/** Between two slices, so that a long round leaves time for everything else. */
const pauseMs = 100;
/** Agents that are looked at in one go. */
const atOnce = 50;
/** The record of an agent that stays connected says again that it is there. */
const seenAgainMs = dayMs / 2;

type Stored = StoredDocument<AgentDocument>;

export class PendingRetention {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #presence: Presence;

  constructor(context: Context, parts: { registry: AgentRegistry; presence: Presence }) {
    this.#context = context;
    this.#registry = parts.registry;
    this.#presence = parts.presence;
  }

  /** Forgets, every hour, what waited too long. The function returned ends it. */
  keep(forget: (nodeId: string) => Promise<Write[]>): () => Promise<void> {
    const { clock, logger } = this.#context;
    // Whoever was connected when the process before this one ended gets an hour to come back.
    let isFirst = true;
    const round = (): AsyncGenerator<void> => {
      const slices = isFirst ? nothing() : this.round(forget);
      isFirst = false;
      return slices;
    };
    const failed = (error: unknown): void =>
      logger.error("Agents that wait for too long were not forgotten.", { error });
    return keepRounds({ clock, everyMs: roundMs, pauseMs, round, failed });
  }

  /** Forgets what waited too long; yields after each slice. */
  async *round(forget: (nodeId: string) => Promise<Write[]>): AsyncGenerator<void> {
    const { retentionClock, options } = this.#context;
    const before = (await retentionClock.now()) - options.pendingAgentRetentionDays * dayMs;
    const stay: Stored[] = [];
    for await (const agents of this.#slices()) {
      for (const agent of agents) {
        if (seenAt(agent) < before && !this.#isConnected(agent))
          await this.#forget(agent, await forget(agent.key));
        else stay.push(agent);
      }
      yield;
    }
    // Last, and one by one: on a full disk this fails, and what makes space is done.
    for (const agent of stay) if (await this.#seeAgain(agent)) yield;
  }

  async *#slices(): AsyncGenerator<readonly Stored[]> {
    const nodeIds = this.#registry.pending.ids();
    for (let at = 0; at < nodeIds.length; at += atOnce) {
      const agents = await this.#registry.findAll(nodeIds.slice(at, at + atOnce));
      // Somebody may have decided in the meantime.
      yield agents.filter(({ value }) => value.status === "pending");
    }
  }

  async #forget(agent: Stored, writes: Write[]): Promise<void> {
    const why = `not connected since ${agent.value.last_seen_at}`;
    const also = { writes, event: forgottenEvent(agent.value, why) };
    await this.#unlessChanged(() => this.#registry.forget(systemCaller, agent, also));
  }

  /**
   * Writes that an agent is there; of one that was seen in the future, by a clock that was wrong, that it was seen now. Tells whether
   * something was written.
   */
  async #seeAgain(agent: Stored): Promise<boolean> {
    const now = this.#context.clock.now();
    const agoMs = now - seenAt(agent);
    const isDue = agoMs > seenAgainMs && this.#isConnected(agent);
    if (!isDue && agoMs > -seenAgainMs) return false;
    const after = { ...agent.value, last_seen_at: toTimestamp(now) };
    await this.#unlessChanged(() => this.#registry.write(systemCaller, { before: agent, after }));
    return true;
  }

  /** An agent that came, or was decided about, in this moment is left for the next round. */
  async #unlessChanged(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
  }

  #isConnected(agent: Stored): boolean {
    return this.#presence.isConnected(agent.key);
  }
}

function seenAt({ value }: Stored): number {
  return Date.parse(value.last_seen_at);
}

async function* nothing(): AsyncGenerator<void> {}

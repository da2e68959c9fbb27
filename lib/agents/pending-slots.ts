/**
 * The slots of agents that nobody approved yet. Whoever can reach the server can make keys without end, and each that is kept
 * costs memory and disk.
 *
 *   a slot is free ──────────────▶ the newcomer is taken in
 *   all are taken ──one gives way─▶ the newcomer is taken in: so often a minute for each network, and for all
 *                 └─nobody does───▶ RATE_LIMITED
 */
import { systemCaller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { SlotHolder } from "../internal/fair-slots.ts";
import { networkOfAddress } from "../internal/network.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";
import type { Write } from "../storage/storage.ts";
import type { AgentIntroduction } from "../transport/transport.ts";
import type { AgentDocument } from "./documents.ts";
import type { Presence } from "./presence.ts";
import { agentSubject, type AgentRegistry } from "./registry.ts";

/**
 * Agents that give way to newcomers of one network in a minute, and to those of all networks together: so many of their own, and so
 * many of others. Each is written and audited.
 */
const perNetworkPerMinute = 20;
const perMinute = 60;

/** An agent that was seen in this time is about to connect, or comes again. */
const comesAgainMs = 60_000;

/** That no slot is free is told once in this time. */
const toldAgainMs = 3_600_000;

/** Slots that are all taken. */
export interface TakenSlots {
  slots: number;
  /** The network with most of them, and how many it has. */
  network: string;
  count: number;
}

/** Lets unknown agents in as far as there are slots. */
export class PendingSlots {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #presence: Presence;
  readonly #alsoForget: (nodeId: string) => Promise<Write[]>;
  readonly #ofNetwork: RateLimiter;
  readonly #ofAll: RateLimiter;
  /** Agents that give way right now. */
  readonly #leaving = new Set<string>();
  /** Agents whose records are being written. */
  #entering = 0;
  #toldAt = -Infinity;

  constructor(
    context: Context,
    parts: { registry: AgentRegistry; presence: Presence; alsoForget: (nodeId: string) => Promise<Write[]> },
  ) {
    this.#context = context;
    this.#registry = parts.registry;
    this.#presence = parts.presence;
    this.#alsoForget = parts.alsoForget;
    this.#ofNetwork = new RateLimiter(context.clock, perNetworkPerMinute);
    this.#ofAll = new RateLimiter(context.clock, perMinute);
  }

  /** The slots where all are taken; else null. */
  get crowded(): TakenSlots | null {
    const { pendingAgents: slots } = this.#context.options;
    if (this.#registry.pending.size < slots) return null;
    const most = this.#registry.pending.mostCrowded();
    return most && { slots, ...most };
  }

  /**
   * Takes an unknown agent in; `enter` is told whether a slot was free for it, rather than that another gave way.
   *
   * @throws {OrchestratorError} `RATE_LIMITED` where no slot is left for it.
   */
  async within<Result>(
    agent: AgentIntroduction,
    enter: (isFree: boolean) => Promise<Result>,
  ): Promise<Result> {
    const isFree = this.#taken < this.#context.options.pendingAgents;
    this.#entering += 1;
    try {
      if (!isFree) await this.#makeRoom(agent.remote_address);
      return await enter(isFree);
    } finally {
      this.#entering -= 1;
    }
  }

  get #taken(): number {
    const { pending } = this.#registry;
    // Who gives way, and waits still, is not counted beside the one that comes in its place.
    const leaving = [...this.#leaving].filter((nodeId) => pending.addressOf(nodeId) !== undefined);
    return pending.size + this.#entering - leaving.length;
  }

  async #makeRoom(address: string | null): Promise<void> {
    this.#tell();
    const network = networkOfAddress(address ?? "");
    // First: looking for somebody costs as much as there are slots.
    if (!this.#ofNetwork.tryTake(network)) throw this.#noSlot();
    const nodeId = this.#registry.pending.giveWay(address, (holder) => this.#isAway(holder));
    if (nodeId === null || this.#leaving.has(nodeId)) throw this.#noSlot();
    // Who takes a slot of his own network, or none, takes nothing of what those have who come from elsewhere.
    const isOwn = network === networkOfAddress(this.#registry.pending.addressOf(nodeId) ?? "");
    if (!this.#ofAll.tryTake(isOwn ? "own" : "others")) throw this.#noSlot();
    this.#leaving.add(nodeId);
    try {
      await this.#giveWay(nodeId);
    } finally {
      this.#leaving.delete(nodeId);
    }
  }

  async #giveWay(nodeId: string): Promise<void> {
    const agent = await this.#registry.find(nodeId);
    if (agent?.value.status !== "pending") throw this.#noSlot();
    const event = forgottenEvent(agent.value, "it gave way to one from where fewer wait");
    try {
      const writes = await this.#alsoForget(nodeId);
      await this.#registry.forget(systemCaller, agent, { writes, event });
    } catch (error) {
      // It came, or was decided about, in this moment.
      throw isOrchestratorError(error, "REVISION_CONFLICT") ? this.#noSlot() : error;
    }
  }

  #isAway({ id, seenAt }: SlotHolder): boolean {
    if (this.#leaving.has(id) || this.#presence.isConnected(id)) return false;
    return Math.abs(this.#context.clock.now() - seenAt) >= comesAgainMs;
  }

  /** A slot that somebody waits for is told about as an event, so that a person hears of it. */
  #tell(): void {
    const now = this.#context.clock.monotonic();
    if (now - this.#toldAt < toldAgainMs) return;
    const { crowded } = this;
    if (crowded === null) return;
    this.#toldAt = now;
    const { slots, network, count } = crowded;
    void this.#context.tell("agent.slotsTaken", () =>
      this.#context.commit(systemCaller, [], {
        type: "agent.slotsTaken",
        summary: `All ${slots} slots for agents that wait to be approved are taken, ${count} of them from ${network}`,
        metadata: { ...crowded },
      }),
    );
  }

  #noSlot(): OrchestratorError {
    return new OrchestratorError("RATE_LIMITED", {
      message: `${this.#context.options.pendingAgents} agents wait to be approved; approve or reject some first.`,
    });
  }
}

/** Tells that an agent which was never approved is forgotten. */
export function forgottenEvent(agent: Readonly<AgentDocument>, why: string): EventInput {
  const { hostname, public_key, first_seen_at, last_seen_at, remote_address } = agent;
  return {
    type: "agent.forgotten",
    target: agentSubject(agent),
    summary: `Agent ${hostname} was forgotten: it was never approved, and ${why}`,
    metadata: { public_key, first_seen_at, last_seen_at, remote_address },
  };
}

/**
 * Tells that agents come and go, a bounded number of times a minute: each is a commit, and has a place in the log of events that others
 * need as well.
 *
 *   told ──it comes or goes, none left──▶ owed ──it is again as was told──▶ told
 *                                          └──some seconds, one left──────▶ told as it is by then
 */
import { systemCaller } from "../callers/caller.ts";
import type { Timer } from "../clock.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { KeyedQueue } from "../internal/keyed-queue.ts";
import { sourceOfAddress } from "../internal/network.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { AgentDocument } from "./documents.ts";
import { agentSubject, type AgentRegistry } from "./registry.ts";

/** How often it is told of one agent a minute that was decided about. */
const perMinute = 20;
/** The same of all together that wait for approval: strangers, who may make keys without end. */
const pendingPerMinute = 60;
/** Of these, of one address. */
const pendingPerAddress = 10;
/** How long what is left over waits. */
const waitMs = 6_000;

/** That an agent came, or why it went. */
type Move = { isConnected: true } | { isConnected: false; reason: string; atMs: number };

/** What was not told yet. */
interface Owed {
  /** Always other than what was told last. */
  move: Move;
  timer: Timer;
}

export class ConnectionEvents {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #rate: RateLimiter;
  readonly #pendingRate: RateLimiter;
  readonly #addressRate: RateLimiter;
  /** By agent: as many as there are records, at most. */
  readonly #owed = new Map<string, Owed>();
  /** Agents that are new and have not connected yet. */
  readonly #new = new Set<string>();
  readonly #telling = new Set<Promise<void>>();
  /** One after the other of one agent: that it left may have to be written again, and must not come after that it is back. */
  readonly #turns = new KeyedQueue();

  constructor(context: Context, registry: AgentRegistry) {
    this.#context = context;
    this.#registry = registry;
    this.#rate = new RateLimiter(context.clock, perMinute);
    this.#pendingRate = new RateLimiter(context.clock, pendingPerMinute);
    this.#addressRate = new RateLimiter(context.clock, pendingPerAddress);
    registry.onStatus(({ nodeId, after }) => {
      if (after !== "pending") this.#new.delete(nodeId);
      if (after === null) this.#settle(nodeId);
    });
  }

  /** An agent got one of the free slots. How many there are is limit enough: that it connects for the first time is told in any case. */
  expect(nodeId: string): void {
    this.#new.add(nodeId);
  }

  /** An admitted agent has a connection. Resolves when that is told, or put off. */
  connected(nodeId: string): Promise<void> {
    return this.#moved(nodeId, { isConnected: true });
  }

  /** The connection of an agent is gone. Resolves when that is told, with when it was seen last, or put off. */
  disconnected(nodeId: string, reason: string): Promise<void> {
    return this.#moved(nodeId, { isConnected: false, reason, atMs: this.#context.clock.now() });
  }

  /** Tells what is owed: nobody comes or goes any more. */
  async settle(): Promise<void> {
    await Promise.all([...this.#owed].map(([nodeId, { move }]) => this.#tell(nodeId, move)));
    await Promise.all(this.#telling);
  }

  async #moved(nodeId: string, move: Move): Promise<void> {
    const owed = this.#owed.get(nodeId);
    if (owed) {
      // Whoever moves again is where he was when it was told last.
      if (owed.move.isConnected !== move.isConnected) this.#settle(nodeId);
      else owed.move = move;
      return;
    }
    const isFirst = move.isConnected && this.#new.delete(nodeId);
    if (isFirst || this.#mayTell(nodeId)) await this.#tell(nodeId, move);
    else this.#owe(nodeId, move);
  }

  #owe(nodeId: string, move: Move): void {
    // Removed, and told as that.
    if (!this.#registry.index.get(nodeId)) return;
    const due = (): void => {
      if (!this.#mayTell(nodeId)) return this.#owe(nodeId, owed.move);
      const told: Promise<void> = this.#tell(nodeId, owed.move).finally(() => this.#telling.delete(told));
      this.#telling.add(told);
    };
    const owed: Owed = { move, timer: this.#context.clock.setTimer(waitMs, due) };
    this.#owed.set(nodeId, owed);
  }

  /** Nothing is owed of an agent any more. */
  #settle(nodeId: string): void {
    this.#owed.get(nodeId)?.timer.cancel();
    this.#owed.delete(nodeId);
  }

  #mayTell(nodeId: string): boolean {
    const address = this.#registry.pending.addressOf(nodeId);
    if (address === undefined) return this.#rate.tryTake(nodeId);
    return this.#addressRate.tryTake(sourceOfAddress(address)) && this.#pendingRate.tryTake("");
  }

  #tell(nodeId: string, move: Move): Promise<void> {
    this.#settle(nodeId);
    const type = move.isConnected ? "agent.connected" : "agent.disconnected";
    const write = (): Promise<void> => retryOnConflict(() => this.#write(nodeId, move));
    return this.#turns.do(nodeId, () => this.#context.tell(type, write));
  }

  async #write(nodeId: string, move: Move): Promise<void> {
    const before = await this.#registry.find(nodeId);
    if (!before) return;
    const { value: agent } = before;
    const about = { target: agentSubject(agent), summary: summaryOf(agent, move) };
    if (move.isConnected) {
      await this.#context.commit(systemCaller, [], { type: "agent.connected", ...about });
      return;
    }
    const event = { type: "agent.disconnected", ...about, metadata: { reason: move.reason } } as const;
    const after = { ...agent, last_seen_at: toTimestamp(move.atMs) };
    await this.#registry.write(systemCaller, { before, after, event });
  }
}

function summaryOf({ name, hostname }: Readonly<AgentDocument>, move: Move): string {
  const agent = `Agent ${name ?? hostname}`;
  return move.isConnected ? `${agent} connected` : `${agent} disconnected: ${move.reason}`;
}

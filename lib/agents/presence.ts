/** Which agents are connected, and since when: the one place that asks the transport, and the other processes of the orchestrator. */
import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { Write } from "../storage/storage.ts";
import type { BackgroundWork } from "../upkeep/background-work.ts";
import type { SoughtDocument } from "./documents.ts";

/** How long other processes have to say that an agent is connected to them. */
const answerMs = 10_000;

const collection = "sought_agents";

export class Presence {
  readonly #context: Context;
  /** Since when, by the wall clock. */
  readonly #connected = new Map<string, string>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Whether an agent has a connection now. */
  isConnected(nodeId: string): boolean {
    return this.#context.transport.isConnected(nodeId);
  }

  /** Since when an agent has had its connection; null where it has none. */
  since(nodeId: string): string | null {
    return this.isConnected(nodeId) ? (this.#connected.get(nodeId) ?? null) : null;
  }

  /** How many agents are connected here. */
  get count(): number {
    return this.#connected.size;
  }

  /** An agent was admitted. */
  connected(nodeId: string): void {
    this.#connected.set(nodeId, this.#context.timestamp());
  }

  /** The connection of an agent is gone. */
  disconnected(nodeId: string): void {
    this.#connected.delete(nodeId);
  }
}

/**
 * Asks the other processes on a shared storage for agents that are not connected to this one: a document for each, which whoever has the
 * agent takes away. What stands after some seconds is connected nowhere.
 */
export class SoughtAgents {
  readonly #context: Context;
  readonly #parts: { presence: Presence; work: BackgroundWork; found: (nodeId: string) => void };
  /** Until when an answer is waited for, by the count of this process. */
  readonly #until = new Map<string, number>();
  /** Whom any process asks for. */
  readonly #sought = new Set<string>();
  /** Those of them who are here, or not wanted any more. */
  readonly #answers = new Set<string>();

  /** @param parts - `found` is told of who is connected elsewhere, or was told offline from there. Must not throw. */
  constructor(
    context: Context,
    parts: { presence: Presence; work: BackgroundWork; found: (nodeId: string) => void },
  ) {
    this.#context = context;
    this.#parts = parts;
    context.feed.follow<SoughtDocument>(collection, ({ key, document }) => {
      if (document) {
        this.#sought.add(key);
        if (parts.presence.isConnected(key)) this.end(key);
      } else {
        this.#sought.delete(key);
        if (this.#until.delete(key)) parts.found(key);
      }
    });
  }

  /** Takes up what processes asked before; who `isWanted` no more is asked for by nobody. */
  async start(isWanted: (nodeId: string) => boolean): Promise<void> {
    for await (const { key } of eachDocument(this.#context.storage, collection)) {
      this.#sought.add(key);
      if (!isWanted(key)) this.end(key);
    }
  }

  /**
   * Asks for agents who are away from here.
   *
   * @returns Until when answers are waited for; null where nobody has any of them.
   */
  async ask(nodeIds: readonly string[]): Promise<number | null> {
    const { storage, clock } = this.#context;
    if (!storage.capabilities.shared) return null;
    const now = clock.monotonic();
    const unasked = nodeIds.filter((nodeId) => !this.#until.has(nodeId));
    if (unasked.length > 0) {
      for (const node_id of unasked) this.#until.set(node_id, now + answerMs);
      const puts = unasked.map((node_id): Write => {
        return { kind: "put", collection, key: node_id, value: { node_id } };
      });
      await this.#context.commit(systemCaller, puts).catch((error: unknown) => {
        for (const nodeId of unasked) this.#until.delete(nodeId);
        throw error;
      });
    }
    const until = Math.max(...nodeIds.map((nodeId) => this.#until.get(nodeId) ?? now));
    return until > now ? until : null;
  }

  /** What ends the questions about agents, to be written with what is told of them. */
  endings(nodeIds: readonly string[]): Write[] {
    const sought = nodeIds.filter((nodeId) => this.#sought.has(nodeId));
    return sought.map((key) => ({ kind: "delete", collection, key }));
  }

  /** An agent is connected here, or need not be told of. */
  end(nodeId: string): void {
    this.#until.delete(nodeId);
    if (!this.#sought.has(nodeId)) return;
    this.#answers.add(nodeId);
    if (this.#answers.size === 1) this.#parts.work.do(() => this.#answer());
  }

  /** Writes in one commit what is said in one turn: a process that starts asks for all agents of the others. */
  async #answer(): Promise<void> {
    await nextTurn();
    const answers = [...this.#answers];
    this.#answers.clear();
    this.#parts.work.do(async () => {
      const writes = this.endings(answers);
      if (writes.length > 0) await this.#context.commit(systemCaller, writes);
    });
  }
}

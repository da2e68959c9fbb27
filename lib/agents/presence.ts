/** Which agents are connected, and since when: the one place that asks the transport, and the other processes of the orchestrator. */
import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { Write } from "../storage/storage.ts";
import type { BackgroundWork } from "../upkeep/background-work.ts";
import type { SoughtDocument } from "./documents.ts";

/** How long other processes have to say that an agent is connected to them. */
const answerMs = 10_000;

/** Agents of one commit. */
export const atOnce = 5_000;

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

/** What one process asks of the others. */
interface SoughtParts {
  presence: Presence;
  work: BackgroundWork;
  /** Whether anybody waits for an agent. */
  isWanted: (nodeId: string) => boolean;
  /** Told of who is connected elsewhere, or was told offline from there. Must not throw. */
  found: (nodeId: string) => void;
}

/**
 * Asks the other processes on a shared storage for agents that are not connected to this one: a document for each, which whoever has the
 * agent takes away. What stands after some seconds is connected nowhere. Whoever takes a question away, as answered or as told, does so with
 * the revision that they read, so that no answer is for a later question, and nobody is told offline who was just answered for.
 */
export class SoughtAgents {
  readonly #context: Context;
  readonly #parts: SoughtParts;
  /** Until when an answer is waited for, by the count of this process; without end while the question is written. */
  readonly #until = new Map<string, number>();
  /** Whom any process asks for. */
  readonly #sought = new Set<string>();
  /** Those of them whose question is to be answered in this turn. */
  readonly #answers = new Set<string>();

  constructor(context: Context, parts: SoughtParts) {
    this.#context = context;
    this.#parts = parts;
    context.feed.follow<SoughtDocument>(collection, ({ key, document }) => {
      if (document) {
        this.#sought.add(key);
        if (this.#isAnswered(key)) this.end(key);
      } else {
        this.#sought.delete(key);
        if (this.#until.delete(key)) parts.found(key);
      }
    });
  }

  /** Takes up what processes asked before. */
  async start(): Promise<void> {
    for await (const { key } of eachDocument(this.#context.storage, collection)) {
      this.#sought.add(key);
      if (this.#isAnswered(key)) this.end(key);
    }
  }

  /**
   * Asks for agents who are away from here, once for each.
   *
   * @returns Those of whom nobody has said in time that they have them, and until when the next ones are waited for; null where none are.
   */
  async ask(
    nodeIds: readonly string[],
  ): Promise<{ missing: ReadonlySet<string>; answeredAt: number | null }> {
    const { storage, clock } = this.#context;
    const missing = new Set(nodeIds);
    if (!storage.capabilities.shared) return { missing, answeredAt: null };
    for (const some of slices(nodeIds.filter((nodeId) => !this.#until.has(nodeId)))) await this.#put(some);
    const now = clock.monotonic();
    let answeredAt = Infinity;
    for (const nodeId of nodeIds) {
      const until = this.#until.get(nodeId);
      if (until !== undefined && until <= now) continue;
      missing.delete(nodeId);
      answeredAt = Math.min(answeredAt, until ?? Infinity);
    }
    return { missing, answeredAt: answeredAt === Infinity ? null : answeredAt };
  }

  /** What takes away the questions that stand about some agents, by agent; null where there is no other process to ask. */
  async endings(nodeIds: readonly string[]): Promise<ReadonlyMap<string, Write> | null> {
    const { storage } = this.#context;
    if (!storage.capabilities.shared) return null;
    const questions = await storage.getMany(collection, nodeIds);
    return new Map(
      questions.flatMap((question) => {
        if (!question) return [];
        const { key, revision: expected } = question;
        return [[key, { kind: "delete", collection, key, expected }]];
      }),
    );
  }

  /** An agent is connected here, or need not be told of. */
  end(nodeId: string): void {
    this.#until.delete(nodeId);
    if (!this.#sought.has(nodeId)) return;
    this.#answers.add(nodeId);
    if (this.#answers.size === 1) this.#parts.work.do(() => this.#answer());
  }

  async #put(nodeIds: readonly string[]): Promise<void> {
    for (const nodeId of nodeIds) this.#until.set(nodeId, Infinity);
    const puts = nodeIds.map((node_id): Write => {
      return { kind: "put", collection, key: node_id, value: { node_id } };
    });
    try {
      await this.#context.commit(systemCaller, puts);
    } catch (error) {
      for (const nodeId of nodeIds) this.#until.delete(nodeId);
      throw error;
    }
    const until = this.#context.clock.monotonic() + answerMs;
    for (const nodeId of nodeIds) if (this.#until.has(nodeId)) this.#until.set(nodeId, until);
  }

  #isAnswered(nodeId: string): boolean {
    return this.#parts.presence.isConnected(nodeId) || !this.#parts.isWanted(nodeId);
  }

  /** Writes together what is said in one turn: a process that starts asks for all agents of the others. */
  async #answer(): Promise<void> {
    await nextTurn();
    const answers = [...this.#answers];
    this.#answers.clear();
    for (const some of slices(answers)) {
      const take = async (): Promise<void> => {
        // An agent may have gone since, where an answer could not be written at once.
        const endings = await this.endings(some.filter((nodeId) => this.#isAnswered(nodeId)));
        if (endings && endings.size > 0) await this.#context.commit(systemCaller, [...endings.values()]);
      };
      this.#parts.work.do(() => retryOnConflict(take));
    }
  }
}

/** As many as one commit takes. */
function* slices(nodeIds: readonly string[]): Generator<string[]> {
  for (let at = 0; at < nodeIds.length; at += atOnce) yield nodeIds.slice(at, at + atOnce);
}

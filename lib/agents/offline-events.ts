/**
 * Tells that agents are away for longer than a short break, and that they are back: those of a network that went away together in one
 * event.
 *
 *   here ──its connection is gone──▶ gone ──`agentOfflineSeconds`──▶ told offline ──it is back──▶ back ──some seconds──▶ here
 *     ▲                               │                                    ▲                       │
 *     └──────────it is back───────────┘                                    └──────it goes again────┘
 *
 * Who was told offline is written in the step that tells it: a restart tells nobody again, and forgets nobody. What becomes of these
 * documents is followed, whoever writes them. One timer is set, for the earliest, however many agents are away.
 */
import { systemCaller } from "../callers/caller.ts";
import type { Timer } from "../clock.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { isRetryable } from "../errors.ts";
import type { OfflineFacts } from "../event-facts.ts";
import type { EventSubject } from "../events.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { Write } from "../storage/storage.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import type { AgentDocument, OfflineDocument } from "./documents.ts";
import { atOnce, type Presence, SoughtAgents } from "./presence.ts";
import { agentSubject, type AgentRegistry } from "./registry.ts";

/**
 * Agents that go, or come back, within so long after the first are told with it: each looks for a sign of life every 15 s, so that a
 * network that is gone is noticed by all of them within that.
 */
const togetherMs = 16_000;
/** How long agents have to come back after a start: they try again after a minute at most. */
const returnMs = 90_000;
/** How long before those are looked at again of whom it was not clear. */
const againMs = 1_000;
/** How long nothing is told after a failure that does not pass by itself. */
const restMs = 60_000;
/** Agents of an event, which names all of them: who is told of some, or of none that are muted, goes by their names. */
const mostNamed = 100;

const collection = "offline_agents";

export class OfflineEvents {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #presence: Presence;
  readonly #work: BackgroundWork;
  readonly #sought: SoughtAgents;
  /** Since when agents are gone, or back, by the count of this process; the first is the one that moved first. */
  readonly #gone = new Map<string, number>();
  readonly #back = new Map<string, number>();
  /** Agents that were told offline. */
  readonly #told = new Set<string>();
  #next: { dueAt: number; timer: Timer } | null = null;
  #isLooking = false;

  constructor(context: Context, { registry, presence }: { registry: AgentRegistry; presence: Presence }) {
    this.#context = context;
    this.#registry = registry;
    this.#presence = presence;
    this.#work = new BackgroundWork(context);
    this.#sought = new SoughtAgents(context, {
      presence,
      work: this.#work,
      isWanted: (nodeId) => registry.isApproved(nodeId),
      found: (nodeId) => this.#gone.delete(nodeId),
    });
    context.feed.follow<OfflineDocument>(collection, ({ key, document }) => {
      if (!document) return void this.#told.delete(key);
      this.#told.add(key);
      // Another process found it nowhere, because this one was held up.
      if (presence.isConnected(key)) this.connected(key);
    });
    registry.onStatus(({ nodeId, after }) => {
      if (after === "approved") this.#approved(nodeId);
      else this.#dismissed(nodeId);
    });
  }

  /**
   * Takes up who was told offline, and counts those as gone who are not back after a while: they may have gone while nobody looked.
   *
   * @param approved - Tells which agents may be given work.
   * @returns What ends it.
   */
  async start(approved: () => readonly string[]): Promise<() => Promise<void>> {
    for await (const { key } of eachDocument(this.#context.storage, collection)) {
      this.#told.add(key);
      // The process before may have ended between the decision about an agent and this.
      if (!this.#registry.isApproved(key)) this.#dismissed(key);
    }
    await this.#sought.start();
    this.#work.after(Math.max(0, returnMs - this.#graceMs), async () => {
      for (const nodeId of approved())
        if (!this.#presence.isConnected(nodeId) && !this.#gone.has(nodeId)) this.disconnected(nodeId);
    });
    return async () => {
      this.#next?.timer.cancel();
      await this.#work.stop();
    };
  }

  /** An agent has a connection. */
  connected(nodeId: string): void {
    this.#gone.delete(nodeId);
    this.#sought.end(nodeId);
    if (!this.#told.has(nodeId)) return;
    this.#back.set(nodeId, this.#context.clock.monotonic());
    this.#arm();
  }

  /** The connection of an agent is gone. */
  disconnected(nodeId: string): void {
    this.#back.delete(nodeId);
    // The next process counts those as gone that are not back after a while.
    if (this.#context.isDraining) return;
    if (this.#told.has(nodeId) || !this.#registry.isApproved(nodeId)) return;
    this.#gone.delete(nodeId);
    this.#gone.set(nodeId, this.#context.clock.monotonic());
    this.#arm();
  }

  #approved(nodeId: string): void {
    if (!this.#presence.isConnected(nodeId)) this.disconnected(nodeId);
  }

  /** Nobody waits for an agent any more that was rejected or removed. */
  #dismissed(nodeId: string): void {
    this.#gone.delete(nodeId);
    this.#back.delete(nodeId);
    this.#sought.end(nodeId);
    if (!this.#told.has(nodeId)) return;
    this.#work.do(() => this.#context.storage.commit([{ kind: "delete", collection, key: nodeId }]));
  }

  /** When there is something to tell, or to look at again. */
  get #dueAt(): number {
    const [gone = Infinity] = this.#gone.values();
    return Math.min(gone + this.#graceMs, this.#backAt);
  }

  /** When those that are back are told. */
  get #backAt(): number {
    const [back = Infinity] = this.#back.values();
    return back + togetherMs;
  }

  get #graceMs(): number {
    return this.#context.options.agentOfflineSeconds * 1_000;
  }

  /** Looks at a time, or before where that was to be. */
  #arm(dueAt = this.#dueAt): void {
    if (this.#isLooking || dueAt >= (this.#next?.dueAt ?? Infinity)) return;
    this.#next?.timer.cancel();
    const timer = this.#work.after(dueAt - this.#context.clock.monotonic(), () => this.#look());
    this.#next = { dueAt, timer };
  }

  /** Tells what is due. What can't be written is tried again, and told then as it is by then. */
  async #look(): Promise<void> {
    this.#next = null;
    this.#isLooking = true;
    const { clock, logger } = this.#context;
    let dueAt = clock.monotonic() + restMs;
    try {
      const awaited = await this.#tellDue(clock.monotonic());
      dueAt = awaited === null ? this.#dueAt : Math.min(awaited, this.#backAt);
    } catch (error) {
      if (isRetryable(error)) throw error;
      logger.error("It could not be told which agents are away.", { error });
    }
    this.#isLooking = false;
    this.#arm(dueAt);
  }

  /** @returns Until when the last of those is waited for that went together and are due, or who has them; null where nobody is. */
  async #tellDue(now: number): Promise<number | null> {
    if (this.#backAt <= now) await this.#tellOnline([...this.#back.keys()].slice(0, atOnce));
    const group = together(this.#gone);
    if (!group || group.first + this.#graceMs > now) return null;
    if (group.last + this.#graceMs > now) return group.last + this.#graceMs;
    const { missing, answeredAt } = await this.#sought.ask(this.#overdue(now));
    const gone = new Map([...group.gone].filter(([nodeId]) => missing.has(nodeId)));
    // Who was just found, or is here in a moment, is not asked for again at once.
    if (gone.size === 0) return answeredAt ?? now + againMs;
    await this.#tellOffline(gone);
    return null;
  }

  /** Those who are away for too long, whenever they went. */
  #overdue(now: number): string[] {
    const overdue: string[] = [];
    for (const [nodeId, at] of this.#gone) {
      if (at + this.#graceMs > now) break;
      overdue.push(nodeId);
    }
    return overdue;
  }

  /** @param gone - When each of them went: who came in between and went again has its time anew. */
  async #tellOffline(gone: ReadonlyMap<string, number>): Promise<void> {
    const isStillGone = (nodeId: string): boolean => this.#gone.get(nodeId) === gone.get(nodeId);
    await retryOnConflict(async () => {
      const nodeIds = [...gone.keys()];
      const endings = await this.#sought.endings(nodeIds);
      const isAway = ({ node_id, status }: AgentDocument): boolean =>
        status === "approved" && isStillGone(node_id) && !this.#told.has(node_id);
      const agents = (await this.#agents(endings ? [...endings.keys()] : nodeIds)).filter(isAway);
      if (agents.length === 0) return;
      const { clock } = this.#context;
      const goneAt = Math.min(...agents.map(({ node_id }) => gone.get(node_id) ?? Infinity));
      const since = toTimestamp(clock.now() - (clock.monotonic() - goneAt));
      const writes = agents.flatMap(({ node_id }): Write[] => {
        const ending = endings?.get(node_id);
        const put = {
          kind: "put",
          collection,
          key: node_id,
          value: { node_id, since },
          expected: 0,
        } as const;
        return ending ? [put, ending] : [put];
      });
      const events = told(agents, "offline").map(({ metadata, ...about }) => {
        return { type: "agent.offline", ...about, metadata: { ...metadata, since } } as const;
      });
      await this.#context.commit(systemCaller, writes, ...events);
    });
    for (const nodeId of gone.keys()) {
      if (isStillGone(nodeId)) this.#gone.delete(nodeId);
      // It came, or somebody decided about it, while that was written.
      if (!this.#registry.isApproved(nodeId)) this.#dismissed(nodeId);
      else if (this.#presence.isConnected(nodeId)) this.connected(nodeId);
    }
  }

  async #tellOnline(nodeIds: readonly string[]): Promise<void> {
    const isHere = ({ node_id }: AgentDocument): boolean =>
      this.#back.has(node_id) && this.#told.has(node_id);
    const agents = (await this.#agents(nodeIds)).filter(isHere);
    const writes = agents.map(({ node_id }): Write => ({ kind: "delete", collection, key: node_id }));
    const events = told(agents, "back online").map((about) => ({ type: "agent.online", ...about }) as const);
    if (agents.length > 0) await this.#context.commit(systemCaller, writes, ...events);
    for (const nodeId of nodeIds) {
      this.#back.delete(nodeId);
      // It went while that was written.
      if (!this.#presence.isConnected(nodeId)) this.disconnected(nodeId);
    }
  }

  async #agents(nodeIds: readonly string[]): Promise<Readonly<AgentDocument>[]> {
    return (await this.#registry.findAll(nodeIds)).map(({ value }) => value);
  }
}

/** Agents that went together, when each of them did, and when the first and the last. */
interface Group {
  gone: ReadonlyMap<string, number>;
  first: number;
  last: number;
}

/** Those that went together with the first; null where none did. */
function together(moved: ReadonlyMap<string, number>): Group | null {
  const [first] = moved.values();
  if (first === undefined) return null;
  const gone = new Map<string, number>();
  let last = first;
  for (const [nodeId, at] of moved) {
    if (at > first + togetherMs || gone.size === atOnce) break;
    gone.set(nodeId, at);
    last = at;
  }
  return { gone, first, last };
}

/** What events say of agents: of one its name, of many how many there are. */
function told(agents: readonly Readonly<AgentDocument>[], how: string): Telling[] {
  const tellings: Telling[] = [];
  for (let at = 0; at < agents.length; at += mostNamed) {
    const subjects = agents.slice(at, at + mostNamed).map(agentSubject);
    const [target] = subjects;
    const metadata = { agents: subjects.length, node_ids: subjects.map(({ id }) => id) };
    if (target && subjects.length === 1)
      tellings.push({ target, summary: `Agent ${target.name} is ${how}`, metadata });
    else tellings.push({ summary: `${subjects.length} agents are ${how}`, metadata });
  }
  return tellings;
}

type Telling = { target?: EventSubject; summary: string; metadata: OfflineFacts };

/** The agents that are known, and the index that answers selectors, which follows the feed. The only writer of agent documents. */
import { systemCaller, type Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { fromHex, nodeIdOf } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import type { EventSubject } from "../events.ts";
import { FairSlots } from "../internal/fair-slots.ts";
import { toJsonObject } from "../json.ts";
import { SelectorCache } from "../selectors/selector-cache.ts";
import { SelectorIndex } from "../selectors/selector-index.ts";
import type { Selector, SelectorTarget } from "../selectors/selector.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { AgentStatus } from "../wire/handshake-messages.ts";
import type { Attributes } from "../wire/messages.ts";
import type { AgentDocument, AttributesDocument } from "./documents.ts";

export class AgentRegistry {
  readonly index: SelectorIndex = new SelectorIndex();
  readonly selectors: SelectorCache = new SelectorCache();
  /** The agents that wait to be approved. */
  readonly pending: FairSlots = new FairSlots();
  readonly #context: Context;
  readonly #known = new Map<string, { status: AgentStatus; publicKey: string }>();
  readonly #counts: Record<AgentStatus, number> = { pending: 0, approved: 0, rejected: 0 };
  readonly #listeners: ((change: StatusChange) => void)[] = [];
  /** When agents told again what is stored of their machines; see {@link AgentRegistry.confirmAttributes}. */
  readonly #confirmed = new Map<string, string>();
  /** How many changes were heard of. */
  #changes = 0;

  constructor(context: Context) {
    this.#context = context;
    context.feed.follow<AgentDocument>("agents", ({ key, document }) => this.#follow(key, document));
    context.feed.follow<AttributesDocument>("agent_attributes", ({ key, document }) => {
      this.#changes += 1;
      this.#confirmed.delete(key);
      const target = this.index.get(key);
      if (target && document) this.index.set({ ...target, attributes: document.value.attributes });
    });
  }

  /** Reads every agent once, at the start, to build the index. */
  async load(): Promise<void> {
    const { storage } = this.#context;
    const attributes = new Map<string, Attributes>();
    for await (const { key, value } of eachDocument<AttributesDocument>(storage, "agent_attributes"))
      attributes.set(key, value.attributes);
    for await (const { key, value } of eachDocument<AgentDocument>(storage, "agents"))
      this.#setIndex(value, attributes.get(key) ?? {});
  }

  /** How many agents have each status. Costs the same however many there are. */
  counts(): Record<AgentStatus, number> {
    return { ...this.#counts };
  }

  /** Has a listener hear of every agent that gets another status, with its first and its last. */
  onStatus(listener: (change: StatusChange) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Names the state that all agents and their attributes are in: whoever sees the same number twice knows that what was read in
   * between still holds. Null where that can't be told, because other processes make changes that can be read before they are heard of.
   */
  get edition(): number | null {
    return this.#context.storage.capabilities.shared ? null : this.#changes;
  }

  find(nodeId: string): Promise<StoredDocument<AgentDocument> | null> {
    return this.#context.storage.get<AgentDocument>("agents", nodeId);
  }

  /** Reads some agents at once; those that are gone are left out. */
  async findAll(nodeIds: readonly string[]): Promise<StoredDocument<AgentDocument>[]> {
    const found = await this.#context.storage.getMany<AgentDocument>("agents", nodeIds);
    return found.filter((agent) => agent !== null);
  }

  /** Whether an agent of this key was rejected and removed once. */
  async wasRemoved(nodeId: string): Promise<boolean> {
    return (await this.#context.storage.get("removed_agents", nodeId)) !== null;
  }

  /** Reads an agent; `NOT_FOUND` where there is none. */
  async read(nodeId: string): Promise<StoredDocument<AgentDocument>> {
    const agent = await this.find(nodeId);
    if (!agent) throw new OrchestratorError("NOT_FOUND", { message: `There is no agent ${nodeId}.` });
    return agent;
  }

  async attributes(nodeId: string): Promise<AttributesDocument | null> {
    return (await this.#context.storage.get<AttributesDocument>("agent_attributes", nodeId))?.value ?? null;
  }

  /** What an agent told of its machine, and when it told so last, be it only to say the same again. */
  async newestAttributes(nodeId: string): Promise<AttributesDocument | null> {
    const stored = await this.attributes(nodeId);
    return stored && { ...stored, collected_at: this.#confirmed.get(nodeId) ?? stored.collected_at };
  }

  /** Notes that an agent told again what is stored, without writing it yet: a fleet that comes back tells nothing new. */
  confirmAttributes(nodeId: string, collectedAt: string): void {
    this.#confirmed.set(nodeId, collectedAt);
  }

  /** Writes what was noted so, many at once. What somebody else wrote meanwhile stays. */
  async writeConfirmed(): Promise<void> {
    const { storage } = this.#context;
    while (this.#confirmed.size > 0) {
      const nodeIds = [...this.#confirmed.keys()].slice(0, 500);
      const known = await storage.getMany<AttributesDocument>("agent_attributes", nodeIds);
      const writes = known.flatMap((stored): Write[] => {
        const collected_at = stored && this.#confirmed.get(stored.key);
        if (collected_at === null || collected_at === undefined) return [];
        const value = toJsonObject({ ...stored!.value, collected_at });
        return [
          {
            kind: "put",
            collection: "agent_attributes",
            key: stored!.key,
            value,
            expected: stored!.revision,
          },
        ];
      });
      for (const nodeId of nodeIds) this.#confirmed.delete(nodeId);
      await storage.commit(writes);
    }
  }

  /** Writes an agent as it is from now on; `before` is what was read, null for a new one. */
  async write(caller: Caller, change: AgentChange): Promise<void> {
    const { before, after, writes = [], events = [], event } = change;
    const told = event ? [...events, event] : events;
    await this.#context.commit(caller, [putAgent(before, after), ...writes], ...told);
  }

  /** Writes what an agent tells of its machine, with the event of what has changed where something has. */
  async writeAttributes(
    agent: AgentDocument,
    attributes: Attributes,
    { collectedAt, event }: { collectedAt: string; event?: EventInput },
  ): Promise<void> {
    const document: AttributesDocument = { node_id: agent.node_id, attributes, collected_at: collectedAt };
    const put: Write = {
      kind: "put",
      collection: "agent_attributes",
      key: agent.node_id,
      value: { ...document },
    };
    await this.#context.commit(systemCaller, [put], ...(event ? [event] : []));
    // It may have been removed meanwhile, and what it told with it.
    if (await this.find(agent.node_id)) return;
    const { storage } = this.#context;
    await storage.commit([{ kind: "delete", collection: "agent_attributes", key: agent.node_id }]);
  }

  /** Removes an agent that was decided about; that its key was known is remembered. */
  async remove(caller: Caller, agent: StoredDocument<AgentDocument>, also: Removal): Promise<void> {
    const { node_id, public_key, name } = agent.value;
    const tombstone = { node_id, public_key, removed_at: this.#context.timestamp() };
    const writes: Write[] = [
      ...deletionOf(agent),
      { kind: "put", collection: "removed_agents", key: node_id, value: tombstone },
      ...also.writes,
    ];
    if (name !== undefined)
      writes.push({ kind: "delete", collection: "agent_names", key: name.toLowerCase() });
    await this.#context.commit(caller, writes, also.event);
  }

  /** Removes an agent that was never approved, as if it had not been here. */
  async forget(caller: Caller, agent: StoredDocument<AgentDocument>, also: Removal): Promise<void> {
    const writes = [...deletionOf(agent), ...also.writes];
    // With the reserve: this makes space.
    await this.#context.commitWithReserve(caller, writes, also.event);
  }

  /** The approved agents that a selector matches now, by node_id. */
  matching(selector: Selector): string[] {
    return this.index.match(selector).filter((nodeId) => this.isApproved(nodeId));
  }

  /** Whether a selector matches an approved agent now. */
  hasMatch(selector: Selector): boolean {
    return this.index.some(selector, (nodeId) => this.isApproved(nodeId));
  }

  /** What an agent told of its machine, as selectors see it; null where there is no such agent. */
  attributesOf(nodeId: string): Attributes | null {
    return this.index.get(nodeId)?.attributes ?? null;
  }

  /** Whether a public key, lower-case hex, is that of an approved agent. */
  isApprovedKey(publicKey: string): boolean {
    const bytes = fromHex(publicKey);
    const known = bytes && this.#known.get(nodeIdOf(bytes, this.#context.crypto));
    return known?.status === "approved" && known.publicKey === publicKey;
  }

  /** Whether an agent waits, is in the fleet or is kept out; null where there is none. */
  statusOf(nodeId: string): AgentStatus | null {
    return this.#known.get(nodeId)?.status ?? null;
  }

  /** Whether an agent may be given work. */
  isApproved(nodeId: string): boolean {
    return this.#known.get(nodeId)?.status === "approved";
  }

  #follow(nodeId: string, document: StoredDocument<AgentDocument> | null): void {
    this.#changes += 1;
    const before = this.#known.get(nodeId)?.status ?? null;
    if (document) this.#setIndex(document.value, this.attributesOf(nodeId) ?? {});
    else {
      if (before !== null) this.#counts[before] -= 1;
      this.#known.delete(nodeId);
      this.pending.delete(nodeId);
      this.index.delete(nodeId);
    }
    const after = document?.value.status ?? null;
    if (before !== after) for (const listener of this.#listeners) listener({ nodeId, before, after });
  }

  #setIndex(agent: Readonly<AgentDocument>, attributes: Attributes): void {
    this.index.set(toTarget(agent, attributes));
    const { node_id, public_key, remote_address, last_seen_at, status } = agent;
    const known = this.#known.get(node_id);
    if (known) this.#counts[known.status] -= 1;
    this.#counts[status] += 1;
    this.#known.set(node_id, { status, publicKey: public_key });
    if (status === "pending") this.pending.set(node_id, remote_address, Date.parse(last_seen_at));
    else this.pending.delete(node_id);
  }
}

/** An agent that has another status; null before it was known, and when it is gone. */
export interface StatusChange {
  nodeId: string;
  before: AgentStatus | null;
  after: AgentStatus | null;
}

/** A change of one agent. */
export interface AgentChange {
  before: StoredDocument<AgentDocument> | null;
  after: AgentDocument;
  /** What else is written in the same step. */
  writes?: Write[];
  event?: EventInput;
  /** What is told before it. */
  events?: EventInput[];
}

/** What goes with the removal of an agent. */
export interface Removal {
  writes: Write[];
  event: EventInput;
}

/** The write of an agent as it is from now on, refused where it is otherwise than it was read; `before` is null for a new one. */
export function putAgent(before: Pick<StoredDocument, "revision"> | null, after: AgentDocument): Write {
  return {
    kind: "put",
    collection: "agents",
    key: after.node_id,
    value: toJsonObject(after),
    expected: before?.revision ?? 0,
  };
}

function deletionOf({ key, revision }: StoredDocument<AgentDocument>): Write[] {
  return [
    { kind: "delete", collection: "agents", key, expected: revision },
    { kind: "delete", collection: "agent_attributes", key },
  ];
}

/** The agent as selectors see it. */
export function toTarget(agent: Readonly<AgentDocument>, attributes: Attributes): SelectorTarget {
  return { node_id: agent.node_id, name: agent.name ?? null, tags: agent.tags, attributes };
}

/** The agent as events name it. */
export function agentSubject(agent: Readonly<AgentDocument>): EventSubject {
  return { type: "agent", id: agent.node_id, name: agent.name ?? agent.hostname };
}

/** The agents that are known, and the index that answers selectors. The only writer of agent documents. */
import type { Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { EventSubject } from "../events.ts";
import { FairSlots } from "../internal/fair-slots.ts";
import { KeyedQueue } from "../internal/keyed-queue.ts";
import { toJsonObject } from "../json.ts";
import { SelectorCache } from "../selectors/selector-cache.ts";
import { SelectorIndex } from "../selectors/selector-index.ts";
import type { Selector, SelectorTarget } from "../selectors/selector.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { Attributes } from "../wire/messages.ts";
import type { AgentDocument, AttributesDocument } from "./documents.ts";

export class AgentRegistry {
  readonly index: SelectorIndex = new SelectorIndex();
  readonly selectors: SelectorCache = new SelectorCache();
  /** The agents that wait to be approved. */
  readonly pending: FairSlots = new FairSlots();
  readonly #context: Context;
  readonly #approved = new Set<string>();
  readonly #indexing = new KeyedQueue();
  /** How many changes were begun, and how many of them are under way. */
  #changes = 0;
  #changing = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Reads every agent once, at the start, to build the index. */
  async load(): Promise<void> {
    for await (const { value } of eachDocument<AgentDocument>(this.#context.storage, "agents")) {
      this.#setIndex(value, await this.attributes(value.node_id));
    }
  }

  /**
   * Names the state that all agents and their attributes are in: whoever sees the same number twice knows that what was read in
   * between still holds. Null where that can't be told: while a change is being made, and where other processes make some.
   */
  get edition(): number | null {
    return this.#changing > 0 || this.#context.storage.capabilities.shared ? null : this.#changes;
  }

  find(nodeId: string): Promise<StoredDocument<AgentDocument> | null> {
    return this.#context.storage.get<AgentDocument>("agents", nodeId);
  }

  /** Reads some agents at once; those that are gone are left out. */
  async findAll(nodeIds: readonly string[]): Promise<StoredDocument<AgentDocument>[]> {
    const found = await this.#context.storage.getMany<AgentDocument>("agents", nodeIds);
    return found.filter((agent) => agent !== null);
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

  /** Writes an agent as it is from now on; `before` is what was read, null for a new one. */
  async write(caller: Caller, change: AgentChange): Promise<void> {
    const { before, after, writes = [], event } = change;
    const put: Write = {
      kind: "put",
      collection: "agents",
      key: after.node_id,
      value: toJsonObject(after),
      expected: before?.revision ?? 0,
    };
    const events = event ? [event] : [];
    await this.#change(after.node_id, () => this.#context.commit(caller, [put, ...writes], ...events));
  }

  /** Writes what an agent tells of its machine. */
  async writeAttributes(agent: AgentDocument, attributes: Attributes, collectedAt: string): Promise<void> {
    const document: AttributesDocument = { node_id: agent.node_id, attributes, collected_at: collectedAt };
    const put: Write = {
      kind: "put",
      collection: "agent_attributes",
      key: agent.node_id,
      value: { ...document },
    };
    await this.#change(agent.node_id, () => this.#context.storage.commit([put]));
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
    await this.#change(node_id, () => this.#context.commit(caller, writes, also.event));
  }

  /** Removes an agent that was never approved, as if it had not been here. */
  async forget(caller: Caller, agent: StoredDocument<AgentDocument>, also: Removal): Promise<void> {
    const writes = [...deletionOf(agent), ...also.writes];
    // With the reserve: this makes space.
    await this.#change(agent.key, () => this.#context.commitWithReserve(caller, writes, also.event));
  }

  /** The approved agents that a selector matches now, by node_id. */
  matching(selector: Selector): string[] {
    return this.index.match(selector).filter((nodeId) => this.#approved.has(nodeId));
  }

  /** Whether a selector matches an approved agent now. */
  hasMatch(selector: Selector): boolean {
    return this.index.some(selector, (nodeId) => this.#approved.has(nodeId));
  }

  /** Makes a change and has the index follow. It is under way until both are done: listeners hear of it in between. */
  async #change(nodeId: string, commit: () => Promise<unknown>): Promise<void> {
    this.#changes += 1;
    this.#changing += 1;
    try {
      await commit();
      await this.#reindex(nodeId);
    } finally {
      this.#changing -= 1;
    }
  }

  /** Brings the index up to what is stored, one after another for each agent, so that an older state never follows a newer. */
  #reindex(nodeId: string): Promise<void> {
    return this.#indexing.do(nodeId, () => this.#indexStored(nodeId));
  }

  async #indexStored(nodeId: string): Promise<void> {
    const [agent, attributes] = await Promise.all([this.find(nodeId), this.attributes(nodeId)]);
    if (agent) this.#setIndex(agent.value, attributes);
    else {
      this.#approved.delete(nodeId);
      this.pending.delete(nodeId);
      this.index.delete(nodeId);
    }
  }

  #setIndex(agent: Readonly<AgentDocument>, attributes: AttributesDocument | null): void {
    this.index.set(toTarget(agent, attributes?.attributes ?? {}));
    if (agent.status === "approved") this.#approved.add(agent.node_id);
    else this.#approved.delete(agent.node_id);
    const { node_id, remote_address, last_seen_at } = agent;
    if (agent.status === "pending") this.pending.set(node_id, remote_address, Date.parse(last_seen_at));
    else this.pending.delete(node_id);
  }
}

/** A change of one agent. */
export interface AgentChange {
  before: StoredDocument<AgentDocument> | null;
  after: AgentDocument;
  /** What else is written in the same step. */
  writes?: Write[];
  event?: EventInput;
}

/** What goes with the removal of an agent. */
export interface Removal {
  writes: Write[];
  event: EventInput;
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

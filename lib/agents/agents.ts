import type { z } from "zod";
import { answering, type Caller } from "../access/caller.ts";
import type { Context } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { Selector, SelectorTarget } from "../selectors/selector.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { Admission } from "../transport/transport.ts";
import { AgentList } from "./agent-list.ts";
import { AgentViews } from "./agent-views.ts";
import { Approvals } from "./approvals.ts";
import type { AgentDocument } from "./documents.ts";
import { Enrolment } from "./enrolment.ts";
import { PendingPlaces, type TakenPlaces } from "./pending-places.ts";
import { PendingRetention } from "./pending-retention.ts";
import { AgentRegistry, agentSubject, toTarget } from "./registry.ts";
import {
  agentIdInput,
  listAgentsInput,
  rejectPendingInput,
  setStatusInput,
  type Agent,
  type AgentAttributes,
  type RejectedAgents,
} from "./schemas.ts";
import { TagVerbs } from "./tag-verbs.ts";

/** Hears of agents that may be given work, or no longer, or are forgotten. */
export interface AgentWatcher {
  /** An approved agent has a connection. */
  available(nodeId: string): void;
  /** An agent was rejected or removed: what it was to do is over. */
  dismissed(nodeId: string): void;
  /** What else to delete in the step that forgets an agent. */
  forget(nodeId: string): Write[];
}

/** The machines of the fleet, each known by its agent. */
export class Agents {
  /** Tags of agents. */
  readonly tags: TagVerbs;
  /** Agents that come and go; the orchestrator hands it what the transport hears. */
  readonly enrolment: Enrolment;
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #list: AgentList;
  readonly #views: AgentViews;
  readonly #places: PendingPlaces;
  readonly #approvals: Approvals;
  readonly #watchers: AgentWatcher[] = [];

  constructor(context: Context) {
    this.#context = context;
    this.#registry = new AgentRegistry(context);
    this.#list = new AgentList(context, this.#registry);
    this.#views = new AgentViews((nodeId) => context.transport.isConnected(nodeId));
    this.#approvals = new Approvals(context, this.#registry, {
      views: this.#views,
      available: (nodeId) => this.#announce(nodeId),
      dismissed: (nodeId) => this.#watchers.forEach((watcher) => watcher.dismissed(nodeId)),
    });
    this.tags = new TagVerbs(context, this.#registry);
    this.#places = new PendingPlaces(context, this.#registry, (nodeId) => this.#forgotten(nodeId));
    this.enrolment = new Enrolment(context, this.#registry, this.#places);
  }

  /** Forgets, from now on, agents that were never approved and do not come any more. The function returned ends it. */
  keepPending(): () => Promise<void> {
    return new PendingRetention(this.#context, this.#registry).keep((nodeId) => this.#forgotten(nodeId));
  }

  /** The places of agents that wait to be approved, where all are taken; else null. */
  get crowded(): TakenPlaces | null {
    return this.#places.crowded;
  }

  /** Reads what is needed to answer selectors. */
  load(): Promise<void> {
    return this.#registry.load();
  }

  /** Lists agents by node_id. */
  async list(caller: Caller, input: z.input<typeof listAgentsInput> = {}): Promise<Page<Agent>> {
    await this.#context.authorize(caller, "agents.list");
    const page = await this.#list.page(parseInput(listAgentsInput, input));
    return { items: page.items.map((agent) => this.#views.listed(agent)), next_cursor: page.next_cursor };
  }

  /**
   * Reads one agent with its attributes.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof agentIdInput>): Promise<Agent> {
    await this.#context.authorize(caller, "agents.get");
    const { node_id } = parseInput(agentIdInput, input);
    const agent = await this.#registry.read(node_id);
    return this.#views.detail(agent, await this.#registry.attributes(node_id));
  }

  /**
   * Reads what an agent tells of its machine.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async attributes(caller: Caller, input: z.input<typeof agentIdInput>): Promise<AgentAttributes> {
    await this.#context.authorize(caller, "agents.attributes");
    const { node_id } = parseInput(agentIdInput, input);
    await this.#registry.read(node_id);
    return (await this.#registry.attributes(node_id)) ?? { node_id, attributes: {}, collected_at: null };
  }

  /**
   * Approves or rejects an agent. Rejecting ends its connection.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has that status; `ALREADY_EXISTS` for a taken name;
   * `PRECONDITION_FAILED`.
   */
  async setStatus(
    caller: Caller,
    input: z.input<typeof setStatusInput>,
    options?: ChangeOptions,
  ): Promise<Agent> {
    await this.#context.authorize(caller, "agents.setStatus");
    const { node_id, status, name } = parseInput(setStatusInput, input);
    const after = await this.#approvals.decide(caller, node_id, { status, name, options });
    return this.#views.listed(after);
  }

  /**
   * Rejects agents that wait to be approved, such as those that a stranger made up: the first 1,000 that pass every filter. Rejecting
   * ends their connections.
   */
  async rejectPending(
    caller: Caller,
    input: z.input<typeof rejectPendingInput> = {},
  ): Promise<RejectedAgents> {
    await this.#context.authorize(caller, "agents.rejectPending");
    return this.#approvals.rejectPending(caller, parseInput(rejectPendingInput, input));
  }

  /**
   * Forgets a rejected agent: its record, tags and state. Its key may come back, as a stranger.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it is not rejected; `PRECONDITION_FAILED`.
   */
  async remove(caller: Caller, input: z.input<typeof agentIdInput>, options?: ChangeOptions): Promise<void> {
    await this.#context.authorize(caller, "agents.remove");
    const { node_id } = parseInput(agentIdInput, input);
    await retryOnConflict(async () => {
      const agent = await this.#registry.read(node_id);
      requireVersion(agent, options);
      if (agent.value.status !== "rejected") {
        throw new OrchestratorError("INVALID_TRANSITION", {
          message: "Only a rejected agent can be removed.",
        });
      }
      await this.#registry.remove(answering(caller), agent, {
        writes: this.#forgotten(node_id),
        event: {
          type: "agent.removed",
          target: agentSubject(agent.value),
          summary: `Agent ${agent.value.name ?? agent.value.hostname} was removed`,
        },
      });
    });
  }

  /** An admitted agent has a connection. */
  async connected(nodeId: string, admission: Admission): Promise<void> {
    const { value: agent } = await this.#registry.read(nodeId);
    this.enrolment.connected(agent);
    if (admission.status === "approved") this.#announce(nodeId);
    // Approved while it was being admitted, when it had no connection yet to hear of it.
    else if (agent.status === "approved") await this.#approvals.enforce(agent);
  }

  /** Has a watcher told about agents that may be given work. */
  watch(watcher: AgentWatcher): void {
    this.#watchers.push(watcher);
  }

  /** What else to delete in the step that forgets an agent. */
  #forgotten(nodeId: string): Write[] {
    return this.#watchers.flatMap((watcher) => watcher.forget(nodeId));
  }

  #announce(nodeId: string): void {
    for (const watcher of this.#watchers) watcher.available(nodeId);
  }

  /**
   * Reads an agent that may be given work.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `AGENT_NOT_APPROVED`.
   */
  async requireApproved(nodeId: string): Promise<Readonly<AgentDocument>> {
    const agent: StoredDocument<AgentDocument> = await this.#registry.read(nodeId);
    if (agent.value.status !== "approved") throw new OrchestratorError("AGENT_NOT_APPROVED");
    return agent.value;
  }

  /** The approved agents that a selector matches now, by node_id. */
  matching(selector: Selector | string): string[] {
    const parsed = typeof selector === "string" ? this.#registry.selectors.parse(selector) : selector;
    return this.#registry.matching(parsed);
  }

  /** Whether a selector matches an approved agent now: found at the first. */
  hasMatch(selector: Selector): boolean {
    return this.#registry.hasMatch(selector);
  }

  /** The agent as selectors see it. */
  async target(nodeId: string): Promise<SelectorTarget> {
    const agent = await this.#registry.read(nodeId);
    return toTarget(agent.value, (await this.#registry.attributes(nodeId))?.attributes ?? {});
  }

  /** Whether there is such an agent, whatever its status. */
  async isKnown(nodeId: string): Promise<boolean> {
    return (await this.#registry.find(nodeId)) !== null;
  }

  /** What people call agents, and their tags; those that are gone are left out. */
  async describe(
    nodeIds: readonly string[],
  ): Promise<(Pick<AgentDocument, "node_id" | "tags"> & { name: string })[]> {
    const found = await this.#registry.findAll(nodeIds);
    return found.map(({ value: { node_id, name, hostname, tags } }) => ({
      node_id,
      name: name ?? hostname,
      tags,
    }));
  }

  /** What people call an agent; its node_id where it is gone. */
  async nameOf(nodeId: string): Promise<string> {
    const agent = await this.#registry.find(nodeId);
    return agent?.value.name ?? agent?.value.hostname ?? nodeId;
  }
}

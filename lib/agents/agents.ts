import type { z } from "zod";
import { toSubject, type Caller } from "../access/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { parseInput } from "../internal/parse-input.ts";
import { parseSelector } from "../selectors/parse.ts";
import type { Selector, SelectorTarget } from "../selectors/selector.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { asNameTaken, findFreeName, takeName, toAgentName } from "./agent-names.ts";
import { listAgents } from "./agent-list.ts";
import type { AgentDocument } from "./documents.ts";
import { Enrolment } from "./enrolment.ts";
import { AgentRegistry, agentSubject, toTarget } from "./registry.ts";
import {
  agentIdInput,
  listAgentsInput,
  setStatusInput,
  type Agent,
  type AgentAttributes,
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
  readonly #watchers: AgentWatcher[] = [];

  constructor(context: Context) {
    this.#context = context;
    this.#registry = new AgentRegistry(context);
    this.tags = new TagVerbs(context, this.#registry);
    this.enrolment = new Enrolment(context, this.#registry);
  }

  /** Reads what is needed to answer selectors. */
  load(): Promise<void> {
    return this.#registry.load();
  }

  /** Lists agents by node_id. */
  async list(caller: Caller, input: z.input<typeof listAgentsInput> = {}): Promise<Page<Agent>> {
    await this.#context.authorize(caller, "agents.list");
    const query = parseInput(listAgentsInput, input);
    const page = await listAgents(this.#context, this.#registry, query);
    return { ...page, items: page.items.map((agent) => this.#toAgent(agent)) };
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
    const attributes = (await this.#registry.attributes(node_id))?.attributes ?? {};
    return Object.assign(this.#toAgent(agent.value), { attributes });
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
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has that status; `ALREADY_EXISTS` for a taken name.
   */
  async setStatus(caller: Caller, input: z.input<typeof setStatusInput>): Promise<Agent> {
    await this.#context.authorize(caller, "agents.setStatus");
    const { node_id, status, name } = parseInput(setStatusInput, input);
    const before = await this.#registry.read(node_id);
    if (before.value.status === status) {
      throw new OrchestratorError("INVALID_TRANSITION", { message: `The agent is ${status} already.` });
    }
    const { after, writes } = await this.#decide(caller, before.value, {
      status,
      ...(name !== undefined && { name }),
    });
    const event = {
      type: status === "approved" ? "agent.approved" : "agent.rejected",
      target: agentSubject(after),
      summary: `Agent ${after.name ?? after.hostname} was ${status}`,
      metadata: { before: before.value.status, after: status },
    } as const;
    await this.#registry.write(caller, { before, after, writes, event }).catch((error: unknown) => {
      throw asNameTaken(error, after.name ?? "");
    });
    await this.#enforce(after);
    return this.#toAgent(after);
  }

  /**
   * Forgets a rejected agent: its record, tags and state. Its key may come back, as a stranger.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it is not rejected.
   */
  async remove(caller: Caller, input: z.input<typeof agentIdInput>): Promise<void> {
    await this.#context.authorize(caller, "agents.remove");
    const { node_id } = parseInput(agentIdInput, input);
    const agent = await this.#registry.read(node_id);
    if (agent.value.status !== "rejected") {
      throw new OrchestratorError("INVALID_TRANSITION", { message: "Only a rejected agent can be removed." });
    }
    await this.#registry.remove(caller, agent, {
      writes: this.#watchers.flatMap((watcher) => watcher.forget(node_id)),
      event: {
        type: "agent.removed",
        target: agentSubject(agent.value),
        summary: `Agent ${agent.value.name ?? agent.value.hostname} was removed`,
      },
    });
  }

  /** Has a watcher told about agents that may be given work. */
  watch(watcher: AgentWatcher): void {
    this.#watchers.push(watcher);
  }

  /** Tells the watchers that an approved agent has a connection. */
  announce(nodeId: string): void {
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
    return this.#registry.matching(typeof selector === "string" ? parseSelector(selector) : selector);
  }

  /** The agent as selectors see it. */
  async target(nodeId: string): Promise<SelectorTarget> {
    const agent = await this.#registry.read(nodeId);
    return toTarget(agent.value, (await this.#registry.attributes(nodeId))?.attributes ?? {});
  }

  /** What people call an agent; its node_id where it is gone. */
  async nameOf(nodeId: string): Promise<string> {
    const agent = await this.#registry.find(nodeId);
    return agent?.value.name ?? agent?.value.hostname ?? nodeId;
  }

  async #decide(
    caller: Caller,
    before: Readonly<AgentDocument>,
    decision: { status: "approved" | "rejected"; name?: string },
  ): Promise<{ after: AgentDocument; writes: Write[] }> {
    if (decision.name !== undefined && before.name !== undefined && decision.name !== before.name) {
      throw new OrchestratorError("INVALID_TRANSITION", {
        message: `The agent is named ${before.name}; a name stays.`,
      });
    }
    if (decision.status === "rejected") return { after: { ...before, status: "rejected" }, writes: [] };
    const approval = { approved_at: this.#context.timestamp(), approved_by: toSubject(caller).name };
    const after: AgentDocument = { ...before, status: "approved", ...approval };
    if (before.name !== undefined) return { after, writes: [] };
    const name = decision.name ?? (await findFreeName(this.#context.storage, toAgentName(before.hostname)));
    return { after: { ...after, name }, writes: [takeName(name, before.node_id)] };
  }

  /** Makes a decision count for a connection that is there. */
  async #enforce(agent: AgentDocument): Promise<void> {
    if (agent.status === "rejected") {
      await this.#context.transport.disconnect(agent.node_id, "rejected");
      for (const watcher of this.#watchers) watcher.dismissed(agent.node_id);
      return;
    }
    if (!this.#context.transport.isConnected(agent.node_id)) return;
    await this.#context.transport.send(agent.node_id, {
      type: "status",
      id: this.#context.ids.next(),
      not_after: toTimestamp(this.#context.clock.now() + 60_000),
      status: "approved",
    });
    this.announce(agent.node_id);
  }

  #toAgent(agent: Readonly<AgentDocument>): Agent {
    const { box_public_key: _, ...shown } = agent;
    // Spreading what a rest pattern made is seven times slower than adding to it.
    return Object.assign(shown, { connected: this.#context.transport.isConnected(agent.node_id) });
  }
}

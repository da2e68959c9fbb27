import type { z } from "zod";
import { answering, repeatable, type Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { AgentService } from "./agent-service.ts";
import { invalid, ManyAgents } from "./many-agents.ts";
import {
  renameAgentInput,
  replaceAgentInput,
  setNamesInput,
  setStatusesInput,
  type AgentOutcomes,
} from "./many-schemas.ts";
import { agentSubject } from "./registry.ts";
import { Renames } from "./renames.ts";
import { Replacements } from "./replacements.ts";
import {
  agentIdInput,
  listAgentsInput,
  refreshAttributesInput,
  rejectPendingInput,
  setStatusInput,
  type Agent,
  type AgentAttributes,
  type RejectedAgents,
} from "./schemas.ts";
import { TagVerbs } from "./tag-verbs.ts";

/** The machines of the fleet, each known by its agent. */
export class Agents {
  /** Tags of agents. */
  readonly tags: TagVerbs;
  readonly #context: Context;
  readonly #service: AgentService;
  readonly #many: ManyAgents;
  readonly #renames: Renames;
  readonly #replacements: Replacements;

  constructor(context: Context, service: AgentService) {
    this.#context = context;
    this.#service = service;
    this.#many = new ManyAgents(context, service.registry);
    this.tags = new TagVerbs(context, service.registry, this.#many);
    this.#renames = new Renames(context, service);
    this.#replacements = new Replacements(context, service);
  }

  /** Lists agents by node_id. */
  async list(caller: Caller, input: z.input<typeof listAgentsInput> = {}): Promise<Page<Agent>> {
    await this.#context.authorize(caller, "agents.list");
    const page = await this.#service.list.page(parseInput(listAgentsInput, input));
    return {
      items: page.items.map((agent) => this.#service.views.listed(agent)),
      next_cursor: page.next_cursor,
    };
  }

  /**
   * Reads one agent with its attributes.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof agentIdInput>): Promise<Agent> {
    await this.#context.authorize(caller, "agents.get");
    const { node_id } = parseInput(agentIdInput, input);
    const agent = await this.#service.registry.read(node_id);
    return this.#service.views.detail(agent, await this.#service.registry.attributes(node_id));
  }

  /**
   * Reads what an agent tells of its machine.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async attributes(caller: Caller, input: z.input<typeof agentIdInput>): Promise<AgentAttributes> {
    await this.#context.authorize(caller, "agents.attributes");
    const { node_id } = parseInput(agentIdInput, input);
    await this.#service.registry.read(node_id);
    return (
      (await this.#service.registry.newestAttributes(node_id)) ?? {
        node_id,
        attributes: {},
        collected_at: null,
      }
    );
  }

  /**
   * Has an agent tell of its machine now, and reads what it tells: what the owner of the machine adds is asked anew, too.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `AGENT_NOT_APPROVED`; `AGENT_OFFLINE`; `AGENT_TIMEOUT` where it has told nothing within
   * `wait_seconds`.
   */
  async refreshAttributes(
    caller: Caller,
    input: z.input<typeof refreshAttributesInput>,
  ): Promise<AgentAttributes> {
    await this.#context.authorize(caller, "agents.refreshAttributes");
    const { node_id, wait_seconds = 10 } = parseInput(refreshAttributesInput, input);
    await this.#service.requireApproved(node_id);
    await this.#service.enrolment.refresh(node_id, wait_seconds * 1_000);
    const told = await this.#service.registry.newestAttributes(node_id);
    return told ?? { node_id, attributes: {}, collected_at: null };
  }

  /**
   * Approves or rejects an agent. Rejecting ends its connection.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has that status, or another than `expected_status`;
   * `ALREADY_EXISTS` for a taken name; `PRECONDITION_FAILED`.
   */
  async setStatus(
    caller: Caller,
    input: z.input<typeof setStatusInput>,
    options?: ChangeOptions,
  ): Promise<Agent> {
    await this.#context.authorize(caller, "agents.setStatus");
    const { node_id, status, name, expected_status: expected } = parseInput(setStatusInput, input);
    const decision = { status, name, expected, options };
    const after = await this.#service.approvals.decide(caller, node_id, decision);
    return this.#service.views.listed(after);
  }

  /**
   * Approves or rejects up to 1,000 agents, each in a step of its own: one that fails keeps none of the others. Whom somebody else has
   * decided about, or who has that status, is left out. A selector never reaches rejected agents, and approves only those that wait.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED`; `SELECTOR_INVALID`; `CURSOR_INVALID`; `NO_MATCH` where a selector matches none that
   * could be decided about.
   */
  async setStatuses(caller: Caller, input: z.input<typeof setStatusesInput>): Promise<AgentOutcomes> {
    await this.#context.authorize(caller, "agents.setStatuses");
    const { status, expected_status, ...which } = parseInput(setStatusesInput, input);
    const isApproval = status === "approved";
    const chosen = this.#many.choose(which, isApproval ? ["pending"] : ["pending", "approved"]);
    const expected = expected_status ?? (isApproval && which.selector !== undefined ? "pending" : undefined);
    const each = repeatable(caller);
    const decision = { status, name: undefined, expected, options: undefined };
    return this.#many.each(chosen, {
      change: (nodeId) => this.#service.approvals.decide(each, nodeId, decision).then(() => true),
      // Gone is no fault where somebody may have decided meanwhile.
      leavesOut: ["INVALID_TRANSITION", ...(expected === undefined ? [] : (["NOT_FOUND"] as const))],
    });
  }

  /**
   * Gives an agent another name. Selectors see it at once, and events from then on; what an operation or a recording says of its
   * agent's name stays.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has no name yet; `ALREADY_EXISTS` for a taken name, whose agent
   * it tells; `PRECONDITION_FAILED`.
   */
  async rename(
    caller: Caller,
    input: z.input<typeof renameAgentInput>,
    options?: ChangeOptions,
  ): Promise<Agent> {
    await this.#context.authorize(caller, "agents.rename");
    const { node_id, name } = parseInput(renameAgentInput, input);
    return (await this.#renames.rename(caller, node_id, { name, options })).agent;
  }

  /**
   * Gives up to 1,000 agents other names: those that are given, or made of what each tells of its machine. A name that another one of
   * them gives up is free for the next; one that is taken is told with both agents. A selector reaches approved agents only.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED`; `SELECTOR_INVALID`; `CURSOR_INVALID`; `NO_MATCH`.
   */
  async setNames(caller: Caller, input: z.input<typeof setNamesInput>): Promise<AgentOutcomes> {
    await this.#context.authorize(caller, "agents.setNames");
    const { names, from, ...which } = parseInput(setNamesInput, input);
    if ((names === undefined) === (from === undefined))
      throw invalid("names", "give names, or say from what they are made");
    const each = repeatable(caller);
    if (from !== undefined) {
      const chosen = this.#many.choose(which, ["approved"]);
      return this.#many.each(chosen, {
        change: (nodeId) => this.#renames.renameAfter(each, nodeId, from),
        mayPass: "ALREADY_EXISTS",
        inOrder: this.#renames.inOrder(await this.#renames.wishes(chosen.nodeIds, from)),
      });
    }
    if (which.node_ids !== undefined || which.selector !== undefined)
      throw invalid("names", "names its agents itself");
    const wanted = new Map(names!.map(({ node_id, name }) => [node_id, name]));
    if (wanted.size < names!.length) throw invalid("names", "names an agent twice");
    if (new Set([...wanted.values()].map((name) => name.toLowerCase())).size < wanted.size)
      throw invalid("names", "gives two agents one name");
    return this.#many.each(this.#many.choose({ ...which, node_ids: [...wanted.keys()] }, []), {
      change: async (nodeId) =>
        (await this.#renames.rename(each, nodeId, { name: wanted.get(nodeId)! })).changed,
      mayPass: "ALREADY_EXISTS",
      inOrder: this.#renames.inOrder(wanted),
    });
  }

  /**
   * Has an agent take the place of another, as that of a machine that was installed anew and so has another key: it gets the name, the
   * tags and the modules that calls named, all in one step, and is approved. The old one is rejected and stays so; its history, and what
   * names its `node_id`, stay with it. `options` are about the old one.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` where both are one; `NOT_FOUND`; `INVALID_TRANSITION` where the old one has no name, or
   * is connected, or the new one was applied to, without `force`, or the new one was rejected; `PRECONDITION_FAILED`.
   */
  async replace(
    caller: Caller,
    input: z.input<typeof replaceAgentInput>,
    options?: ChangeOptions,
  ): Promise<Agent> {
    await this.#context.authorize(caller, "agents.replace");
    return this.#replacements.replace(caller, parseInput(replaceAgentInput, input), options);
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
    return this.#service.approvals.rejectPending(caller, parseInput(rejectPendingInput, input));
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
      const agent = await this.#service.registry.read(node_id);
      requireVersion(agent, options);
      if (agent.value.status !== "rejected") {
        throw new OrchestratorError("INVALID_TRANSITION", {
          message: "Only a rejected agent can be removed.",
        });
      }
      // First: an apply that ends from here on fails the step, and all of it is read anew.
      const known = await this.#service.forgotten(node_id);
      const modules = await this.#service.appliedModules.forget(node_id);
      const secrets = await this.#service.appliedSecrets.forget(node_id);
      await this.#service.registry.remove(answering(caller), agent, {
        writes: [...known, ...modules, ...secrets],
        event: {
          type: "agent.removed",
          target: agentSubject(agent.value),
          summary: `Agent ${agent.value.name ?? agent.value.hostname} was removed`,
        },
      });
    });
  }
}

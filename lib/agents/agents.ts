import type { z } from "zod";
import { answering, type Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { AgentService } from "./agent-service.ts";
import { agentSubject } from "./registry.ts";
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

  constructor(context: Context, service: AgentService) {
    this.#context = context;
    this.#service = service;
    this.tags = new TagVerbs(context, service.registry);
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
      const modules = await this.#service.appliedModules.forget(node_id);
      const secrets = await this.#service.appliedSecrets.forget(node_id);
      await this.#service.registry.remove(answering(caller), agent, {
        writes: [...this.#service.forgotten(node_id), ...modules, ...secrets],
        event: {
          type: "agent.removed",
          target: agentSubject(agent.value),
          summary: `Agent ${agent.value.name ?? agent.value.hostname} was removed`,
        },
      });
    });
  }
}

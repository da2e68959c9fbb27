/** From a call for one machine to the operation that it asks for, or its refusal. */
import type { z } from "zod";
import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import type { DesiredStates } from "../desired-state/desired-states.ts";
import { OrchestratorError } from "../errors.ts";
import { readAgentState } from "./agent-states.ts";
import { requireSomething, type OperationRequest } from "./operation-request.ts";
import type { applyInput } from "./schemas.ts";
import type { StoredPlans } from "./stored-plans.ts";

const defaultQueueSeconds = 3600;

type Input = z.output<typeof applyInput>;

export class SingleRuns {
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #desired: DesiredStates;
  readonly #plans: StoredPlans;

  constructor(context: Context, parts: { agents: AgentService; desired: DesiredStates; plans: StoredPlans }) {
    this.#context = context;
    this.#agents = parts.agents;
    this.#desired = parts.desired;
    this.#plans = parts.plans;
  }

  /** Works out what is to be done; what an apply or a plan of one machine throws, but for its own end, is thrown here. */
  async prepare(kind: "apply" | "plan", input: Input): Promise<OperationRequest> {
    const { node_id, modules, params, plan_id } = input;
    const agent = await this.#agents.requireApproved(node_id);
    const queue = input.when_offline === "queue";
    if (!queue && !this.#context.transport.isConnected(node_id)) throw new OrchestratorError("AGENT_OFFLINE");
    const plan = plan_id === undefined ? undefined : await this.#plans.confirm(plan_id, input);
    const desired = plan?.desired ?? (await this.#desired.of(node_id, input));
    if (kind === "apply")
      requireSomething(input, desired, (await readAgentState(this.#context.storage, node_id))?.value ?? null);
    return {
      kind,
      nodeId: agent.node_id,
      agentName: agent.name ?? agent.hostname,
      desired,
      plan,
      extras: { ...(modules && { modules }), ...(params && { params }) },
      timeoutSeconds: input.timeout_seconds,
      allowEmpty: input.allow_empty,
      maxRemovals: input.max_removals,
      queueSeconds: queue ? (input.expires_in_seconds ?? defaultQueueSeconds) : undefined,
    };
  }
}

/** From a call for one machine to the operation that it asks for, or its refusal. */
import type { z } from "zod";
import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { MaintenanceService } from "../maintenance/maintenance-service.ts";
import { readAgentState } from "./agent-states.ts";
import { requireSomething, type OperationRequest } from "./operation-request.ts";
import type { applyInput } from "./schemas.ts";
import type { Scopes } from "./scopes.ts";
import type { StoredPlans } from "./stored-plans.ts";

const defaultQueueSeconds = 3600;

type Input = z.output<typeof applyInput>;

export class SingleRuns {
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #scopes: Scopes;
  readonly #plans: StoredPlans;
  readonly #maintenance: MaintenanceService;

  constructor(
    context: Context,
    parts: { agents: AgentService; maintenance: MaintenanceService; scopes: Scopes; plans: StoredPlans },
  ) {
    this.#context = context;
    this.#agents = parts.agents;
    this.#maintenance = parts.maintenance;
    this.#scopes = parts.scopes;
    this.#plans = parts.plans;
  }

  /** What an agent is to forget. */
  async prepareForgetting({
    node_id,
    resources,
  }: {
    node_id: string;
    resources: readonly string[];
  }): Promise<OperationRequest> {
    const agent = await this.#agents.requireApproved(node_id);
    if (!this.#agents.presence.isConnected(node_id)) throw new OrchestratorError("AGENT_OFFLINE");
    return {
      kind: "forget",
      nodeId: agent.node_id,
      agentName: agent.name ?? agent.hostname,
      desired: { modules: [], resources: [] },
      names: [...new Set(resources)],
    };
  }

  /** Works out what is to be done; what an apply or a plan of one machine throws, but for its own end, is thrown here. */
  async prepare(kind: "apply" | "plan", input: Input): Promise<OperationRequest> {
    const { node_id, modules, remove_modules, params, plan_id } = input;
    const agent = await this.#agents.requireApproved(node_id);
    if (kind === "apply" && !input.override_window) this.#maintenance.requireOpen([node_id]);
    const queue = input.when_offline === "queue";
    if (!queue && !this.#agents.presence.isConnected(node_id)) throw new OrchestratorError("AGENT_OFFLINE");
    const plan = plan_id === undefined ? undefined : await this.#plans.confirm(plan_id, input);
    const scoped = plan?.scoped ?? (await this.#scopes.ofCall(node_id, input));
    if (kind === "apply" && !scoped.scope)
      requireSomething(
        input,
        scoped.desired,
        (await readAgentState(this.#context.storage, node_id))?.value ?? null,
      );
    const agentName = agent.name ?? agent.hostname;
    return {
      kind,
      nodeId: agent.node_id,
      agentName,
      ...(input.override_window && this.#overriding(node_id, agentName)),
      ...scoped,
      plan,
      extras: plan?.extras ?? {
        ...(modules && { modules }),
        ...(remove_modules && { remove_modules }),
        ...(params && { params }),
      },
      timeoutSeconds: input.timeout_seconds,
      allowEmpty: (input.allow_empty ?? false) || removesAlone(plan?.extras ?? input),
      maxRemovals: input.max_removals,
      queueSeconds: queue ? (input.expires_in_seconds ?? defaultQueueSeconds) : undefined,
    };
  }

  /** That an apply passes over maintenance windows, and what tells so. */
  #overriding(id: string, name: string): Pick<OperationRequest, "overrideWindow" | "change"> {
    const about = { kind: "apply", target: { type: "agent", id, name }, what: `Apply on ${name}` } as const;
    const events = [this.#maintenance.overridden([id], about)];
    return { overrideWindow: true, change: () => ({ events }) };
  }
}

/** Who only names what goes has said that it goes. */
function removesAlone({ modules, remove_modules }: Pick<Input, "modules" | "remove_modules">): boolean {
  return (modules?.length ?? 0) === 0 && (remove_modules?.length ?? 0) > 0;
}

/** What an agent of a rollout is asked to do: the modules of the assignment, or the command. */
import type { AgentService } from "../agents/agent-service.ts";
import type { DesiredReader } from "../desired-state/desired-states.ts";
import type { OrchestratorError } from "../errors.ts";
import { isLasting } from "../internal/is-lasting.ts";
import { planStale } from "../internal/plan-stale.ts";
import { toJsonObject } from "../json.ts";
import type { OperationRequest } from "../operations/operation-request.ts";
import type { OperationService } from "../operations/operation-service.ts";
import type { Write } from "../storage/storage.ts";
import type { RefusalDocument, RolloutDocument } from "./documents.ts";
import { firstOf, refusalKey } from "./rollout-store.ts";
import type { Target, Targets } from "./targets.ts";

const defaultQueueSeconds = 3600;
/** Characters of a command that each of its operations shows. */
const shownCharacters = 500;

type Rollout = Readonly<RolloutDocument>;

export class MemberRequests {
  readonly #parts: { agents: AgentService; operations: OperationService };
  /** What runs on each agent; absent where an assignment is rolled out. The same list for all, so that it is kept and written out once. */
  readonly #command: OperationRequest["desired"] | undefined;
  /** What the assignment said of its modules at the call. */
  readonly #given: Targets["given"];
  /** What agents share is read once. */
  readonly #desired: DesiredReader;

  constructor(
    parts: { agents: AgentService; operations: OperationService },
    { script, given }: Pick<Targets, "script" | "given">,
  ) {
    this.#parts = parts;
    this.#given = given;
    this.#command = script && { modules: [], resources: [script] };
    this.#desired = parts.operations.desiredReader();
  }

  /**
   * The operation of one agent.
   *
   * @throws {OrchestratorError} Why the agent gets none.
   */
  async of({ node_id, name }: Target, rollout: Rollout): Promise<OperationRequest> {
    const { strategy, kind } = rollout;
    await this.#requireApproved(node_id, rollout);
    const queueSeconds = strategy.expires_in_seconds ?? defaultQueueSeconds;
    return {
      kind,
      nodeId: node_id,
      agentName: name,
      ...(await this.#work(node_id, rollout)),
      rolloutId: rollout.rollout_id,
      overrideWindow: rollout.override_window,
      timeoutSeconds: rollout.timeout_seconds,
      maxRemovals: strategy.max_removals,
      holdRemovals: rollout.hold_removals,
      queueSeconds: strategy.when_offline === "queue" ? queueSeconds : undefined,
    };
  }

  /** One that was removed or rejected since it was planned on is left out as any other on which the plan is not true any more. */
  async #requireApproved(nodeId: string, { plan }: Rollout): Promise<void> {
    await this.#parts.agents.requireApproved(nodeId).catch((error: unknown) => {
      if (plan === undefined || !isLasting(error)) throw error;
      throw planStale(plan, `the agent may not be given work (${error.message})`, error);
    });
  }

  /** Whether the operation of an agent fails as soon as it is made, because the agent is away. */
  isInVain({ node_id }: Target, { strategy }: Rollout): boolean {
    return strategy.when_offline !== "queue" && !this.#parts.agents.presence.isConnected(node_id);
  }

  /** What is kept of an agent that gets no operation. */
  async refusalOf(
    { node_id }: Target,
    { rollout_id, kind }: Rollout,
    { code, message }: OrchestratorError,
  ): Promise<RefusalDocument> {
    const refusal = { rollout_id, node_id, error: { code, message } };
    if (kind === "run") return refusal;
    const end = { kind, status: "failed", error: refusal.error } as const;
    return { ...refusal, changes: await this.#parts.operations.digestOfEnd(end) };
  }

  async #work(
    nodeId: string,
    { assignment = "", modules, command = "", plan }: Rollout,
  ): Promise<Pick<OperationRequest, "desired" | "assignment" | "command" | "plan">> {
    if (this.#command) return { desired: this.#command, command: firstOf(command, shownCharacters) };
    const { scopes, plans } = this.#parts.operations;
    const brought = { assignment, modules, given: this.#given };
    if (plan !== undefined) {
      const planned = { planRolloutId: plan, nodeId, ...brought };
      const { scoped, id, digest } = await plans.confirmOne(planned, this.#desired);
      return { ...scoped, assignment, plan: { id, digest } };
    }
    return { ...(await scopes.ofAssignment(nodeId, brought, this.#desired)), assignment };
  }
}

/** Keeps a refusal. */
export function toRefusalPut(refusal: RefusalDocument): Write {
  const key = refusalKey(refusal.rollout_id, refusal.node_id);
  const value = toJsonObject(refusal);
  return { kind: "put", collection: "rollout_refusals", key, value };
}

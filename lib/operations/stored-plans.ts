/** Plans that were made and may be applied: a plan is an operation of its kind, with its resources and its results. */
import type { AssignmentService } from "../assignments/assignment-service.ts";
import type { Context } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import type { DesiredReader, DesiredRequest } from "../desired-state/desired-states.ts";
import { isOrchestratorError, OrchestratorError, type ErrorCode } from "../errors.ts";
import { planStale } from "../internal/plan-stale.ts";
import type { Json } from "../json.ts";
import { planText } from "../state/plan-text.ts";
import type { OperationDocument } from "./documents.ts";
import { loadReport } from "./operation-results.ts";
import { isOpen, type OperationStore } from "./operation-store.ts";
import type { Operation } from "./schemas.ts";
import type { Scoped, Scopes } from "./scopes.ts";
import type { Snapshots } from "./snapshots.ts";

/** A plan that can be carried out, as far as it can be known without a look at the machine. */
export interface ConfirmedPlan {
  id: string;
  /** SHA-256 of what it says, hex. */
  digest: string;
  scoped: Scoped;
  extras: OperationDocument["extras"];
}

/** What makes a plan say something else when it is worked out again. */
const staleCodes: readonly ErrorCode[] = [
  "NOT_FOUND",
  "AGENT_UNSUPPORTED",
  "VALIDATION_FAILED",
  "PARAMS_INVALID",
  "TEMPLATE_FAILED",
  "RESOURCE_CONFLICT",
  "MODULE_INVALID",
  "MODULE_MISSING",
  "UNKNOWN_RESOURCE_TYPE",
  "IN_USE",
];

export class StoredPlans {
  readonly #context: Context;
  readonly #store: OperationStore;
  readonly #snapshots: Snapshots;
  readonly #scopes: Scopes;
  readonly #assignments: AssignmentService;

  constructor(
    context: Context,
    parts: { store: OperationStore; snapshots: Snapshots; scopes: Scopes; assignments: AssignmentService },
  ) {
    this.#context = context;
    this.#assignments = parts.assignments;
    this.#store = parts.store;
    this.#snapshots = parts.snapshots;
    this.#scopes = parts.scopes;
  }

  /**
   * Works a plan out again. What it would do to the machine is left to the agent, which has the machine.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` where the call brings modules or params of its own; `NOT_FOUND` for a plan
   * that is not there, or is another agent's; `INVALID_TRANSITION` where it has not succeeded; `PLAN_STALE`.
   */
  async confirm(planId: string, call: PlannedCall): Promise<ConfirmedPlan> {
    const own = (["modules", "remove_modules", "params"] as const).filter(
      (field) => call[field] !== undefined,
    );
    if (own.length > 0) {
      const issues = own.map((field) => ({ path: [field], message: "can't be given beside plan_id" }));
      throw new OrchestratorError("VALIDATION_FAILED", { issues });
    }
    const plan = await this.#store.find(planId);
    if (plan?.kind !== "plan" || plan.node_id !== call.node_id)
      throw new OrchestratorError("NOT_FOUND", { message: `This agent has no plan ${planId}.` });
    if (plan.status !== "succeeded") {
      const message = `The plan ${isOpen(plan) ? "has not ended" : `ended ${plan.status}`}; make another.`;
      throw new OrchestratorError("INVALID_TRANSITION", { message });
    }
    const scoped = (): Promise<Scoped> =>
      plan.assignment === undefined
        ? this.#scopes.ofCall(plan.node_id, plan.extras ?? {})
        : this.#ofAssignment(plan.assignment, plan.node_id);
    return this.#confirm(plan, scoped);
  }

  /**
   * Works out again what a rollout planned for one of its agents.
   *
   * @param planned.modules - What the assignment brings, the same for all agents of the rollout.
   * @throws {OrchestratorError} `PLAN_STALE`, also where the agent has no plan of the rollout that succeeded.
   */
  async confirmOne(
    { planRolloutId, nodeId, ...brought }: PlannedMember,
    reader: DesiredReader,
  ): Promise<ConfirmedPlan> {
    const plan = (await this.#store.ofRolloutOn(planRolloutId, [nodeId])).get(nodeId);
    if (!plan) throw planStale(planRolloutId, "the agent has none in this rollout, or it is not kept");
    if (plan.status !== "succeeded") throw stale(plan, `it ended ${plan.status} on this agent`);
    return this.#confirm(plan, async () => {
      const scoped = await this.#scopes.ofAssignment(nodeId, brought, reader);
      const isMatched = scoped.desired.matching.includes(brought.assignment);
      if (!isMatched) throw stale(plan, "the assignment does not match the agent any more");
      return scoped;
    });
  }

  async #ofAssignment(name: string, nodeId: string): Promise<Scoped> {
    const { value } = await this.#assignments.read(name);
    const modules = await this.#assignments.broughtNow(value);
    const brought = modules.map(({ name: module, revision }) => ({ name: module, revision }));
    return this.#scopes.ofAssignment(nodeId, { assignment: name, modules: brought });
  }

  async #confirm(
    plan: Readonly<OperationDocument>,
    scopedNow: () => Promise<Scoped>,
  ): Promise<ConfirmedPlan> {
    const scoped = await this.#again(plan, scopedNow);
    const { results } = await loadReport(this.#context, plan);
    const digest = toHex(this.#context.crypto.sha256(toUtf8(planText(results))));
    return { id: plan.operation_id, digest, scoped, extras: plan.extras };
  }

  async #again(plan: Readonly<OperationDocument>, scopedNow: () => Promise<Scoped>): Promise<Scoped> {
    const scoped = await scopedNow().catch((error: unknown) => {
      if (!isOrchestratorError(error) || !staleCodes.includes(error.code)) throw error;
      throw stale(plan, `it can't be made any more (${error.message})`, error);
    });
    const { desired, scope } = scoped;
    if (JSON.stringify(scope) !== JSON.stringify(plan.scope))
      throw stale(plan, "other modules would be taken away now");
    if (JSON.stringify(desired.modules) !== JSON.stringify(plan.modules))
      throw stale(plan, "other modules, or other revisions of them, are desired now");
    if ((await this.#snapshots.save(desired.resources)) !== plan.snapshot)
      throw stale(plan, "params, tags or attributes that it uses have changed");
    return scoped;
  }
}

/** Turns the end of an operation that its agent refused, because it would do what it may not, into that refusal. */
export function requireTruth(operation: Operation): Operation {
  const { operation_id, error, kind } = operation;
  if (kind === "forget" && error?.code === "NOT_FOUND")
    throw new OrchestratorError("NOT_FOUND", { message: error.message, details: { operation_id } });
  if (error?.code === "TOO_MANY_REMOVALS")
    throw new OrchestratorError("TOO_MANY_REMOVALS", { message: error.message, details: { operation_id } });
  if (error?.code !== "PLAN_STALE") return operation;
  throw new OrchestratorError("PLAN_STALE", {
    message: "The machine is not as it was for the plan; nothing was changed.",
    details: { operation_id, reason: "machine" },
  });
}

/** What a call that names a plan says beside it. */
interface PlannedCall {
  node_id: string;
  modules?: readonly string[] | undefined;
  remove_modules?: readonly string[] | undefined;
  params?: { readonly [key: string]: Json } | undefined;
}

/** One agent of a rollout that planned. */
interface PlannedMember {
  planRolloutId: string;
  nodeId: string;
  assignment: string;
  modules: readonly { name: string; revision: number }[];
  given: DesiredRequest["given"];
}

function stale(
  { operation_id }: Readonly<OperationDocument>,
  why: string,
  cause?: unknown,
): OrchestratorError {
  return planStale(operation_id, why, cause);
}

/** Whether an operation that waited may begin, or is overtaken by what was asked for, or came to be known, since. */
import type { AgentService } from "../agents/agent-service.ts";
import type { AssignmentService } from "../assignments/assignment-service.ts";
import type { Context } from "../context.ts";
import { readAgentState } from "./agent-states.ts";
import { isOvertaken } from "./applied-modules.ts";
import type { OperationDocument } from "./documents.ts";
import type { Lanes } from "./lanes.ts";
import { isOpen } from "./operation-store.ts";
import { findRepeatable, newestOf } from "./repeated-baseline.ts";

type Operation = Readonly<OperationDocument>;

export class Beginnings {
  readonly #context: Context;
  readonly #features: { agents: AgentService; assignments: AssignmentService };
  readonly #lanes: Pick<Lanes, "isHeld">;

  constructor(
    context: Context,
    features: { agents: AgentService; assignments: AssignmentService },
    lanes: Pick<Lanes, "isHeld">,
  ) {
    this.#context = context;
    this.#features = features;
    this.#lanes = lanes;
  }

  /**
   * One that repeats a baseline begins only while that may be repeated; an apply only while what it took for given of its agent is so, and
   * nobody has asked for what it would take away; one of a backup only where none that was asked for later began on the machine since
   * the restore, or it would put back what is newer.
   */
  async mayBegin(operation: Operation): Promise<boolean> {
    const { storage, epochs } = this.#context;
    const { node_id, operation_id, kind, repeats, repeats_snapshot } = operation;
    if (repeats !== undefined) {
      const modules = operation.modules.map(({ name }) => name);
      const repeated = { nodeId: node_id, operationId: repeats, modules, by: operation_id };
      const state = await findRepeatable(storage, repeated);
      return (
        state !== null &&
        (repeats_snapshot ?? state.value.baseline?.snapshot) === state.value.baseline?.snapshot
      );
    }
    if (kind !== "apply" && kind !== "forget") return true;
    if (operation.grounds && (await this.#isOvertaken(operation))) return false;
    if (!epochs.isBefore(operation)) return true;
    const applies = await newestOf(storage, node_id, "apply");
    return !applies.some(
      ({ key, value }) => key > operation_id && value.begun_at !== undefined && !epochs.isBefore(value),
    );
  }

  async #isOvertaken(operation: Operation): Promise<boolean> {
    const { storage } = this.#context;
    const { node_id, operation_id, scope, grounds } = operation;
    const state = (await readAgentState(storage, node_id))?.value ?? null;
    if (isOvertaken(operation, state)) return true;
    const brings = new Set(operation.modules.map(({ name }) => name));
    const removed = new Set(Object.keys(grounds?.removed ?? {}));
    for (const { key, value } of await newestOf(storage, node_id, "apply")) {
      if (key === operation_id) continue;
      const named = Object.keys(value.named ?? {});
      // What nobody knows the end of may have brought what a call named; everything else would go.
      if (scope === undefined && value.status === "unknown" && named.some((name) => !brings.has(name)))
        return true;
      // A removal takes away what begins before it; what is held would bring that back after it.
      if (grounds?.ahead?.includes(key) && !this.#lanes.isHeld(key)) continue;
      const wanted = [...named, ...value.modules.map(({ name }) => name)];
      if (isOpen(value) && wanted.some((name) => removed.has(name))) return true;
    }
    return removed.size > 0 && (await this.#isAssigned(node_id, removed));
  }

  async #isAssigned(nodeId: string, modules: ReadonlySet<string>): Promise<boolean> {
    const { agents, assignments } = this.#features;
    const matching = (await assignments.matcher())(await agents.target(nodeId));
    return matching.some((assignment) => assignment.modules.some((name) => modules.has(name)));
  }
}

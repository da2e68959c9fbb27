/**
 * Puts back what drifted, for agents of assignments with `enforce`. What is applied is their modules' part of the baseline, exactly as
 * it was applied before: a newer revision of a module never gets on a machine this way, and none is taken off it. So nothing is put
 * back while another apply is open, and what waits to do so is cancelled where one came before it.
 *
 * Each time counts until a check finds the machine in sync. The second time waits five minutes after the first, then it is
 * longer from time to time; after the last, nothing is applied any more and an event says so. The count is on disk in the
 * step that makes the operation.
 */
import type { AgentService } from "../agents/agent-service.ts";
import type { AssignmentService } from "../assignments/assignment-service.ts";
import type { AssignmentDocument } from "../assignments/documents.ts";
import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import type { EventSubject } from "../events.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import type { MaintenanceService } from "../maintenance/maintenance-service.ts";
import type { AgentStateDocument, OperationDocument } from "../operations/documents.ts";
import type { OperationService } from "../operations/operation-service.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { DriftDocument, DriftStateDocument, Enforcement } from "./documents.ts";

/** How long to wait before each time, counted from the time before. */
const waitsMs = [0, 300_000, 900_000, 3_600_000, 14_400_000] as const;

type State = StoredDocument<DriftStateDocument> | null;
type Known = StoredDocument<AgentStateDocument>;

/** What is to be put back. */
interface Cause {
  check: Readonly<OperationDocument>;
  /** The apply that made the baseline which the check compared with. */
  baselineId: string;
  /** Those that enforce something of what has drifted. */
  assignments: readonly Readonly<AssignmentDocument>[];
}

/** What is known of a machine, and which of its modules are to be put back. */
interface Part {
  known: Known;
  modules: { name: string; revision: number }[];
  /** Names its content. */
  snapshot: string;
  resources: readonly ResolvedResource[];
}

/** The write that counts an apply, and how many it makes. */
interface Counted {
  write: Write;
  times: number;
}

export class DriftEnforcement {
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #assignments: AssignmentService;
  readonly #maintenance: MaintenanceService;
  readonly #operations: OperationService;

  constructor(
    context: Context,
    features: {
      agents: AgentService;
      assignments: AssignmentService;
      maintenance: MaintenanceService;
      operations: OperationService;
    },
  ) {
    this.#context = context;
    this.#agents = features.agents;
    this.#assignments = features.assignments;
    this.#maintenance = features.maintenance;
    this.#operations = features.operations;
  }

  /** Applies the baseline again where a check that has ended found what an assignment enforces changed. */
  async consider(check: Readonly<OperationDocument>): Promise<void> {
    const { node_id, operation_id } = check;
    if (this.#context.epochs.isPaused) return;
    const record = await this.#context.storage.get<DriftDocument>("drift_records", operation_id);
    if (record?.value.status !== "drifted") return;
    if (!this.#agents.presence.isConnected(node_id)) return;
    // What is still so after the window is found by the next check.
    if (this.#maintenance.freezeOf(node_id) !== null) return;
    const assignments = await this.#enforcing(check);
    if (assignments.length === 0) return;
    const cause = { check, baselineId: record.value.baseline_operation_id, assignments };
    await retryOnConflict(() => this.#enforce(cause));
  }

  /** The assignments that enforce something of what has drifted. */
  async #enforcing({ node_id, operation_id }: Readonly<OperationDocument>): Promise<Cause["assignments"]> {
    const { results } = await this.#operations.resultsOf(operation_id);
    const drifted = new Set(
      results.filter(({ outcome }) => outcome === "would_change").map((each) => each.module),
    );
    const matching = (await this.#assignments.matcher())(await this.#agents.target(node_id));
    return matching.filter(
      ({ enforce, modules }) => enforce === true && modules.some((module) => drifted.has(module)),
    );
  }

  /** The part of the baseline that assignments brought, where it may be put back now. */
  async #partOf({ check, baselineId, assignments }: Cause): Promise<Part | null> {
    const { node_id } = check;
    const applied = await this.#operations.appliedRevisions(node_id);
    const names = new Set(assignments.flatMap(({ modules }) => modules));
    const modules = [...applied].flatMap(([name, revision]) => (names.has(name) ? { name, revision } : []));
    if (modules.length === 0) return null;
    const repeated = { operationId: baselineId, modules: modules.map(({ name }) => name) };
    const known = await this.#operations.repeatable(node_id, repeated);
    if (!known) return null;
    const part = await this.#operations.partOf(known.value.baseline!.snapshot, repeated.modules);
    return { known, modules, ...part };
  }

  async #enforce(cause: Cause): Promise<void> {
    const { storage, fleetTime } = this.#context;
    const now = fleetTime.now();
    const { node_id } = cause.check;
    const part = await this.#partOf(cause);
    if (part === null) return;
    const state = await storage.get<DriftStateDocument>("drift_states", node_id);
    const { snapshot } = part;
    const baseline = part.known.value.baseline!.snapshot;
    const before = state?.value.enforcement;
    // Parts that spoil each other drift by turns, on one baseline; an apply of other modules leaves the part as it was.
    const isSame = before?.baseline === baseline || before?.snapshot === snapshot;
    const { times = 0, last_at = 0, stopped = false } = isSame ? before : {};
    const waitMs = waitsMs[times];
    if (waitMs === undefined) {
      if (!stopped) await this.#stop(cause, state, { snapshot, baseline, times, last_at, stopped: true });
      return;
    }
    // What an earlier version wrote with a wrong clock must not put it off for ever.
    if (now >= last_at && now - last_at < waitMs) return;
    const enforcement = { snapshot, baseline, times: times + 1, last_at: now };
    await this.#apply(cause, part, {
      write: this.#toPut(cause.check, state, enforcement),
      times: times + 1,
    });
  }

  async #apply({ check, baselineId, assignments }: Cause, part: Part, counted: Counted): Promise<void> {
    const { node_id, agent_name } = check;
    const [assignment] = assignments.map(({ name }) => name);
    const scope = part.modules.map(({ name }) => name);
    await this.#operations.request(systemCaller, {
      kind: "apply",
      nodeId: node_id,
      agentName: agent_name,
      assignment: assignment!,
      holdRemovals: assignments.some(({ unattended_removals }) => unattended_removals !== true),
      desired: { modules: part.modules, resources: part.resources },
      scope,
      repeats: baselineId,
      repeatsSnapshot: part.known.value.baseline!.snapshot,
      change: ([operationId = ""]) => ({
        // The other write fails where an apply ends meanwhile.
        writes: [counted.write, this.#operations.expectState(part.known)],
        events: [
          {
            type: "drift.enforced",
            target: agentOf(check),
            summary: `What drifted on ${agent_name} is applied again, for ${namesOf(assignments)}`,
            metadata: {
              drift_id: check.operation_id,
              operation_id: operationId,
              assignment: assignment!,
              times: counted.times,
            },
          },
        ],
      }),
    });
  }

  async #stop({ check, assignments }: Cause, state: State, next: Enforcement): Promise<void> {
    await this.#context.commit(systemCaller, [this.#toPut(check, state, next)], {
      type: "drift.enforcementStopped",
      target: agentOf(check),
      summary: `${check.agent_name} drifts again and again; ${namesOf(assignments)} is not enforced until a check finds it in sync`,
      metadata: { drift_id: check.operation_id, assignment: assignments[0]!.name, times: next.times },
    });
  }

  #toPut({ node_id }: Readonly<OperationDocument>, state: State, enforcement: Enforcement): Write {
    const document: DriftStateDocument = { drifted: true, ...state?.value, enforcement };
    const value = toJsonObject(document);
    return {
      kind: "put",
      collection: "drift_states",
      key: node_id,
      value,
      expected: state?.revision ?? 0,
    };
  }
}

function namesOf(assignments: Cause["assignments"]): string {
  return assignments.map(({ name }) => name).join(", ");
}

function agentOf({ node_id, agent_name }: Readonly<OperationDocument>): EventSubject {
  return { type: "agent", id: node_id, name: agent_name };
}

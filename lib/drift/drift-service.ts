import type { AgentQuery } from "../agents/agent-lookups.ts";
import type { AgentService } from "../agents/agent-service.ts";
import type { AssignmentService } from "../assignments/assignment-service.ts";
import { systemCaller, type Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import type { MaintenanceService } from "../maintenance/maintenance-service.ts";
import type { OperationDocument } from "../operations/documents.ts";
import type { OperationService } from "../operations/operation-service.ts";
import { countOutcomes, toCounts } from "../state/result.ts";
import { eachPage } from "../storage/each-document.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { concludeApply, concludeCheck, toRecordPut } from "./conclusion.ts";
import type { DriftDocument } from "./documents.ts";
import { DriftEnforcement } from "./enforcement.ts";
import { ScheduledChecks } from "./scheduled-checks.ts";
import type { AgentDrift, DriftDetail } from "./schemas.ts";

/** A check that was made, and what it is known by. */
export interface BegunCheck {
  operation: Readonly<OperationDocument>;
  record: DriftDocument;
}

/** A check as callers see it. */
export function toDetail(record: Readonly<DriftDocument>, resources: DriftDetail["resources"]): DriftDetail {
  return { ...record, counts: toCounts(record.counts), resources };
}

/** Has machines checked, by hand and regularly, and what was found put right where that is wanted. Whoever asks has authorized. */
export class DriftService {
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #operations: OperationService;
  readonly #enforcement: DriftEnforcement;
  readonly #work: BackgroundWork;
  readonly #scheduled: ScheduledChecks;

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
    this.#operations = features.operations;
    this.#enforcement = new DriftEnforcement(context, features);
    this.#work = new BackgroundWork(context);
    this.#scheduled = new ScheduledChecks(context, {
      ...features,
      work: this.#work,
      begin: async (nodeId) => (await this.begin(systemCaller, nodeId, "scheduled")).record.drift_id,
    });
    features.operations.onEnd("check", async ({ operation, isCorrection }) => {
      const { node_id, operation_id } = operation;
      const known = await features.operations.stateOf(node_id);
      const isOld = isCorrection && (await this.newestOf(node_id)) !== operation_id;
      const { findings } = features.agents;
      return concludeCheck(context, operation, { known, isOld, findings });
    });
    features.operations.onSettled((operation) => concludeApply(context, operation));
    features.operations.store.watch((operation) => this.#note(operation));
    features.operations.retention.onExpiry("check", {
      isNeeded: (operation) => this.#isNewest(operation),
      writes: ({ operation_id }) => [{ kind: "delete", collection: "drift_records", key: operation_id }],
    });
    features.agents.watch({
      available: (nodeId) => this.#scheduled.add(nodeId),
      dismissed: (nodeId) => this.#scheduled.remove(nodeId),
      forget: (nodeId) => [{ kind: "delete", collection: "drift_states", key: nodeId }],
    });
  }

  /** What the newest check of each of some agents found. */
  async newest(query: AgentQuery): Promise<Page<AgentDrift>> {
    const { items: agents, next_cursor } = await this.#agents.list.page(query);
    const isAboutFindings = query.drift === "in_sync" || query.drift === "drifted";
    const found = agents.flatMap(({ key, value }) => {
      const { drift, failed_drift_check } = this.#agents.findings.of(key) ?? {};
      const check = isAboutFindings ? drift : (failed_drift_check ?? drift);
      return check ? { id: check.drift_id, name: value.name ?? value.hostname } : [];
    });
    const ids = found.map(({ id }) => id);
    const records = await this.#context.storage.getMany<DriftDocument>("drift_records", ids);
    const items = records.flatMap((record, at) =>
      record ? { ...record.value, counts: toCounts(record.value.counts), agent_name: found[at]!.name } : [],
    );
    return { items, next_cursor };
  }

  /** The newest check of an agent that has ended. */
  async newestOf(nodeId: string): Promise<string | null> {
    const query = { index: "by_node", equals: [nodeId], order: "desc", limit: 20 } as const;
    for await (const page of eachPage<DriftDocument>(this.#context.storage, "drift_records", query)) {
      const ended = page.find(({ value }) => value.status !== "running");
      if (ended) return ended.key;
    }
    return null;
  }

  /** The newest check of an agent stays, however old it is, and the newest that found something. */
  async #isNewest({ operation_id, node_id }: Readonly<OperationDocument>): Promise<boolean> {
    if (!(await this.#agents.isKnown(node_id))) return false;
    const { drift, failed_drift_check } = this.#agents.findings.of(node_id) ?? {};
    if (drift?.drift_id === operation_id || failed_drift_check?.drift_id === operation_id) return true;
    return (await this.newestOf(node_id)) === operation_id;
  }

  /** Lets no check begin any more, and waits for what is being written. */
  stop(): Promise<void> {
    return this.#work.stop();
  }

  /** Makes a check and puts it in line for its agent. Resolves with it as it was written. */
  async begin(caller: Caller, nodeId: string, trigger: DriftDocument["trigger"]): Promise<BegunCheck> {
    const agent = await this.#agents.requireApproved(nodeId);
    const baseline = (await this.#operations.stateOf(nodeId))?.baseline;
    if (!baseline) throw new OrchestratorError("NO_BASELINE");
    if (!this.#agents.presence.isConnected(nodeId)) throw new OrchestratorError("AGENT_OFFLINE");
    const name = agent.name ?? agent.hostname;
    const facts = { node_id: nodeId, baseline_operation_id: baseline.operation_id };
    const begun = { ...facts, ...this.#newRecord(trigger) };
    const recordOf = (id: string): DriftDocument => ({ drift_id: id, ...begun });
    const requestedEvent = (id: string): EventInput => ({
      type: "drift.checkRequested",
      target: { type: "drift", id, name },
      summary: `A drift check of ${name} was requested`,
      metadata: facts,
    });
    const operation = await this.#operations.request(caller, {
      kind: "check",
      nodeId,
      agentName: name,
      desired: { modules: [], resources: await this.#operations.snapshot(baseline.snapshot) },
      answer: ({ operation_id }) => toDetail(recordOf(operation_id), []),
      change: ([driftId = ""]) => ({
        writes: [toRecordPut(recordOf(driftId), 0)],
        // Nobody asked for a scheduled one; what it finds is told where it is news.
        events: trigger === "manual" ? [requestedEvent(driftId)] : [],
      }),
    });
    return { operation, record: recordOf(operation.operation_id) };
  }

  #note(operation: Readonly<OperationDocument>): void {
    if (operation.kind !== "check" || operation.status === "queued" || operation.status === "running") return;
    this.#scheduled.ended(operation);
    this.#work.do(() => this.#enforcement.consider(operation));
  }

  #newRecord(
    trigger: DriftDocument["trigger"],
  ): Omit<DriftDocument, "drift_id" | "node_id" | "baseline_operation_id"> {
    return {
      status: "running",
      trigger,
      checked_at: this.#context.timestamp(),
      duration_ms: 0,
      counts: countOutcomes([]),
    };
  }
}

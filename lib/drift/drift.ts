import type { z } from "zod";
import { systemCaller, type Caller } from "../access/caller.ts";
import type { Agents } from "../agents/agents.ts";
import { agentIdInput } from "../agents/schemas.ts";
import type { Assignments } from "../assignments/assignments.ts";
import { BackgroundWork } from "../background-work.ts";
import type { Context, EventInput } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { OperationDocument } from "../operations/documents.ts";
import type { Operations } from "../operations/operations.ts";
import { countOutcomes } from "../state/result.ts";
import { concludeCheck, toRecordPut } from "./conclusion.ts";
import type { DriftDocument } from "./documents.ts";
import { DriftEnforcement } from "./enforcement.ts";
import { ScheduledChecks } from "./scheduled-checks.ts";
import {
  checkDriftInput,
  driftIdInput,
  listDriftInput,
  type DriftDetail,
  type DriftRecord,
} from "./schemas.ts";

/** Whether machines are still as their last successful apply left them. */
export class Drift {
  readonly #context: Context;
  readonly #agents: Agents;
  readonly #operations: Operations;
  readonly #enforcement: DriftEnforcement;
  readonly #work: BackgroundWork;
  readonly #scheduled: ScheduledChecks;

  constructor(
    context: Context,
    features: { agents: Agents; assignments: Assignments; operations: Operations },
  ) {
    this.#context = context;
    this.#agents = features.agents;
    this.#operations = features.operations;
    this.#enforcement = new DriftEnforcement(context, features);
    this.#work = new BackgroundWork(context);
    this.#scheduled = new ScheduledChecks(context, {
      operations: features.operations,
      work: this.#work,
      begin: (nodeId) => this.#begin(systemCaller, nodeId, "scheduled"),
    });
    features.operations.onEnd("check", async ({ operation, isCorrection }) => {
      const { node_id, operation_id } = operation;
      const known = await features.operations.stateOf(node_id);
      const isOld = isCorrection && (await this.#newestOf(node_id)) !== operation_id;
      return concludeCheck(context, operation, { known, isOld });
    });
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

  /**
   * Compares a machine with what its last successful apply made. Changes nothing on it.
   *
   * @returns The record; `running` where the check has not ended within `wait_seconds`.
   * @throws {OrchestratorError} `NOT_FOUND`; `AGENT_NOT_APPROVED`; `AGENT_OFFLINE`; `NO_BASELINE`.
   */
  async check(caller: Caller, input: z.input<typeof checkDriftInput>): Promise<DriftDetail> {
    await this.#context.authorize(caller, "drift.check");
    const { node_id, wait_seconds } = parseInput(checkDriftInput, input);
    const driftId = await this.#begin(caller, node_id, "manual");
    await this.#operations.wait(driftId, wait_seconds);
    return this.#detail(driftId);
  }

  /** Lists the checks of one agent, newest first. */
  async list(caller: Caller, input: z.input<typeof listDriftInput>): Promise<Page<DriftRecord>> {
    await this.#context.authorize(caller, "drift.list");
    const { node_id, limit = 50, cursor } = parseInput(listDriftInput, input);
    const page = await this.#context.storage.list<DriftDocument>("drift_records", {
      index: "by_node",
      equals: [node_id],
      order: "desc",
      limit,
      ...(cursor !== undefined && { after: String(decodeCursor("drift", { node_id }, cursor)) }),
    });
    return {
      items: page.items.map((item) => item.value),
      next_cursor: page.next === null ? null : encodeCursor("drift", { node_id }, page.next),
    };
  }

  /**
   * Reads the newest check of an agent that has ended.
   *
   * @throws {OrchestratorError} `NOT_FOUND` where there is none.
   */
  async latest(caller: Caller, input: z.input<typeof agentIdInput>): Promise<DriftDetail> {
    await this.#context.authorize(caller, "drift.latest");
    const { node_id } = parseInput(agentIdInput, input);
    const newest = await this.#newestOf(node_id);
    if (newest === null)
      throw new OrchestratorError("NOT_FOUND", { message: "This agent was never checked for drift." });
    return this.#detail(newest);
  }

  /**
   * Reads one check with the result of each resource.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof driftIdInput>): Promise<DriftDetail> {
    await this.#context.authorize(caller, "drift.get");
    return this.#detail(parseInput(driftIdInput, input).drift_id);
  }

  /** The newest check of an agent that has ended. */
  async #newestOf(nodeId: string): Promise<string | null> {
    const page = await this.#context.storage.list<DriftDocument>("drift_records", {
      index: "by_node",
      equals: [nodeId],
      order: "desc",
      limit: 20,
    });
    return page.items.find((item) => item.value.status !== "running")?.key ?? null;
  }

  /** The newest check of an agent stays, however old it is. */
  async #isNewest({ operation_id, node_id }: Readonly<OperationDocument>): Promise<boolean> {
    return (await this.#agents.isKnown(node_id)) && (await this.#newestOf(node_id)) === operation_id;
  }

  async #detail(driftId: string): Promise<DriftDetail> {
    const record = await this.#context.storage.get<DriftDocument>("drift_records", driftId);
    if (!record)
      throw new OrchestratorError("NOT_FOUND", { message: `There is no drift record ${driftId}.` });
    return { ...record.value, resources: (await this.#operations.resultsOf(driftId)).results };
  }

  /** Lets no check begin any more, and waits for what is being written. */
  stop(): Promise<void> {
    return this.#work.stop();
  }

  async #begin(caller: Caller, nodeId: string, trigger: DriftDocument["trigger"]): Promise<string> {
    const agent = await this.#agents.requireApproved(nodeId);
    const baseline = (await this.#operations.stateOf(nodeId))?.baseline;
    if (!baseline) throw new OrchestratorError("NO_BASELINE");
    if (!this.#context.transport.isConnected(nodeId)) throw new OrchestratorError("AGENT_OFFLINE");
    const name = agent.name ?? agent.hostname;
    const record = { node_id: nodeId, baseline_operation_id: baseline.operation_id };
    const requestedEvent = (id: string): EventInput => ({
      type: "drift.checkRequested",
      target: { type: "drift", id, name },
      summary: `A drift check of ${name} was requested`,
      metadata: record,
    });
    const { operation_id } = await this.#operations.request(caller, {
      kind: "check",
      nodeId,
      agentName: name,
      desired: { modules: [], resources: await this.#operations.snapshot(baseline.snapshot) },
      change: ([driftId = ""]) => ({
        writes: [toRecordPut({ ...record, ...this.#newRecord(driftId, trigger) }, 0)],
        // Nobody asked for a scheduled one; what it finds is told where it is news.
        events: trigger === "manual" ? [requestedEvent(driftId)] : [],
      }),
    });
    return operation_id;
  }

  #note(operation: Readonly<OperationDocument>): void {
    if (operation.kind !== "check" || operation.status === "queued" || operation.status === "running") return;
    this.#scheduled.ended(operation);
    this.#work.do(() => this.#enforcement.consider(operation));
  }

  #newRecord(
    driftId: string,
    trigger: DriftDocument["trigger"],
  ): Omit<DriftDocument, "node_id" | "baseline_operation_id"> {
    return {
      drift_id: driftId,
      status: "running",
      trigger,
      checked_at: this.#context.timestamp(),
      duration_ms: 0,
      counts: countOutcomes([]),
    };
  }
}

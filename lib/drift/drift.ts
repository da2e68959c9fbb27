import type { z } from "zod";
import type { Caller } from "../access/caller.ts";
import type { Agents } from "../agents/agents.ts";
import { agentIdInput } from "../agents/schemas.ts";
import type { Context, EventInput } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { JsonObject } from "../internal/json.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { OperationDocument } from "../operations/documents.ts";
import type { OperationChange } from "../operations/operation-store.ts";
import type { Operations } from "../operations/operations.ts";
import { countOutcomes } from "../state/result.ts";
import type { Write } from "../storage/storage.ts";
import type { DriftDocument } from "./documents.ts";
import {
  checkDriftInput,
  driftIdInput,
  listDriftInput,
  type DriftDetail,
  type DriftRecord,
  type DriftStatus,
} from "./schemas.ts";

/** Whether machines are still as their last successful apply left them. */
export class Drift {
  readonly #context: Context;
  readonly #agents: Agents;
  readonly #operations: Operations;

  constructor(context: Context, features: { agents: Agents; operations: Operations }) {
    this.#context = context;
    this.#agents = features.agents;
    this.#operations = features.operations;
    features.operations.onEnd("check", (operation) => this.#conclude(operation));
    features.agents.watch({
      available: () => {},
      dismissed: () => {},
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
    const agent = await this.#agents.requireApproved(node_id);
    const baseline = (await this.#operations.stateOf(node_id))?.baseline;
    if (!baseline) throw new OrchestratorError("NO_BASELINE");
    if (!this.#context.transport.isConnected(node_id)) throw new OrchestratorError("AGENT_OFFLINE");
    const name = agent.name ?? agent.hostname;
    const { operation_id } = await this.#operations.request(caller, {
      kind: "check",
      nodeId: node_id,
      agentName: name,
      desired: { modules: [], resources: await this.#operations.snapshot(baseline.snapshot) },
      change: ([driftId = ""]) => ({
        writes: [this.#toPut(this.#newRecord(driftId, node_id, baseline.operation_id))],
        events: [
          {
            type: "drift.checkRequested",
            target: { type: "drift", id: driftId, name },
            summary: `A drift check of ${name} was requested`,
            metadata: { node_id, baseline_operation_id: baseline.operation_id },
          },
        ],
      }),
    });
    await this.#operations.wait(operation_id, wait_seconds);
    return this.#detail(operation_id);
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
    const page = await this.#context.storage.list<DriftDocument>("drift_records", {
      index: "by_node",
      equals: [node_id],
      order: "desc",
      limit: 20,
    });
    const latest = page.items.find((item) => item.value.status !== "running");
    if (!latest)
      throw new OrchestratorError("NOT_FOUND", { message: "This agent was never checked for drift." });
    return this.#detail(latest.key);
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

  async #detail(driftId: string): Promise<DriftDetail> {
    const record = await this.#context.storage.get<DriftDocument>("drift_records", driftId);
    if (!record)
      throw new OrchestratorError("NOT_FOUND", { message: `There is no drift record ${driftId}.` });
    return { ...record.value, resources: (await this.#operations.resultsOf(driftId)).results };
  }

  /** What a check that has ended means: its record, and whether the machine left its baseline or came back to it. */
  async #conclude(operation: Readonly<OperationDocument>): Promise<OperationChange> {
    const { operation_id, node_id, agent_name, counts } = operation;
    const stored = await this.#context.storage.get<DriftDocument>("drift_records", operation_id);
    if (!stored) return {};
    const status = toDriftStatus(operation);
    const record: DriftDocument = {
      ...stored.value,
      status,
      counts,
      checked_at: this.#context.timestamp(),
      duration_ms: operation.duration_ms ?? 0,
    };
    const writes = [this.#toPut(record)];
    if (status !== "in_sync" && status !== "drifted") return { writes };
    const before = await this.#context.storage.get<{ drifted: boolean }>("drift_states", node_id);
    const wasDrifted = before?.value.drifted ?? false;
    const isDrifted = status === "drifted";
    if (wasDrifted === isDrifted) return { writes };
    const event: EventInput = {
      type: isDrifted ? "drift.detected" : "drift.resolved",
      target: { type: "agent", id: node_id, name: agent_name },
      summary: isDrifted
        ? `${agent_name} has drifted in ${counts.would_change} of ${counts.total} resources`
        : `${agent_name} is as it was applied again`,
      metadata: { drift_id: operation_id, counts: { ...counts } },
    };
    const value = { drifted: isDrifted };
    return {
      writes: [...writes, { kind: "put", collection: "drift_states", key: node_id, value }],
      events: [event],
    };
  }

  #newRecord(driftId: string, nodeId: string, baselineOperationId: string): DriftDocument {
    return {
      drift_id: driftId,
      node_id: nodeId,
      status: "running",
      baseline_operation_id: baselineOperationId,
      trigger: "manual",
      checked_at: this.#context.timestamp(),
      duration_ms: 0,
      counts: countOutcomes([]),
    };
  }

  #toPut(record: DriftDocument): Write {
    const value = { ...record } as unknown as JsonObject;
    return { kind: "put", collection: "drift_records", key: record.drift_id, value };
  }
}

function toDriftStatus({ status, counts }: Readonly<OperationDocument>): DriftStatus {
  if (status === "cancelled") return "cancelled";
  if (status !== "succeeded") return "failed";
  return counts.would_change > 0 ? "drifted" : "in_sync";
}

import type { z } from "zod";
import type { AgentService } from "../agents/agent-service.ts";
import { agentIdInput } from "../agents/schemas.ts";
import type { Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { OperationService } from "../operations/operation-service.ts";
import { toCounts } from "../state/result.ts";
import type { DriftDocument } from "./documents.ts";
import { toDetail, type DriftService } from "./drift-service.ts";
import {
  checkDriftInput,
  driftIdInput,
  listDriftInput,
  newestDriftInput,
  type AgentDrift,
  type DriftDetail,
  type DriftRecord,
} from "./schemas.ts";

/** Whether machines are still as their last successful apply left them. */
export class Drift {
  readonly #context: Context;
  readonly #service: DriftService;
  readonly #agents: AgentService;
  readonly #operations: OperationService;

  constructor(
    context: Context,
    service: DriftService,
    { agents, operations }: { agents: AgentService; operations: OperationService },
  ) {
    this.#context = context;
    this.#service = service;
    this.#agents = agents;
    this.#operations = operations;
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
    const { operation, record } = await this.#service.begin(caller, node_id, "manual");
    await this.#operations.wait(operation, wait_seconds);
    return this.#context.readBack(() => this.#detail(record.drift_id), toDetail(record, []));
  }

  /**
   * Lists the checks of one agent, newest first; of one that was removed, those that are kept.
   *
   * @throws {OrchestratorError} `NOT_FOUND` for an agent that there never was; `CURSOR_INVALID`.
   */
  async list(caller: Caller, input: z.input<typeof listDriftInput>): Promise<Page<DriftRecord>> {
    await this.#context.authorize(caller, "drift.list");
    const { node_id, limit = 50, cursor } = parseInput(listDriftInput, input);
    await this.#agents.requireRecord(node_id);
    const page = await this.#context.storage.list<DriftDocument>("drift_records", {
      index: "by_node",
      equals: [node_id],
      order: "desc",
      limit,
      ...(cursor !== undefined && { after: String(decodeCursor("drift", { node_id }, cursor)) }),
    });
    return {
      items: page.items.map(({ value }) => ({ ...value, counts: toCounts(value.counts) })),
      next_cursor: page.next === null ? null : encodeCursor("drift", { node_id }, page.next),
    };
  }

  /**
   * Lists what the newest check of each approved agent found, by node_id. An agent that was not checked since everything was applied on
   * it is not in the list.
   *
   * @throws {OrchestratorError} `SELECTOR_INVALID`; `CURSOR_INVALID`.
   */
  async newest(caller: Caller, input: z.input<typeof newestDriftInput> = {}): Promise<Page<AgentDrift>> {
    await this.#context.authorize(caller, "drift.newest");
    const { status, ...query } = parseInput(newestDriftInput, input);
    return this.#service.newest({ ...query, status: "approved", drift: status ?? "any" });
  }

  /**
   * Reads the newest check of an agent that has ended.
   *
   * @throws {OrchestratorError} `NOT_FOUND` where there is none.
   */
  async latest(caller: Caller, input: z.input<typeof agentIdInput>): Promise<DriftDetail> {
    await this.#context.authorize(caller, "drift.latest");
    const { node_id } = parseInput(agentIdInput, input);
    const newest = await this.#service.newestOf(node_id);
    if (newest === null) {
      await this.#agents.requireRecord(node_id);
      throw new OrchestratorError("NOT_FOUND", { message: "This agent was never checked for drift." });
    }
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

  async #detail(driftId: string): Promise<DriftDetail> {
    const record = await this.#context.storage.get<DriftDocument>("drift_records", driftId);
    if (!record)
      throw new OrchestratorError("NOT_FOUND", { message: `There is no drift record ${driftId}.` });
    const { results: resources } = await this.#operations.resultsOf(driftId);
    return toDetail(record.value, resources);
  }
}

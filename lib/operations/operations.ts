import type { z } from "zod";
import { endedByReturn } from "../access/streams.ts";
import type { AgentService } from "../agents/agent-service.ts";
import { agentIdInput } from "../agents/schemas.ts";
import type { Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { Tracked } from "../internal/stream-window.ts";
import type { MaintenanceService } from "../maintenance/maintenance-service.ts";
import { believe } from "./believed-state.ts";
import type { OperationDocument } from "./documents.ts";
import { isListed } from "./operation-kinds.ts";
import { listOperations } from "./operation-list.ts";
import type { OperationRequest } from "./operation-request.ts";
import { loadReport } from "./operation-results.ts";
import type { OperationService } from "./operation-service.ts";
import {
  applyInput,
  forgetInput,
  listAgentOperationsInput,
  listOperationsInput,
  operationIdInput,
  operationOfAgentInput,
  planInput,
  type BelievedState,
  type Operation,
  type OperationDetail,
  type OperationOutputList,
  type OperationWatchItem,
  watchOperationInput,
} from "./schemas.ts";
import { SingleRuns } from "./single-runs.ts";
import { requireTruth } from "./stored-plans.ts";
import { watchOperation } from "./watch.ts";

/** How long a call waits for the end of what it cancels while that waits. */
const cancelWaitMs = 2_000;

/** Plans and applies of single machines: what was asked, what happened, what is believed since. */
export class Operations {
  readonly #context: Context;
  readonly #service: OperationService;
  readonly #agents: AgentService;
  readonly #runs: SingleRuns;

  constructor(
    context: Context,
    service: OperationService,
    { agents, maintenance }: { agents: AgentService; maintenance: MaintenanceService },
  ) {
    this.#context = context;
    this.#service = service;
    this.#agents = agents;
    const { scopes, plans } = service;
    this.#runs = new SingleRuns(context, { agents, maintenance, scopes, plans });
  }

  /**
   * Makes a machine match what is desired of it: the modules of every assignment that matches, and those named.
   *
   * With `plan_id` it does exactly what that plan said, or nothing. A plan may be applied for as long as it is true: once it
   * was applied and changed something it says something else, and a second call with it is refused.
   *
   * @returns The operation, ended, or still open after `wait_seconds`.
   * @throws {OrchestratorError} What `DesiredStates.of` throws; `AGENT_NOT_APPROVED`; `AGENT_OFFLINE`;
   * `EMPTY_DESIRED_STATE`; `PLAN_STALE` where modules, params, what they use of the agent, or the machine are not as they were
   * for the plan (nothing was changed); `MAINTENANCE_WINDOW`; `FORBIDDEN` for `override_window` of who is no Admin; `TOO_MANY_REMOVALS` where it would remove more than `max_removals` (nothing was changed);
   * `INVALID_TRANSITION` for a plan that has not succeeded; `IN_USE` where a module would go that another requires.
   */
  async apply(caller: Caller, input: z.input<typeof applyInput>): Promise<Operation> {
    await this.#context.authorize(caller, "state.applyNow");
    const parsed = parseInput(applyInput, input);
    if (parsed.override_window) await this.#context.authorize(caller, "maintenanceWindows.update");
    return requireTruth(await this.#run(caller, "apply", parsed));
  }

  /**
   * Tells what {@link apply} with the same input would do. Changes nothing on the machine.
   *
   * @throws {OrchestratorError} What `DesiredStates.of` throws; `AGENT_NOT_APPROVED`; `AGENT_OFFLINE`; `IN_USE` where
   * a module would go that another requires.
   */
  async plan(caller: Caller, input: z.input<typeof planInput>): Promise<Operation> {
    await this.#context.authorize(caller, "state.plan");
    return this.#run(caller, "plan", parseInput(planInput, input));
  }

  /**
   * Has an agent drop ownership of what was applied, without touching it on the machine: nothing takes it back any more, and drift is not
   * told of it. What is still desired becomes owned again with its next apply. A module that a call named is named no longer once
   * all of it is forgotten.
   *
   * @returns The operation, ended, or still open after `wait_seconds`.
   * @throws {OrchestratorError} `NOT_FOUND` for an agent, and for what the agent does not own, named: nothing was forgotten then;
   * `AGENT_NOT_APPROVED`; `AGENT_OFFLINE`.
   */
  async forget(caller: Caller, input: z.input<typeof forgetInput>): Promise<Operation> {
    await this.#context.authorize(caller, "state.forget");
    const { node_id, resources, wait_seconds } = parseInput(forgetInput, input);
    const request = await this.#runs.prepareForgetting({ node_id, resources });
    return requireTruth(await this.#follow(caller, request, wait_seconds));
  }

  /** Lists operations of all agents, newest first. */
  async list(caller: Caller, input: z.input<typeof listOperationsInput> = {}): Promise<Page<Operation>> {
    await this.#context.authorize(caller, "operations.list");
    return listOperations(this.#service.parts, parseInput(listOperationsInput, input));
  }

  /**
   * Lists operations of one agent, newest first; of one that was removed, those that are kept.
   *
   * @throws {OrchestratorError} `NOT_FOUND` for an agent that there never was; `CURSOR_INVALID`.
   */
  async listForAgent(
    caller: Caller,
    input: z.input<typeof listAgentOperationsInput>,
  ): Promise<Page<Operation>> {
    await this.#context.authorize(caller, "operations.listForAgent");
    const query = parseInput(listAgentOperationsInput, input);
    await this.#agents.requireRecord(query.node_id);
    return listOperations(this.#service.parts, query);
  }

  /**
   * Reads an operation with the result of each resource.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof operationIdInput>): Promise<OperationDetail> {
    await this.#context.authorize(caller, "operations.get");
    const operation = await this.#readListed(parseInput(operationIdInput, input).operation_id);
    return {
      ...this.#service.parts.view(operation),
      resources: (await loadReport(this.#context, operation)).results,
    };
  }

  /**
   * Reads what the scripts of an operation printed.
   *
   * @throws {OrchestratorError} `NOT_FOUND`, also where the operation is another agent's.
   */
  async output(caller: Caller, input: z.input<typeof operationOfAgentInput>): Promise<OperationOutputList> {
    await this.#context.authorize(caller, "operations.output");
    const { node_id, operation_id } = parseInput(operationOfAgentInput, input);
    const operation = await this.#readListed(operation_id);
    if (operation.node_id !== node_id) throw notFound(operation_id);
    const { output } = await loadReport(this.#context, operation);
    return { operation_id, truncated: output.some((part) => part.truncated), output };
  }

  /**
   * Tells how an operation goes on: first the operation as it stands, then each resource as it is done and, to those who may
   * read it, what scripts print; `ended` comes last. Who comes later is told all of it. The stream ends with the session.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `RATE_LIMITED` where the session holds 32 streams open already.
   */
  watch(
    caller: Caller,
    input: z.input<typeof watchOperationInput>,
    signal?: AbortSignal,
  ): AsyncGenerator<Tracked<OperationWatchItem>, void> {
    return endedByReturn((left) => this.#watch(caller, input, left), signal);
  }

  async *#watch(
    caller: Caller,
    input: z.input<typeof watchOperationInput>,
    signal: AbortSignal,
  ): AsyncGenerator<Tracked<OperationWatchItem>, void> {
    await this.#context.authorize(caller, "operations.watch");
    const { operation_id: operationId } = parseInput(watchOperationInput, input);
    yield* watchOperation(this.#service.parts, { caller, operationId }, signal);
  }

  /**
   * Tells what is believed of a machine: what the newest applies left, against what is desired now, and who brings each of its modules.
   *
   * Where nobody can work out what is desired, because a pinned revision is gone, say, `error` tells why and all else is told as ever.
   *
   * @throws {OrchestratorError} `NOT_FOUND` for an agent.
   */
  async believed(caller: Caller, input: z.input<typeof agentIdInput>): Promise<BelievedState> {
    await this.#context.authorize(caller, "state.believed");
    const { node_id } = parseInput(agentIdInput, input);
    const { parts, scopes } = this.#service;
    return believe({ ...parts, scopes, agents: this.#agents }, node_id);
  }

  /**
   * Stops an operation: what waits ends at once, what runs ends after the change in progress, and a script that
   * runs is ended (SIGTERM, after 5 s SIGKILL).
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has ended.
   */
  async cancel(caller: Caller, input: z.input<typeof operationIdInput>): Promise<Operation> {
    await this.#context.authorize(caller, "operations.cancel");
    const { operation_id } = parseInput(operationIdInput, input);
    await this.#readListed(operation_id);
    const operation = await this.#service.requestCancel(caller, operation_id);
    // What waits ends at once; what runs, when its agent has stopped it.
    const waitMs = operation.status === "queued" ? cancelWaitMs : 0;
    return this.#service.parts.view(await this.#service.outcomes.wait(operation, waitMs));
  }

  async #run(caller: Caller, kind: "apply" | "plan", input: z.output<typeof applyInput>): Promise<Operation> {
    return this.#follow(caller, await this.#runs.prepare(kind, input), input.wait_seconds);
  }

  async #follow(
    caller: Caller,
    request: OperationRequest,
    waitSeconds: number | undefined,
  ): Promise<Operation> {
    const { view } = this.#service.parts;
    return this.#service.wait(await this.#service.request(caller, { ...request, answer: view }), waitSeconds);
  }

  async #readListed(operationId: string): Promise<Readonly<OperationDocument>> {
    const operation = await this.#service.store.read(operationId);
    if (!isListed(operation)) throw notFound(operationId);
    return operation;
  }
}

function notFound(operationId: string): OrchestratorError {
  return new OrchestratorError("NOT_FOUND", { message: `There is no operation ${operationId}.` });
}

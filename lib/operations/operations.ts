import type { z } from "zod";
import type { Caller } from "../access/caller.ts";
import type { Permission } from "../access/permissions.ts";
import type { Agents } from "../agents/agents.ts";
import type { Assignments } from "../assignments/assignments.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { Tracked } from "../internal/stream-window.ts";
import type { Streams } from "../access/streams.ts";
import type { Modules } from "../modules/modules.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { believe } from "./believed-state.ts";
import { DesiredStates, type DesiredReader } from "./desired-state.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { AgentStateDocument, OperationDocument } from "./documents.ts";
import { listOperations } from "./operation-list.ts";
import { OperationRetention } from "./operation-retention.ts";
import { requestedEvent, toDocument, type OperationRequest } from "./operation-request.ts";
import { Lanes } from "./lanes.ts";
import { loadReport } from "./operation-results.ts";
import type { OperationParts } from "./operation-parts.ts";
import { isOpen, operationSubject, OperationStore } from "./operation-store.ts";
import { toOperation } from "./operation-view.ts";
import { OutcomeRecorder, type Completion } from "./outcomes.ts";
import { ProgressFeeds } from "./progress-feeds.ts";
import {
  applyInput,
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
import { agentIdInput } from "../agents/schemas.ts";
import { findRepeatable } from "./repeated-baseline.ts";
import { SingleRuns } from "./single-runs.ts";
import { Snapshots } from "./snapshots.ts";
import { requireTruth, StoredPlans } from "./stored-plans.ts";
import { watchOperation } from "./watch.ts";

const defaultWaitSeconds = 30;

/** Plans and applies of single machines: what was asked, what happened, what is believed since. */
export class Operations {
  /** What agents say about operations; the orchestrator hands it what the transport hears. */
  readonly dispatcher: Dispatcher;
  /** What agents are doing, and which of them refuse whatever they are sent. */
  readonly lanes = new Lanes();
  /** Removes old ones; features say what of theirs is needed. */
  readonly retention: OperationRetention;
  readonly #context: Context;
  readonly #desired: DesiredStates;
  readonly #store: OperationStore;
  readonly #snapshots: Snapshots;
  readonly #runs: SingleRuns;
  readonly #outcomes: OutcomeRecorder;
  readonly #parts: OperationParts;

  constructor(
    context: Context,
    features: { agents: Agents; assignments: Assignments; modules: Modules; streams: Streams },
  ) {
    this.#context = context;
    this.#desired = new DesiredStates({ ...features, work: context.work });
    this.#store = new OperationStore(context);
    this.#snapshots = new Snapshots(context);
    const feeds = new ProgressFeeds();
    this.#outcomes = new OutcomeRecorder(context, { store: this.#store, feeds });
    const [store, snapshots, outcomes] = [this.#store, this.#snapshots, this.#outcomes];
    this.#parts = { context, store, snapshots, outcomes, feeds, streams: features.streams };
    const plans = new StoredPlans(context, { store, snapshots, desired: this.#desired });
    this.#runs = new SingleRuns(context, { agents: features.agents, desired: this.#desired, plans });
    this.dispatcher = new Dispatcher(context, { ...this.#parts, lanes: this.lanes });
    this.retention = new OperationRetention(context, features.agents);
    features.agents.watch({
      available: (nodeId) => this.dispatcher.available(nodeId),
      dismissed: (nodeId) => this.dispatcher.dismissed(nodeId),
      forget: (nodeId) => [{ kind: "delete", collection: "agent_states", key: nodeId }],
    });
  }

  /** Operations as they are kept, for features that follow those they made. */
  get store(): OperationStore {
    return this.#store;
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
   * for the plan (nothing was changed); `INVALID_TRANSITION` for a plan that has not succeeded.
   */
  async apply(caller: Caller, input: z.input<typeof applyInput>): Promise<Operation> {
    await this.#context.authorize(caller, "state.applyNow");
    return requireTruth(await this.#run(caller, "apply", parseInput(applyInput, input)));
  }

  /** Tells what {@link apply} with the same input would do. Changes nothing on the machine. */
  async plan(caller: Caller, input: z.input<typeof planInput>): Promise<Operation> {
    await this.#context.authorize(caller, "state.plan");
    return this.#run(caller, "plan", parseInput(planInput, input));
  }

  /** Lists operations of all agents, newest first. */
  async list(caller: Caller, input: z.input<typeof listOperationsInput> = {}): Promise<Page<Operation>> {
    return this.#list(caller, "operations.list", parseInput(listOperationsInput, input));
  }

  /** Lists operations of one agent, newest first. */
  async listForAgent(
    caller: Caller,
    input: z.input<typeof listAgentOperationsInput>,
  ): Promise<Page<Operation>> {
    return this.#list(caller, "operations.listForAgent", parseInput(listAgentOperationsInput, input));
  }

  /**
   * Reads an operation with the result of each resource.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof operationIdInput>): Promise<OperationDetail> {
    await this.#context.authorize(caller, "operations.get");
    const operation = await this.#readListed(parseInput(operationIdInput, input).operation_id);
    return { ...toOperation(operation), resources: (await loadReport(this.#context, operation)).results };
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
  async *watch(
    caller: Caller,
    input: z.input<typeof watchOperationInput>,
    signal?: AbortSignal,
  ): AsyncGenerator<Tracked<OperationWatchItem>, void> {
    const { operation_id: operationId } = parseInput(watchOperationInput, input);
    yield* watchOperation(this.#parts, { caller, operationId }, signal);
  }

  /** Tells what is believed of a machine: what the newest apply left, against what is desired now. */
  async believed(caller: Caller, input: z.input<typeof agentIdInput>): Promise<BelievedState> {
    await this.#context.authorize(caller, "state.believed");
    const { node_id } = parseInput(agentIdInput, input);
    const { resources } = await this.#desired.of(node_id);
    return believe(this.#parts, node_id, resources);
  }

  /**
   * Stops an operation: what waits ends at once, what runs ends after the change in progress.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has ended.
   */
  async cancel(caller: Caller, input: z.input<typeof operationIdInput>): Promise<Operation> {
    await this.#context.authorize(caller, "operations.cancel");
    const { operation_id } = parseInput(operationIdInput, input);
    await this.#readListed(operation_id);
    const { operation } = await this.#store.update(caller, operation_id, (before) => {
      if (!isOpen(before))
        throw new OrchestratorError("INVALID_TRANSITION", { message: "The operation has ended." });
      const subject = operationSubject(before)!;
      return {
        operation: { ...before, cancel_requested: true },
        events: [
          {
            type: "operation.cancelRequested",
            target: subject,
            summary: `Cancelling ${subject.name} was requested`,
          },
        ],
      };
    });
    await this.dispatcher.cancel(operation);
    return toOperation(await this.#outcomes.wait(operation_id, 0));
  }

  /** Makes an operation and puts it in line for its agent. */
  async request(caller: Caller, request: OperationRequest): Promise<Readonly<OperationDocument>> {
    const [operation] = await this.requestAll(caller, [request], request.change);
    return operation!;
  }

  /** Makes operations in one step, together with what `change` adds, and puts each in line for its agent. */
  async requestAll(
    caller: Caller,
    requests: readonly OperationRequest[],
    change?: OperationRequest["change"],
  ): Promise<Readonly<OperationDocument>[]> {
    const operations: OperationDocument[] = [];
    for (const request of requests) operations.push(await toDocument(this.#parts, caller, request));
    const added = change?.(operations.map(({ operation_id }) => operation_id)) ?? {};
    await this.#store.create(caller, operations, {
      ...added,
      events: [...operations.flatMap(requestedEvent), ...(added.events ?? [])],
    });
    for (const operation of operations) this.dispatcher.enqueue(operation);
    return operations;
  }

  /** Works out what machines are to be; see `DesiredReader`. */
  desiredReader(revisions: ReadonlyMap<string, number> = new Map()): DesiredReader {
    return this.#desired.reader(revisions);
  }

  /** Waits until an operation has ended, or for a time, and returns it as it is then. */
  async wait(operationId: string, waitSeconds: number = defaultWaitSeconds): Promise<Operation> {
    return toOperation(await this.#outcomes.wait(operationId, waitSeconds * 1000));
  }

  /** What is known of a machine since its newest applies; null where there was none. */
  async stateOf(nodeId: string): Promise<Readonly<AgentStateDocument> | null> {
    return (await this.#context.storage.get<AgentStateDocument>("agent_states", nodeId))?.value ?? null;
  }

  /** What is known of a machine where the baseline of an apply may be put back now; see `findRepeatable`. */
  repeatable(nodeId: string, operationId: string): ReturnType<typeof findRepeatable> {
    return findRepeatable(this.#context.storage, { nodeId, operationId });
  }

  /** The resources that a snapshot holds. */
  snapshot(hash: string): Promise<readonly ResolvedResource[]> {
    return this.#snapshots.load(hash);
  }

  /** The results of an operation, also of a drift check. */
  async resultsOf(operationId: string): ReturnType<typeof loadReport> {
    return loadReport(this.#context, await this.#store.read(operationId));
  }

  /** Has a feature add to the end of the operations of its kind. */
  onEnd(kind: OperationDocument["kind"], completion: Completion): void {
    this.#outcomes.onEnd(kind, completion);
  }

  /** Takes up what was open when the process ended; `expectsMore` says whether rollouts go on, too. */
  start(expectsMore: boolean): Promise<void> {
    return this.dispatcher.recover(expectsMore);
  }

  /** Lets those go who wait, and ends sending; what is open is taken up at the next start. */
  async stop(): Promise<void> {
    this.#outcomes.release();
    await this.dispatcher.stop();
  }

  async #run(caller: Caller, kind: "apply" | "plan", input: z.output<typeof applyInput>): Promise<Operation> {
    const { operation_id } = await this.request(caller, await this.#runs.prepare(kind, input));
    return this.wait(operation_id, input.wait_seconds);
  }

  async #list(
    caller: Caller,
    permission: Permission,
    query: z.output<typeof listOperationsInput>,
  ): Promise<Page<Operation>> {
    await this.#context.authorize(caller, permission);
    return listOperations(this.#context, query);
  }

  async #readListed(operationId: string): Promise<Readonly<OperationDocument>> {
    const operation = await this.#store.read(operationId);
    if (operation.kind === "check") throw notFound(operationId);
    return operation;
  }
}

function notFound(operationId: string): OrchestratorError {
  return new OrchestratorError("NOT_FOUND", { message: `There is no operation ${operationId}.` });
}

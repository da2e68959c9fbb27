import type { Streams } from "../access/streams.ts";
import type { AgentService } from "../agents/agent-service.ts";
import type { AssignmentService } from "../assignments/assignment-service.ts";
import { answering, type Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { DesiredStates, type DesiredReader } from "../desired-state/desired-states.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { MaintenanceService } from "../maintenance/maintenance-service.ts";
import type { ModuleService } from "../modules/module-service.ts";
import type { SecretService } from "../secrets/secret-service.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { ResourceResult } from "../state/result.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { expectAgentState, forgetAgentState, readAgentState } from "./agent-states.ts";
import { revisionsOf } from "./applied-modules.ts";
import { Baselines } from "./baselines.ts";
import { Beginnings } from "./beginnings.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { AgentStateDocument, OperationDocument } from "./documents.ts";
import type { HeldWork } from "./held-work.ts";
import { Lanes } from "./lanes.ts";
import { handOverNamed } from "./named-handover.ts";
import type { OperationParts } from "./operation-parts.ts";
import { requestedEvent, toDocument, type OperationRequest } from "./operation-request.ts";
import { eachResult, loadReport } from "./operation-results.ts";
import { OperationRetention } from "./operation-retention.ts";
import { factsOf, isOpen, operationSubject, OperationStore } from "./operation-store.ts";
import { toOperation } from "./operation-view.ts";
import { OutcomeRecorder, type Completion } from "./outcomes.ts";
import { ProgressFeeds } from "./progress-feeds.ts";
import { findRepeatable } from "./repeated-baseline.ts";
import { digestOfEnd, isSaid } from "./said-results.ts";
import type { Operation } from "./schemas.ts";
import { Scopes } from "./scopes.ts";
import { Snapshots } from "./snapshots.ts";
import { StateRecorder, type Settlement } from "./state-recorder.ts";
import { StoredPlans } from "./stored-plans.ts";

const defaultWaitSeconds = 30;
/** Operations that are told to end together, so that they are written together. */
const cancelsAtOnce = 100;

/** Operations for other features: makes them, has agents carry them out, and tells how they ended. Whoever asks has authorized. */
export class OperationService {
  /** What agents say about operations; the orchestrator hands it what the transport hears. */
  readonly dispatcher: Dispatcher;
  /** What agents are doing, and which of them refuse whatever they are sent. */
  readonly lanes = new Lanes();
  /** Removes old ones; features say what of theirs is needed. */
  readonly retention: OperationRetention;
  /** Operations as they are kept, for features that follow those they made. */
  readonly store: OperationStore;
  /** What operations of agents are about. */
  readonly scopes: Scopes;
  /** Plans that may be applied. */
  readonly plans: StoredPlans;
  readonly outcomes: OutcomeRecorder;
  readonly parts: OperationParts;
  readonly #context: Context;
  readonly #desired: DesiredStates;
  readonly #snapshots: Snapshots;
  readonly #baselines: Baselines;
  readonly #states: StateRecorder;

  constructor(
    context: Context,
    features: {
      agents: AgentService;
      assignments: AssignmentService;
      modules: ModuleService;
      maintenance: MaintenanceService;
      secrets: SecretService;
      streams: Streams;
    },
  ) {
    this.#context = context;
    this.#desired = new DesiredStates({ ...features, types: context.types, work: context.work });
    this.scopes = new Scopes(context, { desired: this.#desired, modules: features.modules });
    this.store = new OperationStore(context);
    this.#snapshots = new Snapshots(context);
    const { assignments } = features;
    this.plans = new StoredPlans(context, {
      store: this.store,
      snapshots: this.#snapshots,
      scopes: this.scopes,
      assignments,
    });
    const feeds = new ProgressFeeds();
    this.outcomes = new OutcomeRecorder(context, { store: this.store, feeds });
    this.#baselines = new Baselines(this.#snapshots);
    const kept = { snapshots: this.#snapshots, baselines: this.#baselines };
    const { secrets } = features;
    const states = new StateRecorder(context, { agents: features.agents, secrets, ...kept });
    this.#states = states;
    this.outcomes.onEnd("apply", (ended) => states.afterApply(ended));
    this.outcomes.onEnd("forget", (ended) => states.afterForgetting(ended));
    const { store, outcomes } = this;
    const snapshots = this.#snapshots;
    const holderOf = (): string => context.cluster.name;
    const view: OperationParts["view"] = (operation) => toOperation(operation, this.held.freezeOf(operation));
    const told = { outcomes, feeds, holderOf, view, streams: features.streams };
    this.parts = { context, store, snapshots, secrets, ...told };
    const beginnings = new Beginnings(context, features, this.lanes);
    const mayBegin: Beginnings["mayBegin"] = (operation) => beginnings.mayBegin(operation);
    const [{ presence, registry }, { maintenance }] = [features.agents, features];
    const isApproved = (nodeId: string): boolean => registry.isApproved(nodeId);
    const dispatched = { lanes: this.lanes, maintenance, presence, isApproved, mayBegin };
    this.dispatcher = new Dispatcher(context, { ...this.parts, ...dispatched });
    this.retention = new OperationRetention(context, features.agents);
    features.agents.watch({
      available: (nodeId) => this.dispatcher.available(nodeId),
      dismissed: (nodeId) => this.dispatcher.dismissed(nodeId),
      forget: (nodeId) => forgetAgentState(context, nodeId),
      replace: (replacement) => handOverNamed(context.storage, replacement),
    });
  }

  /** What maintenance windows keep from beginning. */
  get held(): HeldWork {
    return this.dispatcher.held;
  }

  /** Makes an operation, which comes in line for its agent. */
  async request(caller: Caller, request: OperationRequest): Promise<Readonly<OperationDocument>> {
    const [operation] = await this.requestAll(caller, [request], request.change);
    return operation!;
  }

  /** Makes operations in one step, together with what `change` adds; each comes in line for its agent. */
  async requestAll(
    caller: Caller,
    requests: readonly OperationRequest[],
    change?: OperationRequest["change"],
  ): Promise<Readonly<OperationDocument>[]> {
    const operations: OperationDocument[] = [];
    for (const request of requests) operations.push(await toDocument(this.parts, caller, request));
    for (const [at, { answer }] of requests.entries()) if (answer) answering(caller, answer(operations[at]!));
    const added = change?.(operations.map(({ operation_id }) => operation_id)) ?? {};
    await this.store.create(caller, operations, {
      ...added,
      events: [...operations.flatMap(requestedEvent), ...(added.events ?? [])],
    });
    return operations;
  }

  /** Works out what machines are to be; see `DesiredReader`. */
  desiredReader(): DesiredReader {
    return this.#desired.reader();
  }

  /** Has a feature add to the end of an apply that puts right whatever had drifted on a machine. */
  onSettled(settlement: Settlement): void {
    this.#states.onSettled(settlement);
  }

  /** Waits until an operation that was made has ended, or for a time, and returns it as it is then. Never rejects. */
  async wait(
    operation: Readonly<OperationDocument>,
    waitSeconds: number = defaultWaitSeconds,
  ): Promise<Operation> {
    return this.parts.view(await this.outcomes.wait(operation, waitSeconds * 1000));
  }

  /** What is known of a machine since its newest applies; null where there was none. */
  async stateOf(nodeId: string): Promise<Readonly<AgentStateDocument> | null> {
    return (await readAgentState(this.#context.storage, nodeId))?.value ?? null;
  }

  /** What is known of a machine where these modules of the baseline of an apply may be put back now; see `findRepeatable`. */
  repeatable(
    nodeId: string,
    { operationId, modules }: { operationId: string; modules: readonly string[] },
  ): ReturnType<typeof findRepeatable> {
    return findRepeatable(this.#context.storage, { nodeId, operationId, modules });
  }

  /** The revision of each module that is in place on a machine. */
  async appliedRevisions(nodeId: string): Promise<Map<string, number>> {
    return revisionsOf((await this.stateOf(nodeId))?.modules);
  }

  /** Holds a commit to what is known of a machine: it fails where an apply changed that meanwhile. */
  expectState(known: StoredDocument<AgentStateDocument>): Write {
    return expectAgentState(known);
  }

  /** The part of a baseline that some modules brought. */
  partOf(snapshot: string, modules: readonly string[]): ReturnType<Baselines["part"]> {
    return this.#baselines.part(snapshot, modules);
  }

  /** The resources that a snapshot holds. */
  snapshot(hash: string): Promise<readonly ResolvedResource[]> {
    return this.#snapshots.load(hash);
  }

  /** What an operation did and printed. */
  reportOf(operation: Readonly<OperationDocument>): ReturnType<typeof loadReport> {
    return loadReport(this.#context, operation);
  }

  /** What an operation was, would be or could not be brought to change, resource by resource, read as far as it is asked for. */
  async *saidBy(operation: Readonly<OperationDocument>): AsyncGenerator<ResourceResult, void> {
    for await (const result of eachResult(this.#context, operation)) if (isSaid(result)) yield result;
  }

  /** The digest of the end of an operation without results; see `OperationDocument.changes`. */
  digestOfEnd(end: Pick<OperationDocument, "kind" | "status" | "error">): Promise<string> {
    return digestOfEnd(this.#context, end, []);
  }

  /**
   * Has an operation stopped: what waits ends at once, what runs, when its agent has stopped it.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has ended.
   */
  async requestCancel(caller: Caller, operationId: string): Promise<Readonly<OperationDocument>> {
    const { operation } = await this.store.update(caller, operationId, (before) => {
      if (!isOpen(before))
        throw new OrchestratorError("INVALID_TRANSITION", {
          message: `The operation ${operationId} has ended: ${before.status}.`,
        });
      const subject = operationSubject(before)!;
      const cancelled = { ...before, cancel_requested: true };
      answering(caller, this.parts.view(cancelled));
      return {
        operation: cancelled,
        events: [
          {
            type: "operation.cancelRequested",
            target: subject,
            summary: `Cancelling ${subject.name} was requested`,
            metadata: factsOf(before),
          },
        ],
      };
    });
    return operation;
  }

  /** Takes what is in line for a rollout out of it. */
  async withdrawAll(rolloutId: string): Promise<void> {
    const waiting: string[] = [];
    for await (const { operation_id, status } of this.store.ofRollout(rolloutId))
      if (status === "queued") waiting.push(operation_id);
    // Begun together: of those that were begun while others are read, nobody would hear if they failed before that ended.
    await Promise.all(waiting.map((operationId) => this.dispatcher.withdraw(operationId)));
  }

  /** Has all that is open of a rollout stopped, as {@link requestCancel} does. Made again, it goes on with what it has not asked. */
  async cancelAll(caller: Caller, rolloutId: string): Promise<void> {
    const open: string[] = [];
    for await (const operation of this.store.ofRollout(rolloutId))
      if (isOpen(operation) && operation.cancel_requested !== true) open.push(operation.operation_id);
    const cancel = async (operationId: string): Promise<void> => {
      await this.requestCancel(caller, operationId).catch((error: unknown) => {
        // One that has ended meanwhile needs no end.
        if (!isOrchestratorError(error, "INVALID_TRANSITION")) throw error;
      });
    };
    for (let at = 0; at < open.length; at += cancelsAtOnce)
      await Promise.all(open.slice(at, at + cancelsAtOnce).map(cancel));
  }

  /** The results of an operation, also of a drift check. */
  async resultsOf(operationId: string): ReturnType<typeof loadReport> {
    return loadReport(this.#context, await this.store.read(operationId));
  }

  /** Has a feature add to the end of the operations of its kind. */
  onEnd(kind: OperationDocument["kind"], completion: Completion): void {
    this.outcomes.onEnd(kind, completion);
  }

  /** Takes up what was open when the process ended; `expectsMore` says whether rollouts go on, too. */
  start(expectsMore: boolean): Promise<void> {
    return this.dispatcher.recover(expectsMore);
  }

  /** Lets those go who wait, and ends sending; what is open is taken up at the next start. */
  async stop(): Promise<void> {
    this.outcomes.release();
    await this.dispatcher.stop();
  }
}

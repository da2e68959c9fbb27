/**
 * Brings operations to agents, one at a time for each agent, and waits for how they end.
 *
 *   queued ──sent──▶ running ──result──▶ succeeded | failed | partial | cancelled | timed_out | interrupted
 *     │                 │
 *     │                 └─nothing heard by the deadline─▶ unknown ──result after all──▶ (as above)
 *     └─cancelled, expired, or refused by the agent─▶ cancelled | failed
 *
 * An operation is `running` on disk before it is sent. Whatever happens in between, sending it again is safe: the agent runs one id once and
 * answers a second time with the result it kept. So after a restart of either side every running operation is simply sent again when its agent
 * is there, until its deadline (seconds allowed plus grace; after a start, not before agents had time to come back; see sweeper.ts). Of what
 * is unknown its agent is asked; see inquiries.ts. So it is of what was open in a backup that was restored; what waits of it begins only when
 * an operator has the server go on. A wish to cancel is on disk too, and follows the operation whenever it is sent. What can't be written is
 * tried again: an operation never stays open because the storage was full when it should have ended.
 */
import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { Turns } from "../internal/turns.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { AgentAnswers } from "./agent-answers.ts";
import { bringNear, toBegun } from "./begun.ts";
import { Commands } from "./commands.ts";
import { cancelled, offline, overtaken, rejected, unsent } from "./conclusions.ts";
import type { OperationDocument } from "./documents.ts";
import { HeldWork } from "./held-work.ts";
import { Inquiries } from "./inquiries.ts";
import { LeftToOthers, returnMs, type Lanes } from "./lanes.ts";
import type { DispatchParts } from "./operation-parts.ts";
import { isOpen, type OperationStore } from "./operation-store.ts";
import type { Outcome, OutcomeRecorder } from "./outcomes.ts";
import type { ProgressFeeds } from "./progress-feeds.ts";
import type { OperationStatus } from "./schemas.ts";
import { Sweeper } from "./sweeper.ts";
import { ToldSecrets } from "./told-secrets.ts";

type Operation = Readonly<OperationDocument>;

/** Messages to and results of agents that are worked on in one turn of the event loop: each takes up to a millisecond. */
const perTurn = 4;

export class Dispatcher {
  /** What agents say about operations. */
  readonly answers: AgentAnswers;
  /** What maintenance windows keep from beginning. */
  readonly held: HeldWork;
  readonly #context: Context;
  readonly #store: OperationStore;
  readonly #commands: Commands;
  readonly #told: ToldSecrets;
  readonly #inquiries: Inquiries;
  readonly #outcomes: OutcomeRecorder;
  readonly #feeds: ProgressFeeds;
  readonly #lanes: Lanes;
  readonly #work: BackgroundWork;
  readonly #sweeper: Sweeper;
  readonly #left: LeftToOthers;
  readonly #rules: Pick<DispatchParts, "presence" | "mayBegin" | "isApproved">;
  readonly #turns = new Turns(perTurn);
  #stopped = false;
  /** Whether agents are given time to come back after a start: who is not there yet is not away. */
  #returning = false;

  constructor(context: Context, parts: DispatchParts) {
    [this.#context, this.#store, this.#rules] = [context, parts.store, parts];
    [this.#outcomes, this.#feeds, this.#lanes] = [parts.outcomes, parts.feeds, parts.lanes];
    this.#told = new ToldSecrets(parts);
    this.#commands = new Commands(context, { ...parts, told: this.#told, turns: this.#turns });
    const answered = (nodeId: string): void => this.#work.do(() => this.#takeNext(nodeId));
    this.#inquiries = new Inquiries({ ...parts, epochs: context.epochs, commands: this.#commands, answered });
    context.epochs.onResume(() => {
      this.#lanes.release();
      this.#takeAll();
    });
    const work = (this.#work = new BackgroundWork(context));
    const end = (operationId: string, outcome: Outcome): Promise<boolean> => this.#end(operationId, outcome);
    this.#left = new LeftToOthers({ ...parts, work }, answered);
    this.held = new HeldWork(context, { ...parts, work, take: answered });
    parts.maintenance.watch(() => this.#takeAll());
    this.#sweeper = new Sweeper(context, { ...parts, work, end, expired: (each) => this.held.expired(each) });
    this.answers = new AgentAnswers(context, {
      ...parts,
      inquiries: this.#inquiries,
      commands: this.#commands,
      told: this.#told,
      turns: this.#turns,
      end,
      settle: (operation) => this.#settle(operation),
    });
    this.#store.watch((after, before) => this.#follow(after, before));
  }

  /** Takes up what was open. Until agents had time to come back, none counts as away; `expectsMore` of what others take up. */
  async recover(expectsMore: boolean): Promise<void> {
    this.#returning = true;
    let isAwaited = expectsMore;
    await this.#store.load();
    await this.#inquiries.load();
    for await (const operation of this.#store.open()) {
      isAwaited = true;
      this.#inquiries.take(operation);
      this.#work.do(() => bringNear(this.#context, this.#store, operation));
      if (operation.status === "running") this.#await(operation);
      else this.#enqueue(operation);
    }
    this.#sweeper.start(isAwaited ? returnMs : 0);
    this.#returning = isAwaited;
    if (isAwaited) this.#work.after(returnMs, async () => ((this.#returning = false), this.#takeAll()));
  }

  /** Has all begin that waited for agents to come back, or for an operator's word after a restore. */
  #takeAll(): void {
    this.#lanes.lookAgain();
    for (const nodeId of this.#lanes.waiting()) this.#work.do(() => this.#takeNext(nodeId));
  }

  /** Stops sending and waits for what is being written. Open operations are taken up at the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#work.stop();
  }

  /** What was asked for, or how an operation ended, as it is on disk: whoever wrote it. */
  #follow(after: Operation, before: OperationStatus | null): void {
    if (!isOpen(after)) this.#settle(after);
    else if (after.status === "queued" && before === null) this.#enqueue(after);
    else if (after.cancel_requested === true && before === after.status)
      this.#work.do(() => this.#cancel(after));
  }

  /** Puts an operation in line for its agent. */
  #enqueue(operation: Operation): void {
    this.#lanes.join(operation, { isHeld: this.#context.epochs.isHeld(operation) });
    this.#work.do(() => this.#takeNext(operation.node_id));
  }

  /** An agent may be given work: what is running is sent again, then the next in line. */
  available(nodeId: string): void {
    this.#work.do(() => this.#resume(nodeId));
  }

  /** An agent may not be given work any more: what waits for it ends. */
  dismissed(nodeId: string): void {
    for (const id of this.#lanes.dismiss(nodeId)) this.#work.do(() => this.#end(id, rejected));
  }

  /** Ends an operation that still waits; false where it does not. */
  withdraw(operationId: string): Promise<boolean> {
    return this.#end(operationId, cancelled);
  }

  /** Ends what waits, and asks the agent to stop what runs. */
  async #cancel(operation: Operation): Promise<void> {
    const isOver = await this.withdraw(operation.operation_id);
    // What waits here may run there, where it was begun after the backup was made.
    if (isOver && !this.#context.epochs.isBefore(operation)) return;
    await this.#sendCancel(operation);
  }

  async #resume(nodeId: string): Promise<void> {
    const running = this.#lanes.runningOf(nodeId);
    const operation = running && (await this.#store.find(running.operationId));
    if (operation?.status === "running") await this.#tell(operation);
    await this.#inquiries.askAll(nodeId);
    await this.#takeNext(nodeId);
  }

  /** Has an agent that is back go on with what it was given. What a backup says that it was given, it is only asked about. */
  async #tell(operation: Operation): Promise<void> {
    if (!this.#context.epochs.isBefore(operation)) await this.#commandAgain(operation);
    else if (operation.cancel_requested === true) await this.#sendCancel(operation);
  }

  /** Starts the oldest that waits. Of an agent that is away, those that may wait go on waiting, and the others end. */
  async #takeNext(nodeId: string): Promise<void> {
    const lane = this.#lanes.of(nodeId);
    lane.asked = true;
    if (lane.taking) return;
    lane.taking = true;
    try {
      while (lane.asked) {
        lane.asked = false;
        for (const operationId of lane.queue) {
          if (lane.running || this.#stopped) return;
          if (this.#lanes.isHeld(operationId)) continue;
          // Also where the process ended before it heard that the agent was rejected.
          if (!this.#rules.isApproved(nodeId)) await this.#end(operationId, rejected);
          else if (!this.#lanes.isPatient(operationId) || this.#rules.presence.isConnected(nodeId))
            await this.#take(nodeId, operationId);
        }
      }
    } finally {
      this.#lanes.taken(nodeId);
    }
  }

  /** Starts an operation that waits, or ends it, or leaves it in line: that of a backup until its agent has answered. */
  async #take(nodeId: string, operationId: string): Promise<void> {
    const operation = await this.#store.find(operationId);
    if (operation?.status !== "queued") this.#lanes.leave(nodeId, operationId);
    else if (operation.cancel_requested === true) await this.#end(operationId, cancelled);
    else if (this.held.holds(operation)) return;
    else if (!(await this.#rules.mayBegin(operation))) await this.#end(operationId, overtaken);
    else if (this.#rules.presence.isConnected(nodeId)) {
      if (this.#inquiries.isUnanswered(operationId)) return;
      if (this.#lanes.head(nodeId, this.#inquiries) === operationId) await this.#begin(operation);
      // The agent came while the line was gone through: its head is first all the same.
      else this.#lanes.of(nodeId).asked = true;
    } else if (operation.queue_until !== undefined || this.#returning || this.#context.isDraining)
      this.#lanes.waits(operation);
    else if (this.#left.has(operation)) this.#lanes.waits(operation);
    else await this.#end(operationId, offline);
  }

  /** Marks an operation as running on disk, then sends it. */
  async #begin(operation: Operation): Promise<void> {
    const { operation: begun, changed } = await this.#store.update(
      systemCaller,
      operation.operation_id,
      // A window may have begun while it was looked at.
      (before) =>
        before.status === "queued" && !this.held.holds(before)
          ? { operation: toBegun(this.#context, before) }
          : null,
    );
    if (begun.status === "queued") return;
    this.#lanes.leave(operation.node_id, operation.operation_id);
    if (!changed) return;
    this.#await(begun);
    this.#feeds.push(begun.operation_id, { type: "operation", operation: begun });
    const send = (): Promise<void> => this.#send(begun.operation_id);
    await send().catch(() => this.#work.do(send));
  }

  /** Sends what has just begun; rejects where that may go well the next time. */
  async #send(operationId: string): Promise<void> {
    const operation = await this.#store.find(operationId);
    if (operation?.status !== "running") return;
    await this.#command(operation).catch((error: unknown) => this.#end(operationId, unsent(error)));
  }

  /** Takes the agent's lane for an operation that is running, until it ends or its deadline passes. */
  #await(operation: Operation): void {
    const { operation_id, node_id, deadline_at = 0 } = operation;
    const none = { commandId: null, cancelId: null, isDoubted: false };
    this.#lanes.of(node_id).running = { operationId: operation_id, deadlineAt: deadline_at, ...none };
    this.#told.expect(operation);
  }

  async #command(operation: Operation, how: "run" | "ask" = "run"): Promise<void> {
    const running = this.#lanes.runningOf(operation.node_id);
    const id = this.#commands.nextId();
    // What is asked is late on purpose: that is no sign of a clock that is wrong.
    if (running?.operationId === operation.operation_id)
      Object.assign(running, { commandId: id, ...(how === "ask" && { isDoubted: true }) });
    await this.#commands[how](id, operation);
    // Read again, until it can be: a wish to cancel may have overtaken the command, or found the agent away.
    this.#work.do(async () => {
      const now = await this.#store.find(operation.operation_id);
      if (now?.status === "running" && now.cancel_requested === true) await this.#sendCancel(now);
    });
  }

  /** Where it may not begin now, an agent that has the operation goes on with it, and one that has not must not begin. */
  async #commandAgain(operation: Operation): Promise<void> {
    if (this.held.forbids(operation)) return this.#command(operation, "ask");
    try {
      await this.#command(operation);
    } catch (error) {
      if (!isOrchestratorError(error, "SECRET_UNAVAILABLE")) throw error;
      await this.#command(operation, "ask");
    }
  }

  async #sendCancel(operation: Operation): Promise<void> {
    const running = this.#lanes.runningOf(operation.node_id);
    const id = this.#commands.nextId();
    if (running?.operationId === operation.operation_id) running.cancelId = id;
    await this.#commands.cancel(id, operation);
  }

  /** Writes how an operation ended and gives its lane to the next; false where the outcome does not count any more. */
  async #end(operationId: string, outcome: Outcome): Promise<boolean> {
    const truth = this.#inquiries.truthOf(operationId, outcome);
    const { operation, changed } = await this.#outcomes.record(operationId, truth);
    if (isOpen(operation)) return changed;
    const { node_id, status } = operation;
    if (changed && status === "unknown") this.#work.do(() => this.#inquiries.ask(node_id, operationId));
    if (!changed) this.#settle(operation);
    return changed;
  }

  /** Gives the lane of an operation that has ended to the next. */
  #settle({ node_id, operation_id }: Operation): void {
    this.#lanes.end(node_id, operation_id);
    this.#told.end(operation_id);
    this.#work.do(() => this.#takeNext(node_id));
  }
}

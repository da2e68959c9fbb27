/**
 * Brings operations to agents, one at a time for each agent, and waits for how they end.
 *
 *   queued ──sent──▶ running ──result──▶ succeeded | failed | partial | cancelled | timed_out | interrupted
 *     │                 │
 *     │                 └─nothing heard by the deadline─▶ unknown ──result after all──▶ (as above)
 *     └─cancelled, expired, or refused by the agent─▶ cancelled | failed
 *
 * An operation is `running` on disk before it is sent. Whatever happens in between, sending it again is safe: the agent
 * runs one id once and answers a second time with the result it kept. So after a restart of either side every running
 * operation is simply sent again when its agent is there, until its deadline (seconds allowed plus grace). A wish to
 * cancel is on disk too, and follows the operation whenever it is sent. What can't be written is tried again: an operation
 * never stays open because the storage was full when it should have ended.
 */
import { systemCaller } from "../access/caller.ts";
import { BackgroundWork } from "../background-work.ts";
import type { Timer } from "../clock.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { Turns } from "../internal/turns.ts";
import type { AgentMessage, MessageOf, OrchestratorMessage } from "../wire/messages.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { OperationDocument } from "./documents.ts";
import { Lanes, noticeMs, returnMs } from "./lanes.ts";
import { isOpen, type OperationStore } from "./operation-store.ts";
import { cancelled, offline, overtaken, rejected, unheard } from "./conclusions.ts";
import type { Outcome, OutcomeRecorder } from "./outcomes.ts";
import type { ProgressFeeds } from "./progress-feeds.ts";
import { mayBegin } from "./repeated-baseline.ts";
import type { Snapshots } from "./snapshots.ts";

type Operation = Readonly<OperationDocument>;

/** Messages to and results of agents that are worked on in one turn of the event loop: each takes up to a millisecond. */
const perTurn = 4;

export class Dispatcher {
  readonly #context: Context;
  readonly #store: OperationStore;
  readonly #snapshots: Snapshots;
  readonly #outcomes: OutcomeRecorder;
  readonly #feeds: ProgressFeeds;
  readonly #lanes = new Lanes();
  readonly #expiries = new Map<string, Timer>();
  readonly #work: BackgroundWork;
  readonly #turns = new Turns(perTurn);
  #stopped = false;
  /** Whether agents are given time to come back after a start: who is not there yet is not away. */
  #returning = false;

  constructor(
    context: Context,
    parts: { store: OperationStore; snapshots: Snapshots; outcomes: OutcomeRecorder; feeds: ProgressFeeds },
  ) {
    this.#context = context;
    this.#store = parts.store;
    this.#snapshots = parts.snapshots;
    this.#outcomes = parts.outcomes;
    this.#feeds = parts.feeds;
    this.#work = new BackgroundWork(context);
  }

  /** Takes up what was open. Until agents had time to come back, none counts as away; `expectsMore` of what others take up. */
  async recover(expectsMore: boolean): Promise<void> {
    this.#returning = true;
    let isAwaited = expectsMore;
    for await (const operation of this.#store.open()) {
      isAwaited = true;
      if (operation.status === "running") this.#await(operation);
      else this.enqueue(operation);
    }
    if (isAwaited) this.#work.after(returnMs, () => this.#endReturn());
    else this.#returning = false;
  }

  async #endReturn(): Promise<void> {
    this.#returning = false;
    for (const nodeId of this.#lanes.waiting()) this.#work.do(() => this.#takeNext(nodeId));
  }

  /** Stops sending and waits for what is being written. Open operations are taken up at the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#work.stop();
  }

  /** Puts a stored operation in line for its agent. */
  enqueue(operation: Operation): void {
    const { operation_id, node_id, queue_until } = operation;
    this.#lanes.of(node_id).queue.push(operation_id);
    if (queue_until !== undefined) {
      const waitMs = queue_until - this.#context.clock.now();
      const expire = (): Promise<unknown> => this.#end(operation_id, offline);
      this.#expiries.set(operation_id, this.#work.after(waitMs, expire));
    }
    this.#work.do(() => this.#takeNext(node_id));
  }

  /** An agent may be given work: what is running is sent again, then the next in line. */
  available(nodeId: string): void {
    this.#work.do(() => this.#resume(nodeId));
  }

  /** An agent may not be given work any more: what waits for it ends. */
  dismissed(nodeId: string): void {
    for (const operationId of this.#lanes.of(nodeId).queue)
      this.#work.do(() => this.#end(operationId, rejected));
  }

  /** Ends an operation that still waits; false where it does not. */
  withdraw(operationId: string): Promise<boolean> {
    return this.#end(operationId, cancelled);
  }

  /** Ends what waits, and asks the agent to stop what runs. */
  async cancel(operation: Operation): Promise<void> {
    if (await this.withdraw(operation.operation_id)) return;
    await this.#sendCancel(operation);
  }

  /** An agent took a command or refused it. */
  async reply(nodeId: string, message: MessageOf<AgentMessage, "reply">): Promise<void> {
    const running = this.#lanes.of(nodeId).running;
    if (!message.error || !running || running.commandId !== message.id) return;
    await this.#end(running.operationId, { status: "failed", error: message.error });
  }

  /** An agent tells what it has done so far of the operation that it was given; of any other it has nothing to tell. */
  progress(nodeId: string, message: MessageOf<AgentMessage, "progress" | "output">): void {
    if (this.#lanes.of(nodeId).running?.operationId !== message.operation_id) return;
    const step =
      message.type === "progress"
        ? ({ type: "resources", resources: message.results } as const)
        : ({ type: "output", output: message.output } as const);
    this.#feeds.push(message.operation_id, step);
  }

  /**
   * An agent tells how an operation ended. It is on disk before it is acknowledged, and kept once however often it comes.
   * One that nobody here knows (the storage was restored from a backup) is acknowledged too, or it would come for ever.
   *
   * @throws {OrchestratorError} `PROTOCOL_ERROR` where the operation is another agent's, or was never sent.
   */
  async result(nodeId: string, message: MessageOf<AgentMessage, "result">): Promise<void> {
    const { operation_id } = message;
    await this.#turns.next();
    const operation = await this.#store.find(operation_id);
    if (operation && (operation.node_id !== nodeId || operation.status === "queued")) {
      throw new OrchestratorError("PROTOCOL_ERROR", {
        message: "The agent sent a result of an operation that is not its own.",
      });
    }
    const names = { node_id: nodeId, operation_id };
    if (operation) await this.#end(operation_id, message);
    else this.#context.logger.warn("An agent sent a result that nobody waits for.", names);
    await this.#send(nodeId, { type: "ack", ...this.#notice(operation_id) });
  }

  async #resume(nodeId: string): Promise<void> {
    const { running } = this.#lanes.of(nodeId);
    const operation = running && (await this.#store.find(running.operationId));
    if (operation?.status === "running") await this.#command(operation);
    await this.#takeNext(nodeId);
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
          await this.#take(nodeId, operationId);
        }
      }
    } finally {
      lane.taking = false;
    }
  }

  /** Starts an operation that waits, or ends it, or leaves it in line. */
  async #take(nodeId: string, operationId: string): Promise<void> {
    const operation = await this.#store.find(operationId);
    if (operation?.status !== "queued") this.#leaveQueue(nodeId, operationId);
    else if (operation.cancel_requested === true) await this.#end(operationId, cancelled);
    else if (!(await mayBegin(this.#context.storage, operation))) await this.#end(operationId, overtaken);
    else if (this.#context.transport.isConnected(nodeId)) {
      const lane = this.#lanes.of(nodeId);
      if (lane.queue[0] === operationId) await this.#begin(operation);
      // The agent came while the line was gone through: its head is first all the same.
      else lane.asked = true;
    } else if (operation.queue_until === undefined && !this.#returning) await this.#end(operationId, offline);
  }

  /** Marks an operation as running on disk, then sends it. */
  async #begin(operation: Operation): Promise<void> {
    const now = this.#context.clock.now();
    const deadlineAt = now + this.#longestMs(operation);
    const started = { status: "running", started_at: toTimestamp(now), deadline_at: deadlineAt } as const;
    const { operation: begun, changed } = await this.#store.update(
      systemCaller,
      operation.operation_id,
      (before) => (before.status === "queued" ? { operation: { ...before, ...started } } : null),
    );
    this.#leaveQueue(operation.node_id, operation.operation_id);
    if (!changed) return;
    this.#await(begun);
    this.#feeds.push(begun.operation_id, { type: "operation", operation: begun });
    try {
      await this.#command(begun);
    } catch (error) {
      // It can't be sent at all, e.g. because it is too large: nothing runs, and nothing will be heard.
      const { code, message } = isOrchestratorError(error) ? error : new OrchestratorError("INTERNAL");
      await this.#end(begun.operation_id, { status: "failed", error: { code, message } });
    }
  }

  /** Takes the agent's lane for an operation that is running, until it ends or its deadline passes. */
  #await(operation: Operation): void {
    const { operation_id, node_id, deadline_at = 0 } = operation;
    // A clock that was set back while the process was away must not make the wait longer than it is at the start.
    const waitMs = Math.min(deadline_at - this.#context.clock.now(), this.#longestMs(operation));
    const deadline = this.#work.after(waitMs, () => this.#end(operation_id, unheard));
    this.#lanes.of(node_id).running = { operationId: operation_id, commandId: null, deadline };
  }

  /** How long an operation may take until its result is no longer awaited. */
  #longestMs({ timeout_seconds }: Operation): number {
    return (timeout_seconds + this.#context.options.operationGraceSeconds) * 1000;
  }

  async #command(operation: Operation): Promise<void> {
    const { running } = this.#lanes.of(operation.node_id);
    const { kind, operation_id, timeout_seconds, allow_empty, plan_digest, deadline_at = 0 } = operation;
    const command = {
      id: this.#context.ids.next(),
      operation_id,
      timeout_seconds,
      // No copy: the list itself is what its canonical text is remembered by.
      resources: (await this.#snapshots.load(operation.snapshot)) as ResolvedResource[],
      not_after: toTimestamp(deadline_at),
    };
    if (running?.operationId === operation_id) running.commandId = command.id;
    const applies = { ...command, allow_empty, ...(plan_digest !== undefined && { plan_digest }) };
    const message = kind === "apply" ? { type: kind, ...applies } : { type: kind, ...command };
    await this.#send(operation.node_id, message);
    // Read again: a wish to cancel may have overtaken the command, or found the agent away.
    const now = await this.#store.read(operation_id);
    if (now.status === "running" && now.cancel_requested === true) await this.#sendCancel(now);
  }

  async #sendCancel({ node_id, operation_id }: Operation): Promise<void> {
    await this.#send(node_id, { type: "cancel", ...this.#notice(operation_id) });
  }

  /** Writes how an operation ended and gives its lane to the next; false where the outcome does not count any more. */
  async #end(operationId: string, outcome: Outcome): Promise<boolean> {
    const { operation, changed } = await this.#outcomes.record(operationId, outcome);
    if (isOpen(operation)) return changed;
    this.#leaveQueue(operation.node_id, operationId);
    const lane = this.#lanes.of(operation.node_id);
    if (lane.running?.operationId === operationId) {
      lane.running.deadline.cancel();
      lane.running = null;
    }
    this.#work.do(() => this.#takeNext(operation.node_id));
    return changed;
  }

  #leaveQueue(nodeId: string, operationId: string): void {
    this.#expiries.get(operationId)?.cancel();
    this.#expiries.delete(operationId);
    const lane = this.#lanes.of(nodeId);
    lane.queue = lane.queue.filter((id) => id !== operationId);
  }

  /** What a message about an operation carries that is no run of it. */
  #notice(operationId: string): { id: string; operation_id: string; not_after: string } {
    const notAfter = toTimestamp(this.#context.clock.now() + noticeMs);
    return { id: this.#context.ids.next(), operation_id: operationId, not_after: notAfter };
  }

  /** Sends; an agent that has just gone is no fault here: it gets the message when it is back. */
  async #send(nodeId: string, message: OrchestratorMessage): Promise<void> {
    await this.#turns.next();
    try {
      await this.#context.transport.send(nodeId, message);
    } catch (error) {
      if (!isOrchestratorError(error, "AGENT_OFFLINE")) throw error;
      this.#context.logger.debug("A message could not be sent.", { node_id: nodeId, type: message.type });
    }
  }
}

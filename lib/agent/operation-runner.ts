/**
 * Runs what the orchestrator orders, one operation at a time, in the order of acceptance.
 *
 * ```
 * submit -> refused (nothing is kept)
 *        -> queued (in the journal) -> running -> finished (in the journal) -> delivered by the agent
 *              |                         |
 *            cancel                    cancel, time limit, stop, cut
 * ```
 * What is queued when the agent stops or dies ends `interrupted` at the next start, as what was running does.
 */
import type { Clock } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import type { Logger } from "../logger.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import { claimsOn, Scope } from "../state/run/claims.ts";
import type { PeerError } from "../wire/messages.ts";
import type { AppliedSet } from "./applied-set.ts";
import { isOperationId } from "./operation-id.ts";
import type { OperationJournal } from "./operation-journal.ts";
import type { ProgressSink } from "./operation-progress.ts";
import type { OpenSecrets } from "./operation-secrets.ts";
import { toPeerError } from "./peer-error.ts";
import type { OperationCommand } from "./run-context.ts";
import { type OperationOutcome, runOperation } from "./run-operation.ts";

/** What the runner works with. */
export interface OperationRunnerOptions {
  journal: OperationJournal;
  applied: AppliedSet;
  host: Host;
  clock: Clock;
  logger: Logger;
  types: ResourceTypes;
  /** Default: an operation with secrets fails. */
  openSecrets?: OpenSecrets;
  /** Wall clock of the orchestrator, as far as it is known: its deadlines are by it. Milliseconds since 1970. */
  orchestratorNow: () => number;
  /** Whether the machine's owner lets operators run commands. */
  runsCommands: boolean;
  /** Gets progress and output as they come; may lose them. */
  progress: ProgressSink;
  /** Called when an operation has ended and its result is in the journal. */
  ended: (outcome: OperationOutcome) => void;
}

/** Operations that may wait. */
const maxQueued = 100;

/** An operation that was accepted and has not ended. */
interface PendingOperation {
  command: OperationCommand;
  stop: AbortController;
  /** Until when it may begin, by the clock that never goes back. */
  beginByMs: number;
}

/** Runs operations. Their life is at the head of this file. */
export class OperationRunner {
  readonly #options: OperationRunnerOptions;
  readonly #queue: PendingOperation[] = [];
  #running: PendingOperation | null = null;
  #done: Promise<void> = Promise.resolve();
  #stopping = false;
  readonly #cut = new AbortController();
  readonly #ending = new AbortController();

  constructor(options: OperationRunnerOptions) {
    this.#options = options;
  }

  /**
   * Takes an operation on, durably. One that was ever accepted is accepted again and not run again.
   *
   * How long it may wait is measured from now on by the count of this process, whatever becomes of any clock.
   *
   * @throws {OrchestratorError} `RESULT_GONE` where it has ended and nothing but its id is left, or, to one that only asks, not even that.
   * @throws {OrchestratorError} `COMMAND_EXPIRED` after its time; `EMPTY_DESIRED_STATE` for an apply of nothing over
   * something without `allow_empty`; `COMMANDS_REFUSED`; `UNAVAILABLE` when 100 wait; `STORAGE_FULL` or `STORAGE_FAILED` where it can't be kept.
   */
  submit(command: OperationCommand): void {
    const { journal } = this.#options;
    if (!isOperationId(command.operation_id)) {
      throw new OrchestratorError("VALIDATION_FAILED", {
        message: "An operation id must be a lower-case UUID.",
      });
    }
    // One whose time was never only asks: "never heard of it" would have a restored orchestrator begin what is forgotten again.
    const asks = Date.parse(command.not_after) <= 0;
    if (journal.isForgotten(command.operation_id, asks)) throw new OrchestratorError("RESULT_GONE");
    if (journal.knows(command.operation_id)) return;
    if (command.type === "run" && !this.#options.runsCommands)
      throw new OrchestratorError("COMMANDS_REFUSED");
    const { clock, orchestratorNow } = this.#options;
    const leftMs = Date.parse(command.not_after) - orchestratorNow();
    const pending = { command, stop: new AbortController(), beginByMs: clock.monotonic() + leftMs };
    this.#assertMayBegin(pending);
    if (this.#stopping || this.#queue.length >= maxQueued) throw new OrchestratorError("UNAVAILABLE");
    journal.accept({ operation_id: command.operation_id, kind: command.type, not_after: command.not_after });
    this.#queue.push(pending);
    if (!this.#running) this.#done = this.#work();
  }

  /**
   * Ends an operation after the change in progress, which is cut where its type ends with a cancel, or before it begins. Nothing happens where it has ended.
   *
   * @throws {OrchestratorError} `NOT_FOUND` for an operation that this agent never accepted.
   */
  cancel(operationId: string): void {
    const pending = [this.#running, ...this.#queue].find(
      (each) => each?.command.operation_id === operationId,
    );
    if (!pending && !this.#options.journal.knows(operationId)) throw new OrchestratorError("NOT_FOUND");
    pending?.stop.abort(new OrchestratorError("CANCELLED"));
  }

  /** Ends the operation that runs after the change in progress, begins no other, and waits. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#ending.abort();
    this.#running?.stop.abort(new OrchestratorError("UNAVAILABLE"));
    await this.#done;
  }

  /** Cuts the change in progress, for a runner that is being stopped. */
  cut(): void {
    this.#cut.abort(new OrchestratorError("UNAVAILABLE", { message: "The agent was told to stop at once." }));
  }

  async #work(): Promise<void> {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      this.#running = next;
      // The answer to the command goes out before anything that the run sends.
      await Promise.resolve();
      if (!this.#stopping) await this.#run(next);
    }
    this.#running = null;
  }

  async #run(pending: PendingOperation): Promise<void> {
    const { logger, ended } = this.#options;
    const { command, stop } = pending;
    try {
      const outcome = await runOperation(command, {
        ...this.#options,
        signal: stop.signal,
        cut: this.#cut.signal,
        refusal: this.#refusalOf(pending),
        isInterrupted: () => this.#stopping,
        ending: this.#ending.signal,
      });
      if (outcome) ended(outcome);
    } catch (error) {
      // Without a result in the journal the operation ends as interrupted at the next start.
      logger.error("An operation broke off.", { operation_id: command.operation_id, error });
    }
  }

  /** Why an operation that waited does not begin any more; null where it does. */
  #refusalOf(pending: PendingOperation): PeerError | null {
    try {
      pending.stop.signal.throwIfAborted();
      this.#assertMayBegin(pending);
      return null;
    } catch (error) {
      return toPeerError(error);
    }
  }

  #assertMayBegin({ command, beginByMs }: PendingOperation): void {
    const { applied, clock } = this.#options;
    if (clock.monotonic() > beginByMs) throw new OrchestratorError("COMMAND_EXPIRED");
    const empties = command.type === "apply" && command.resources.length === 0 && !command.allow_empty;
    if (!empties) return;
    const scope = new Scope(command.scope);
    if (applied.resources.flatMap(claimsOn).some((claim) => scope.has(claim))) {
      throw new OrchestratorError("EMPTY_DESIRED_STATE", { details: { applied: applied.resources.length } });
    }
  }
}

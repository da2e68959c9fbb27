/**
 * Brings results to the orchestrator: each is sent when its operation ends, again after every reconnect and every minute,
 * until it is acknowledged.
 */
import type { Clock, Timer } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { AgentMessage } from "../wire/messages.ts";
import type { AppliedSet } from "./applied-set.ts";
import type { OperationJournal } from "./operation-journal.ts";

/** How long an acknowledgement is waited for, milliseconds. */
const resendMs = 60_000;

/** What delivers. */
export interface ResultDeliveryOptions {
  journal: OperationJournal;
  applied: AppliedSet;
  clock: Clock;
  logger: Logger;
  /** Sends a message; false where there is no connection for it. */
  send: (message: AgentMessage) => boolean;
}

/** Brings results to the orchestrator. */
export class ResultDelivery {
  readonly #options: ResultDeliveryOptions;
  #timer: Timer | null = null;

  constructor(options: ResultDeliveryOptions) {
    this.#options = options;
  }

  /** Sends every result that is not acknowledged, oldest first, and goes on doing so until {@link pause}. */
  begin(): void {
    this.pause();
    for (const operationId of this.#options.journal.finished()) this.deliver(operationId);
    this.#timer = this.#options.clock.setTimer(resendMs, () => this.begin());
  }

  /** There is no connection any more. */
  pause(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Sends the result of one operation, if it has ended. */
  deliver(operationId: string): void {
    const { journal, logger, send } = this.#options;
    try {
      const result = journal.resultOf(operationId);
      if (result) send(result);
    } catch (error) {
      // One result that can't be read must not keep the others.
      logger.error("A result could not be sent.", { operation_id: operationId, error });
    }
  }

  /**
   * Forgets an operation: the orchestrator has its result. What it applied must be on disk before; where it is not yet, the
   * result is sent again, and acknowledged again.
   *
   * @throws {OrchestratorError} `STORAGE_FULL`, `STORAGE_FAILED`.
   */
  acknowledge(operationId: string): void {
    this.#options.applied.save();
    this.#options.journal.acknowledge(operationId);
  }
}

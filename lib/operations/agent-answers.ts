/** What agents say about the operations that they were given, or asked about. */
import type { Context } from "../context.ts";
import type { Turns } from "../internal/turns.ts";
import type { AgentMessage, MessageOf } from "../wire/messages.ts";
import type { Commands } from "./commands.ts";
import { isFirstResult, notRun } from "./conclusions.ts";
import type { OperationDocument } from "./documents.ts";
import type { Inquiries } from "./inquiries.ts";
import type { Lanes } from "./lanes.ts";
import type { OperationStore } from "./operation-store.ts";
import type { Outcome } from "./outcomes.ts";
import { type ProgressFeeds, toStep } from "./progress-feeds.ts";
import type { ToldSecrets } from "./told-secrets.ts";

interface Parts {
  store: OperationStore;
  lanes: Lanes;
  feeds: ProgressFeeds;
  told: ToldSecrets;
  inquiries: Inquiries;
  commands: Commands;
  turns: Turns;
  /** Writes how an operation ended; false where that does not count any more. */
  end: (operationId: string, outcome: Outcome) => Promise<boolean>;
  /** Gives the lane of an operation that has ended to the next. */
  settle: (operation: Readonly<OperationDocument>) => void;
}

export class AgentAnswers {
  readonly #context: Context;
  readonly #parts: Parts;

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** An agent took a command or refused it. */
  async reply(nodeId: string, { id, error }: MessageOf<AgentMessage, "reply">): Promise<void> {
    const conclusion = this.#parts.inquiries.conclude(nodeId, id, error);
    if (conclusion) await this.#parts.end(conclusion.operationId, conclusion.outcome);
    const running = this.#parts.lanes.runningOf(nodeId);
    if (id === running?.commandId) this.#parts.lanes.answered(nodeId, error?.code ?? null);
    if (!error || !running || (id !== running.commandId && id !== running.cancelId)) return;
    const isLate = error.code === "COMMAND_EXPIRED";
    if (isLate && !running.isDoubted && running.deadlineAt > this.#context.fleetTime.now()) {
      // One side slept while the connection lived. The agent learns the time anew, and gets what it refused, when it is back.
      running.isDoubted = true;
      await this.#context.transport.disconnect(nodeId, "The agent takes what is in time for late.");
    } else if (id === running.commandId)
      await this.#parts.end(running.operationId, isLate ? notRun : { status: "failed", error });
  }

  /** Whether an operation is what an agent runs now: of any other it has nothing to tell. */
  isRunning(nodeId: string, operationId: string | null): boolean {
    return this.#parts.lanes.runningOf(nodeId)?.operationId === operationId;
  }

  /** An agent tells what it has done so far of the operation that it was given. */
  progress(nodeId: string, message: MessageOf<AgentMessage, "progress" | "output">): void {
    if (!this.isRunning(nodeId, message.operation_id)) return;
    const { feeds, told } = this.#parts;
    const cleaned = told.progress(message);
    if (cleaned) feeds.push(message.operation_id, toStep(cleaned));
  }

  /**
   * Whether a result tells what nobody knows yet. Where it does not, it is acknowledged unread, or it would come for ever.
   *
   * @throws {OrchestratorError} `PROTOCOL_ERROR` where the operation is another agent's, or was never sent.
   */
  async awaitsResult(nodeId: string, operationId: string): Promise<boolean> {
    const operation = await this.#parts.store.find(operationId);
    if (operation && isFirstResult(operation, nodeId, this.#context.epochs.isBefore(operation))) return true;
    if (operation) this.#parts.settle(operation);
    else this.#context.logger.warn("A result came that nobody waits for.", { node_id: nodeId });
    await this.#parts.commands.acknowledge(nodeId, operationId);
    return false;
  }

  /** An agent tells how an operation ended: on disk before it is acknowledged, and kept once however often it comes. Errors as above. */
  async result(nodeId: string, message: MessageOf<AgentMessage, "result">): Promise<void> {
    const { operation_id } = message;
    await this.#parts.turns.next();
    if (!(await this.awaitsResult(nodeId, operation_id))) return;
    const operation = await this.#parts.store.read(operation_id);
    await this.#parts.end(operation_id, await this.#parts.told.result(operation, message));
    await this.#parts.commands.acknowledge(nodeId, operation_id);
  }
}

/**
 * Asks agents about operations of which nothing was heard by their deadline, and about those that were open in a backup when it was
 * restored:
 *
 *   unknown ──its agent is there, or comes──▶ asked ──it knows it──▶ its result, now or when it has one
 *                                               │──it knows nothing of it──▶ failed: it was not run, and never will be
 *                                               └──it has nothing but its id──▶ failed: the result is gone
 *
 * An agent is asked with each of its connections, and at once where one becomes unknown while it is there. Only what is asked about is
 * held in memory.
 *
 * What waited in the backup goes on waiting where its agent knows nothing of it. Until that has answered, the operation may have been
 * carried out since the backup was made: whatever ends it before, nobody knows how it ended.
 */
import type { Epochs } from "../epochs.ts";
import type { PeerError } from "../wire/messages.ts";
import type { Commands } from "./commands.ts";
import { notRun, unheardSinceBackup } from "./conclusions.ts";
import type { OperationDocument } from "./documents.ts";
import { isOpen, type OperationStore } from "./operation-store.ts";
import type { Outcome } from "./outcomes.ts";

type Operation = Readonly<OperationDocument>;

/** What is known of the operations of one agent that it is asked about. */
interface Asked {
  /** Their ids. */
  unknown: Set<string>;
  /** Those that were asked for on this connection, by the id of the command. */
  commands: Map<string, { operationId: string; isWaiting: boolean }>;
}

/** Finds out what became of operations that are unknown, or of a backup. */
export class Inquiries {
  readonly #store: OperationStore;
  readonly #commands: Commands;
  readonly #epochs: Epochs;
  readonly #agents = new Map<string, Asked>();
  /** What waited in the backup and has no answer of its agent. */
  readonly #unanswered = new Set<string>();
  readonly #answered: (nodeId: string) => void;

  /** @param parts - `answered` hears that an agent knows nothing of what waits for it: it may begin. */
  constructor(parts: {
    store: OperationStore;
    commands: Commands;
    epochs: Epochs;
    answered: (nodeId: string) => void;
  }) {
    this.#answered = parts.answered;
    this.#store = parts.store;
    this.#commands = parts.commands;
    this.#epochs = parts.epochs;
    parts.store.watch((operation) => this.#note(operation));
    parts.store.watchGone((nodeId, operationId) => this.#forget(nodeId, operationId));
  }

  /** Reads which operations are unknown. */
  async load(): Promise<void> {
    for await (const operation of this.#store.unknown()) this.#note(operation);
  }

  /** Notes an operation that was open at the start. */
  take(operation: Operation): void {
    // Only here: a wish to cancel it later says nothing of whether its agent has answered.
    if (operation.status === "queued" && this.#isAskedAbout(operation))
      this.#unanswered.add(operation.operation_id);
    this.#note(operation);
  }

  /** How an operation that is to end ended, as far as anybody can know. */
  truthOf(operationId: string, outcome: Outcome): Outcome {
    return outcome.onlyQueued === true && this.#unanswered.has(operationId) ? unheardSinceBackup : outcome;
  }

  /** Whether an operation waited in the backup, and its agent has not said yet that it knows nothing of it. */
  isUnanswered(operationId: string): boolean {
    return this.#unanswered.has(operationId);
  }

  /** Asks an agent, which has a new connection, about all that is unknown of it. */
  async askAll(nodeId: string): Promise<void> {
    const asked = this.#agents.get(nodeId);
    if (!asked) return;
    asked.commands.clear();
    for (const operationId of asked.unknown) await this.ask(nodeId, operationId);
  }

  /** Asks an agent about one operation, where somebody wants to know. */
  async ask(nodeId: string, operationId: string): Promise<void> {
    const operation = await this.#store.find(operationId);
    if (!operation || !this.#isAskedAbout(operation)) return this.#forget(nodeId, operationId);
    const id = this.#commands.nextId();
    // Before it is sent: the answer may come at once.
    const isWaiting = operation.status === "queued";
    this.#agents.get(nodeId)?.commands.set(id, { operationId, isWaiting });
    await this.#commands.ask(id, operation);
  }

  /** What a refusal of an agent says of an operation that it was asked about; null where it was not, or it says nothing. */
  conclude(nodeId: string, commandId: string, error: PeerError | undefined): Conclusion | null {
    const commands = this.#agents.get(nodeId)?.commands;
    const asked = commands?.get(commandId);
    commands?.delete(commandId);
    // Without an error it knows the operation: the result follows. One that is stopping is asked again when it is back.
    if (!asked || !error || error.code === "UNAVAILABLE") return null;
    const { operationId, isWaiting } = asked;
    if (error.code !== "COMMAND_EXPIRED") return { operationId, outcome: { status: "failed", error } };
    if (!isWaiting) return { operationId, outcome: notRun };
    if (this.#unanswered.delete(operationId)) this.#answered(nodeId);
    return null;
  }

  #isAskedAbout(operation: Operation): boolean {
    return operation.status === "unknown" || (isOpen(operation) && this.#epochs.isBefore(operation));
  }

  #note(operation: Operation): void {
    const { node_id, operation_id, status } = operation;
    if (this.#isAskedAbout(operation)) {
      if (status !== "queued") this.#unanswered.delete(operation_id);
      const asked = this.#agents.get(node_id) ?? { unknown: new Set(), commands: new Map() };
      asked.unknown.add(operation_id);
      this.#agents.set(node_id, asked);
    } else this.#forget(node_id, operation_id);
  }

  #forget(nodeId: string, operationId: string): void {
    const asked = this.#agents.get(nodeId);
    this.#unanswered.delete(operationId);
    asked?.unknown.delete(operationId);
    if (asked?.unknown.size === 0) this.#agents.delete(nodeId);
  }
}

/** How an operation ended, as its agent's answer says. */
export interface Conclusion {
  operationId: string;
  outcome: Outcome;
}

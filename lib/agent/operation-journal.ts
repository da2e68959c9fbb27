/**
 * What the agent was told to do, and what came of it, on disk: one file an operation.
 *
 * ```
 * accepted (durable) -> started -> captured (durable) -> result ... -> finished (durable) -> acknowledged
 *      |                   |            |                  |              |                     |
 *   before the          the run      before the       one a         sent until the       the file is gone,
 *   command is          began        first change     resource      orchestrator has it  the id is remembered
 *   answered
 * ```
 *
 * A file without `finished` at the start of the agent is an operation that was cut off: it ends `interrupted` with the
 * results so far and is never run again. An id that was accepted once never runs again, also after its file is gone: its
 * id is remembered for as long as the command itself could still arrive.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { AppliedResource } from "../state/state-item.ts";
import type { ResourceResult } from "../state/result.ts";
import type { AgentMessage, MessageOf } from "../wire/messages.ts";
import { toTimestamp } from "../clock.ts";
import { AcknowledgedOperations } from "./acknowledged-operations.ts";
import { appendFile, createFile, makeFolder, readText, removeFile, replaceFile } from "./durable-file.ts";
import type { JournalContext } from "./journal-context.ts";
import { type JournalRecord, parseJournal, parseLastRecord } from "./journal-record.ts";

/** How an operation ended, as the orchestrator gets it. */
export type OperationResult = MessageOf<AgentMessage, "result">;

/** Which operations there are: making, telling and comparing. */
export type OperationKind = "apply" | "plan" | "check";

/** An operation as it is accepted. */
export interface AcceptedOperation {
  operation_id: string;
  kind: OperationKind;
  /** RFC 3339: the command may not begin, and can't arrive, after it. */
  not_after: string;
}

/** An operation that was cut off. */
export interface CutOperation {
  operation_id: string;
  /** What was written down before the first change. */
  captured: AppliedResource[];
}

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const fileSuffix = ".jsonl";

/** Whether a text is an operation's id in the one form that may become a file name. */
export function isOperationId(text: string): boolean {
  return uuidPattern.test(text);
}

/** What the agent was told to do, and what came of it. The life of an operation is at the head of this file. */
export class OperationJournal {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #acknowledged: AcknowledgedOperations;
  /** Accepted and not acknowledged, in the order of acceptance. */
  readonly #open = new Map<string, AcceptedOperation & { finished: boolean }>();
  /** Results that could not be written: delivered from memory while the agent lives. */
  readonly #unwritten = new Map<string, OperationResult>();

  /** @throws {OrchestratorError} `STORAGE_FAILED` where the folder can't be used. */
  constructor(context: JournalContext) {
    this.#folder = join(context.stateDir, "operations");
    this.#clock = context.clock;
    this.#logger = context.logger;
    makeFolder(this.#folder);
    this.#acknowledged = new AcknowledgedOperations(context);
    this.#load();
  }

  /** Whether the operation was ever accepted, as far as one can still be delivered. */
  knows(operationId: string): boolean {
    return this.#open.has(operationId) || this.#acknowledged.has(operationId);
  }

  /** The operations that were cut off when the agent last ended. Their changes must be kept before {@link interrupt}. */
  cutOff(): CutOperation[] {
    const cut: CutOperation[] = [];
    for (const [operationId, operation] of this.#open) {
      if (operation.finished) continue;
      const captured = this.#read(operationId).flatMap((record) =>
        record.record === "captured" ? record.resources : [],
      );
      cut.push({ operation_id: operationId, captured });
    }
    return cut;
  }

  /** Ends an operation that was cut off, with the results so far. */
  interrupt(operationId: string): void {
    const records = this.#read(operationId);
    const results = records.flatMap((record) => (record.record === "result" ? [record.result] : []));
    const began = records.find((record) => record.record === "started") ?? records[0];
    const finishedAt = this.#clock.now();
    const startedAt = began && "at" in began ? Date.parse(began.at) : finishedAt;
    this.finish({
      type: "result",
      operation_id: operationId,
      status: "interrupted",
      results,
      output: [],
      started_at: toTimestamp(startedAt),
      finished_at: toTimestamp(finishedAt),
      duration_ms: Math.max(0, finishedAt - startedAt),
    });
  }

  /**
   * Takes an operation on. Durable when it returns: from then on it ends with a result, whatever happens.
   *
   * @throws {OrchestratorError} `STORAGE_FULL`, `STORAGE_FAILED`; the operation is then not accepted.
   */
  accept(operation: AcceptedOperation): void {
    const path = this.#pathOf(operation.operation_id);
    const { operation_id, kind, not_after } = operation;
    try {
      createFile(path, toLine({ record: "accepted", operation_id, kind, not_after, at: this.#now() }));
    } catch (error) {
      removeFile(path);
      throw error;
    }
    this.#open.set(operation_id, { operation_id, kind, not_after, finished: false });
  }

  /** Notes that the run begins. */
  started(operationId: string): void {
    this.#append(operationId, { record: "started", at: this.#now() }, false);
  }

  /** Notes what stood before. Durable when it returns: only then may anything be changed. */
  captured(operationId: string, resources: readonly AppliedResource[]): void {
    this.#append(operationId, { record: "captured", resources: [...resources] }, true);
  }

  /** Notes the results of some resources. Without space they are lost, and only a crash would have needed them. */
  results(operationId: string, results: readonly ResourceResult[]): void {
    const lines = results.map((result) => toLine({ record: "result", result }));
    try {
      appendFile(this.#pathOf(operationId), lines.join(""), { durable: false });
    } catch (error) {
      this.#logger.warn("Results could not be written down.", { operation_id: operationId, error });
    }
  }

  /** Notes how an operation ended. Without space the result is kept in memory. */
  finish(result: OperationResult): void {
    const operation = this.#open.get(result.operation_id);
    if (!operation) return;
    operation.finished = true;
    try {
      this.#append(result.operation_id, { record: "finished", result }, true);
    } catch (error) {
      this.#unwritten.set(result.operation_id, result);
      this.#logger.error("The result of an operation could not be written down.", {
        operation_id: result.operation_id,
        error,
      });
    }
  }

  /**
   * Ends an operation in memory only, because what it changed could not be noted: should the agent die, the operation
   * counts as cut off, and what was captured for it is found in its file.
   */
  hold(result: OperationResult): void {
    const operation = this.#open.get(result.operation_id);
    if (!operation) return;
    operation.finished = true;
    this.#unwritten.set(result.operation_id, result);
  }

  /** The ended operations that are not acknowledged, oldest first. */
  finished(): string[] {
    return [...this.#open.values()]
      .filter((operation) => operation.finished)
      .map(({ operation_id }) => operation_id);
  }

  /** How an operation ended; null where it has not, or is acknowledged. */
  resultOf(operationId: string): OperationResult | null {
    if (!this.#open.get(operationId)?.finished) return null;
    const unwritten = this.#unwritten.get(operationId);
    if (unwritten) return unwritten;
    const last = parseLastRecord(readText(this.#pathOf(operationId)) ?? "");
    return last?.record === "finished" ? last.result : null;
  }

  /** Forgets an ended operation but for its id: the orchestrator has its result. */
  acknowledge(operationId: string): void {
    const operation = this.#open.get(operationId);
    if (!operation?.finished) return;
    this.#acknowledged.add(operationId, operation.not_after);
    this.#open.delete(operationId);
    this.#unwritten.delete(operationId);
    removeFile(this.#pathOf(operationId));
  }

  #load(): void {
    const accepted: (AcceptedOperation & { finished: boolean; at: string })[] = [];
    for (const name of readdirSync(this.#folder)) {
      const operationId = name.slice(0, -fileSuffix.length);
      if (!name.endsWith(fileSuffix) || !isOperationId(operationId)) continue;
      const path = this.#pathOf(operationId);
      const records = this.#repair(operationId);
      const [first] = records;
      if (first?.record !== "accepted" || this.#acknowledged.has(operationId)) {
        // Killed before the command was answered, or between the two steps of an acknowledgement.
        removeFile(path);
        continue;
      }
      const { kind, not_after, at } = first;
      const finished = records.some((record) => record.record === "finished");
      accepted.push({ operation_id: operationId, kind, not_after, at, finished });
    }
    accepted.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
    for (const { at: _at, ...operation } of accepted) this.#open.set(operation.operation_id, operation);
  }

  #read(operationId: string): JournalRecord[] {
    return parseJournal(readText(this.#pathOf(operationId)) ?? "").records;
  }

  /** Takes away what can't be read, so that what is written next can be. */
  #repair(operationId: string): JournalRecord[] {
    const path = this.#pathOf(operationId);
    const text = readText(path) ?? "";
    const { records, intact, damagedLine } = parseJournal(text);
    if (damagedLine !== null) {
      const fields = { operation_id: operationId, line: damagedLine };
      this.#logger.error("The journal of an operation is damaged; what follows is lost.", fields);
    }
    if (records.length > 0 && intact.length < text.length) replaceFile(path, intact);
    return records;
  }

  #append(operationId: string, record: JournalRecord, durable: boolean): void {
    appendFile(this.#pathOf(operationId), toLine(record), { durable });
  }

  #pathOf(operationId: string): string {
    if (!isOperationId(operationId)) throw new TypeError("An operation id must be a lower-case UUID.");
    return join(this.#folder, operationId + fileSuffix);
  }

  #now(): string {
    return toTimestamp(this.#clock.now());
  }
}

function toLine(record: JournalRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/**
 * What the agent was told to do, and what came of it, on disk: one file an operation.
 *
 * ```
 * accepted (durable) -> started -> captured (durable) -> begun, result ... -> finished (durable) -> acknowledged
 *      |                   |            |                    |                 |                     |
 *   before the          the run      before the       right before a     sent until the       the file is kept for a
 *   command is          began        first change     change, and        orchestrator has it  while, the id is
 *   answered                                          behind it                               remembered
 * ```
 * What is not durable at once survives the process and not the machine: so the start of the machine is written down too.
 *
 * A file without `finished` at the start of the agent is an operation that was cut off: it ends `interrupted` with the
 * results so far and is never run again. So does one whose file is damaged: a file has its name only when it is whole, so
 * the name alone proves acceptance. An id that is accepted is remembered for as long as its command could still arrive.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Clock, toTimestamp } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { ResourceResult } from "../state/result.ts";
import type { BegunChange } from "../state/run/state-run.ts";
import type { AgentMessage, MessageOf, PeerError } from "../wire/messages.ts";
import type { AcceptedOperation } from "./accepted-operation.ts";
import { AcknowledgedOperations } from "./acknowledged-operations.ts";
import { currentBoot } from "./boot.ts";
import type { CutOperation } from "./cut-operation.ts";
import {
  appendFile,
  createFile,
  draftSuffix,
  makeFolder,
  readText,
  removeFile,
  replaceFile,
} from "./durable-file.ts";
import { type AcceptedRecord, damagedEnd, interruptionOf, lostAcceptance } from "./interruption.ts";
import type { JournalContext } from "./journal-context.ts";
import {
  type JournalRecord,
  parseJournal,
  parseLastRecord,
  type RestartingRecord,
  recordsBeforeChanges,
  toLine,
} from "./journal-record.ts";
import { KeptResults } from "./kept-results.ts";
import { isOperationId } from "./operation-id.ts";

/** How an operation ended, as the orchestrator gets it. */
export type OperationResult = MessageOf<AgentMessage, "result">;

const fileSuffix = ".jsonl";

/** What the agent was told to do, and what came of it. The life of an operation is at the head of this file. */
export class OperationJournal {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #acknowledged: AcknowledgedOperations;
  readonly #kept: KeptResults;
  /** The boot of the machine; null where it is not known. */
  readonly boot: string | null;
  /** Accepted and not acknowledged, in the order of acceptance. */
  readonly #open = new Map<string, AcceptedOperation & { finished: boolean }>();
  /** Results that could not be written: delivered from memory while the agent lives. */
  readonly #unwritten = new Map<string, OperationResult>();

  /** @throws {OrchestratorError} `STORAGE_FAILED` where the folder can't be used. */
  constructor(context: JournalContext) {
    this.#folder = join(context.stateDir, "operations");
    this.#clock = context.clock;
    this.#logger = context.logger;
    this.boot = context.boot === undefined ? currentBoot() : context.boot;
    makeFolder(this.#folder);
    this.#acknowledged = new AcknowledgedOperations(context);
    this.#kept = new KeptResults(context, context.keptResults);
    this.#load();
  }

  /** Whether the operation was ever accepted, as far as one can still be delivered. */
  knows(operationId: string): boolean {
    return this.#open.has(operationId) || this.#acknowledged.has(operationId);
  }

  /** Whether it has ended and nothing but its id is left: acknowledged, and not kept any more. `isAsked`: also where not even that may be. */
  isForgotten(operationId: string, isAsked = false): boolean {
    if (isAsked && !this.knows(operationId)) return this.#acknowledged.mayHaveForgotten(operationId);
    return this.#isAcknowledged(operationId) && this.#kept.resultOf(operationId) === null;
  }

  /** The operations that were cut off when the agent last ended. Their changes must be kept before {@link interrupt}. */
  cutOff(): CutOperation[] {
    return [...this.#open.values()].flatMap((each) =>
      each.finished ? [] : this.recordsOf(each.operation_id),
    );
  }

  /** All that is written down of an operation that has not ended. */
  recordsOf(operationId: string): CutOperation {
    return { operation_id: operationId, records: this.#read(operationId).records };
  }

  /** Whether the run of an operation began. */
  hasBegun(operationId: string): boolean {
    return this.#read(operationId).records.some(({ record }) => record === "started");
  }

  /** Ends an operation that was cut off, with the results so far. Damage of its file is told before `error`. */
  interrupt(operationId: string, error?: PeerError): void {
    this.finish({
      ...(error && { error }),
      ...interruptionOf(operationId, this.#read(operationId), { clock: this.#clock }),
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
      const line = toLine({ record: "accepted", operation_id, kind, not_after, at: this.#now() });
      this.#kept.makingRoom(() => createFile(path, line));
    } catch (error) {
      removeFile(path);
      throw error;
    }
    this.#open.set(operation_id, { operation_id, kind, not_after, finished: false });
  }

  /** Notes that the run begins. */
  started(operationId: string): void {
    this.#append(operationId, { record: "started", at: this.#now(), ...this.#bootPart }, false);
  }

  /** Notes what stood before, and who watches what is to be changed. Durable when it returns: only then may anything be changed. */
  captured(operationId: string, ...noted: Parameters<typeof recordsBeforeChanges>): void {
    this.#append(operationId, recordsBeforeChanges(...noted), true);
  }

  /**
   * Notes that a change begins. Survives the process on return, and the machine with the next durable record.
   * @throws {OrchestratorError} `STORAGE_FULL`, `STORAGE_FAILED`; the change may not be made then.
   */
  begun(operationId: string, change: BegunChange): void {
    this.#append(operationId, { record: "begun", ...change }, false);
  }

  /** Notes that nothing came of a change that was begun. Without space it is lost, and only a crash would have needed it. */
  untouched(operationId: string, identity: string): void {
    try {
      this.#append(operationId, { record: "untouched", identity }, false);
    } catch (error) {
      this.#logger.warn("What was not changed could not be written down.", {
        operation_id: operationId,
        error,
      });
    }
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

  /**
   * Notes that the operation is about to restart the agent, and its result once that is done. Durable when it returns.
   * @throws {OrchestratorError} `STORAGE_FULL`, `STORAGE_FAILED`; the restart may not be ordered then.
   */
  restarting(restart: Omit<RestartingRecord, "record" | "boot">): void {
    const record: RestartingRecord = { record: "restarting", ...restart, ...this.#bootPart };
    this.#append(restart.result.operation_id, record, true);
  }

  /** Notes how an operation ended. Without space the result is kept in memory. */
  finish(result: OperationResult): void {
    const { operation_id } = result;
    const operation = this.#open.get(operation_id);
    if (!operation) return;
    operation.finished = true;
    try {
      this.#append(operation_id, { record: "finished", result }, true);
    } catch (error) {
      this.#unwritten.set(operation_id, result);
      this.#logger.error("The result of an operation could not be written down.", { operation_id, error });
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
    return [...this.#open.values()].flatMap((each) => (each.finished ? each.operation_id : []));
  }

  /** How an operation ended; null where it has not, or the result was acknowledged and is not kept any more. */
  resultOf(operationId: string): OperationResult | null {
    if (this.#isAcknowledged(operationId)) return this.#kept.resultOf(operationId);
    if (!this.#open.get(operationId)?.finished) return null;
    const unwritten = this.#unwritten.get(operationId);
    if (unwritten) return unwritten;
    const last = parseLastRecord(readText(this.#pathOf(operationId)) ?? "");
    if (last?.record === "finished" && last.result.operation_id === operationId) return last.result;
    const result = damagedEnd(operationId, this.#read(operationId), this.#clock);
    this.#unwritten.set(operationId, result);
    this.#logger.error("The result of an operation is damaged.", { operation_id: operationId });
    return result;
  }

  /** The orchestrator has the result of an ended operation: it is kept for a while, and its id for good. */
  acknowledge(operationId: string): void {
    const operation = this.#open.get(operationId);
    if (!operation?.finished) return;
    this.#kept.makingRoom(() => this.#acknowledged.add(operationId, operation.not_after));
    this.#open.delete(operationId);
    this.#unwritten.delete(operationId);
    this.#kept.keep(operationId, this.#pathOf(operationId));
  }

  #isAcknowledged(operationId: string): boolean {
    return this.#acknowledged.has(operationId) && !this.#open.has(operationId);
  }

  #load(): void {
    const accepted: (AcceptedOperation & { finished: boolean; at: string })[] = [];
    for (const name of readdirSync(this.#folder)) {
      // Killed while the command was taken on, before it was answered.
      if (name.endsWith(fileSuffix + draftSuffix)) removeFile(join(this.#folder, name));
      const operationId = name.slice(0, -fileSuffix.length);
      if (!name.endsWith(fileSuffix) || !isOperationId(operationId)) continue;
      if (this.#acknowledged.has(operationId)) {
        // Killed between the two steps of an acknowledgement.
        this.#kept.keep(operationId, this.#pathOf(operationId));
        continue;
      }
      const [first, ...records] = this.#repair(operationId);
      const finished = records.some((record) => record.record === "finished");
      accepted.push({ ...first, finished });
    }
    accepted.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
    for (const { operation_id, kind, not_after, finished } of accepted)
      this.#open.set(operation_id, { operation_id, kind, not_after, finished });
  }

  #read(operationId: string): ReturnType<typeof parseJournal> {
    return parseJournal(readText(this.#pathOf(operationId)) ?? "", operationId);
  }

  /** Takes away what can't be read, so that what is written next can be, and notes that it did. */
  #repair(operationId: string): [AcceptedRecord, ...JournalRecord[]] {
    const { records, damagedLine, isSound } = this.#read(operationId);
    const [first = lostAcceptance(operationId, this.#clock), ...rest] = records;
    const sound: [AcceptedRecord, ...JournalRecord[]] = [first as AcceptedRecord, ...rest];
    if (damagedLine !== null) {
      const fields = { operation_id: operationId, line: damagedLine };
      this.#logger.error("The journal of an operation is damaged; a part of it is lost.", fields);
      sound.splice(1, 0, { record: "damaged", line: damagedLine });
    }
    if (!isSound) replaceFile(this.#pathOf(operationId), sound.map(toLine).join(""));
    return sound;
  }

  #append(operationId: string, record: JournalRecord | JournalRecord[], durable: boolean): void {
    const text = [record].flat().map(toLine).join("");
    this.#kept.makingRoom(() => appendFile(this.#pathOf(operationId), text, { durable }));
  }

  #pathOf(operationId: string): string {
    if (!isOperationId(operationId)) throw new TypeError("An operation id must be a lower-case UUID.");
    return join(this.#folder, operationId + fileSuffix);
  }

  get #bootPart(): { boot?: string } {
    return this.boot === null ? {} : { boot: this.boot };
  }

  #now(): string {
    return toTimestamp(this.#clock.now());
  }
}

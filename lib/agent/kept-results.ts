/**
 * Results that the orchestrator has acknowledged, kept for a while all the same: an orchestrator that was restored from a backup asks
 * for those that it does not know any more. Each is the file of its operation, under the time of the acknowledgement:
 *
 *   kept/1924992000000-01890a5d-ac96-774b-bcce-b302099a8057.jsonl
 *
 * What is lost here costs a result and never runs anything again: the ids are remembered elsewhere.
 */
import { readdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import { isOrchestratorError } from "../errors.ts";
import { type OptionTable, withDefaults } from "../internal/check-options.ts";
import { anyNumber, wholeNumber } from "../internal/option-rules.ts";
import type { Logger } from "../logger.ts";
import type { AgentMessage, MessageOf } from "../wire/messages.ts";
import { guarded, makeFolder, readText, removeFile } from "./durable-file.ts";
import { parseLastRecord } from "./journal-record.ts";

/** How much is kept; what is past one of them goes, oldest first. */
export interface KeptResultsLimits {
  /** Most results, 0 to 1,000,000. Default 100. */
  count?: number;
  /** Most bytes of all together, 0 to 1,099,511,627,776. Default 16 MiB. */
  bytes?: number;
  /** Hours after the acknowledgement, 0 to 876,600. Default 24. */
  hours?: number;
}

/** What each of them may be. */
export const keptResultsOptions: OptionTable<Required<KeptResultsLimits>> = {
  count: { rule: wholeNumber({ from: 0, to: 1_000_000 }), default: 100 },
  bytes: { rule: wholeNumber({ from: 0, to: 2 ** 40 }), default: 16 * 1024 * 1024, defaultText: "16 MiB" },
  hours: { rule: anyNumber({ from: 0, to: 876_600 }), default: 24 },
};

type OperationResult = MessageOf<AgentMessage, "result">;

interface Kept {
  path: string;
  bytes: number;
  /** When it was acknowledged, by the clock of the machine. */
  atMs: number;
}

const namePattern = /^(\d{1,16})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

/** Results that were acknowledged. */
export class KeptResults {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #limits: { count: number; bytes: number; ageMs: number };
  /** By id, oldest first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** @throws {OrchestratorError} `STORAGE_FAILED` where the folder can't be used. */
  constructor(
    { stateDir, clock, logger }: { stateDir: string; clock: Clock; logger: Logger },
    limits: KeptResultsLimits = {},
  ) {
    const { count, bytes, hours } = withDefaults(limits, keptResultsOptions);
    this.#folder = join(stateDir, "kept");
    this.#clock = clock;
    this.#logger = logger;
    this.#limits = { count, bytes, ageMs: hours * 3_600_000 };
    makeFolder(this.#folder);
    this.#load();
  }

  /** Takes over the file of an operation that ended and was acknowledged. Where that fails, the file goes. */
  keep(operationId: string, file: string): void {
    const atMs = Math.max(0, Math.floor(this.#clock.now()));
    const path = join(this.#folder, `${atMs}-${operationId}.jsonl`);
    try {
      guarded(file, () => renameSync(file, path));
      this.#add(operationId, path, atMs);
    } catch (error) {
      this.#logger.debug("The result of an operation was not kept.", { operation_id: operationId, error });
      removeFile(file);
    }
    this.#prune();
  }

  /** Writes what the agent needs. Where the disk is full all that is kept goes, and it is tried once more: work comes before memory. */
  makingRoom(write: () => void): void {
    try {
      write();
    } catch (error) {
      if (this.#kept.size === 0 || !isOrchestratorError(error, "STORAGE_FULL")) throw error;
      this.#logger.warn("The disk is full: results that were acknowledged are removed.", {
        bytes: this.#bytes,
      });
      for (const operationId of this.#kept.keys()) this.#drop(operationId);
      write();
    }
  }

  /** How an operation ended; null where that is not kept any more, or is damaged. */
  resultOf(operationId: string): OperationResult | null {
    this.#prune();
    const kept = this.#kept.get(operationId);
    const last = kept ? parseLastRecord(readText(kept.path) ?? "") : null;
    return last?.record === "finished" && last.result.operation_id === operationId ? last.result : null;
  }

  #load(): void {
    const found = readdirSync(this.#folder).flatMap((name) => {
      const [, at = "", id = ""] = namePattern.exec(name) ?? [];
      return id === "" ? [] : [{ name, id, atMs: Number(at) }];
    });
    for (const { name, id, atMs } of found.sort((a, b) => a.atMs - b.atMs))
      this.#add(id, join(this.#folder, name), atMs);
    this.#prune();
  }

  #add(operationId: string, path: string, atMs: number): void {
    this.#drop(operationId);
    const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    this.#kept.set(operationId, { path, bytes, atMs });
    this.#bytes += bytes;
  }

  #prune(): void {
    const { count, bytes, ageMs } = this.#limits;
    for (const [operationId, { atMs }] of this.#kept) {
      const isWithin = this.#kept.size <= count && this.#bytes <= bytes;
      // What a clock that was ahead noted is not old before that time has come; the other bounds hold.
      if (isWithin && this.#clock.now() - atMs < ageMs) return;
      this.#drop(operationId);
    }
  }

  #drop(operationId: string): void {
    const kept = this.#kept.get(operationId);
    if (!kept) return;
    this.#kept.delete(operationId);
    this.#bytes -= kept.bytes;
    removeFile(kept.path);
  }
}

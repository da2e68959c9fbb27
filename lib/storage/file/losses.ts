import type { OrchestratorError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { StorageLoss } from "../storage.ts";
import { lost } from "./errors.ts";
import type { LossRecord } from "./loss-record.ts";

/** What is found missing at a start: refused, or gone on without where the owner of the folder said so. */
export class Losses {
  /** What was accepted, in the order in which it was found. */
  readonly accepted: StorageLoss[] = [];
  readonly #isAccepted: boolean;
  readonly #logger: Logger;
  readonly #record: LossRecord;
  #saved = 0;

  constructor(options: { acceptLoss: boolean; logger: Logger }, record: LossRecord) {
    this.#isAccepted = options.acceptLoss;
    this.#logger = options.logger;
    this.#record = record;
  }

  /** Puts down what was accepted so far. To be called before a file is changed for it. */
  async save(): Promise<void> {
    const unsaved = this.accepted.slice(this.#saved);
    if (unsaved.length > 0) await this.#record.add(unsaved);
    this.#saved = this.accepted.length;
  }

  /** @throws {OrchestratorError} `STORAGE_CORRUPT` unless losses are accepted. */
  report(loss: StorageLoss): void {
    if (!this.#isAccepted) throw lost(loss);
    this.#logger.error("Stored data is lost, and it was said to go on without it.", { ...loss });
    this.accepted.push(loss);
  }

  /** As {@link report}, of a refusal that names file and place. */
  reportRefusal(refusal: OrchestratorError): void {
    const { file, offset } = refusal.details as { file: string; offset: number };
    if (!this.#isAccepted) throw refusal;
    this.report({ file, offset, what: refusal.message });
  }
}

import { join } from "node:path";
import { z } from "zod";
import { toHex } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { compareEpochs, epochSchema, type Epoch } from "../wire/epoch.ts";
import { readText, replaceFile, writeCopy } from "./durable-file.ts";
import type { EpochMemory } from "./link-connection.ts";
import { seal, unseal } from "./sealed-text.ts";

const fileSchema = z.strictObject({
  version: z.literal(1),
  /** Hex: what is seen of one orchestrator says nothing about another. */
  orchestrator_key: z.string(),
  epoch: epochSchema,
});

/**
 * The newest epoch that was seen of the orchestrator: of two servers that were made of one backup, only the newer is obeyed. Kept
 * twice, as the disk may damage either file; what is left of the two counts.
 */
export class FollowedEpoch implements EpochMemory {
  readonly #path: string;
  readonly #copyPath: string;
  readonly #logger: Logger;
  #seen: { key: string; epoch: Epoch } | null = null;

  constructor({ stateDir, logger }: { stateDir: string; logger: Logger }) {
    this.#path = join(stateDir, "epoch.json");
    this.#copyPath = join(stateDir, "epoch.copy.json");
    this.#logger = logger;
    for (const path of [this.#copyPath, this.#path]) {
      const read = this.#read(path);
      const isNewer = !this.#seen || !read || compareEpochs(read.epoch, this.#seen.epoch) > 0;
      if (read && (isNewer || read.key !== this.#seen?.key)) this.#seen = read;
    }
  }

  get(orchestratorKey: Uint8Array): Epoch | null {
    return this.#seen?.key === toHex(orchestratorKey) ? this.#seen.epoch : null;
  }

  /**
   * Obeys this epoch and none before it from now on. Where the disk has no space it is remembered until the agent ends: not to follow
   * a newer server would be worse.
   *
   * @throws {OrchestratorError} `ORCHESTRATOR_SUPERSEDED` for one before the newest that was seen.
   */
  follow(orchestratorKey: Uint8Array, epoch: Epoch): void {
    const seen = this.get(orchestratorKey);
    const order = seen ? compareEpochs(epoch, seen) : 1;
    if (order < 0) {
      throw new OrchestratorError("ORCHESTRATOR_SUPERSEDED", {
        message: `The orchestrator is of epoch ${epoch.number}; this agent follows a newer one of the same key, of epoch ${seen?.number}.`,
        details: { epoch: epoch.number, followed: seen?.number ?? 0 },
      });
    }
    if (order === 0) return;
    const key = toHex(orchestratorKey);
    const text = `${seal({ version: 1, orchestrator_key: key, epoch })}\n`;
    this.#seen = { key, epoch };
    if (seen)
      this.#logger.info("The orchestrator began a new epoch.", { epoch: epoch.number, seen: seen.number });
    try {
      replaceFile(this.#path, text);
    } catch (error) {
      this.#logger.error("The epoch of the orchestrator could not be written down.", { error });
    }
    writeCopy(this.#copyPath, text);
  }

  #read(path: string): { key: string; epoch: Epoch } | null {
    const text = readText(path);
    if (text === null) return null;
    const file = fileSchema.safeParse(unseal(text)?.value).data;
    if (file) return { key: file.orchestrator_key, epoch: file.epoch };
    this.#logger.error("A note of the orchestrator's epoch is damaged; the other one counts.", { path });
    return null;
  }
}

import { join } from "node:path";
import { z } from "zod";
import { readText, renewFile, replaceFile, writeCopy } from "./durable-file.ts";
import type { JournalContext } from "./journal-context.ts";
import { seal, unseal } from "./sealed-text.ts";

const fileSchema = z.strictObject({
  version: z.literal(1),
  /** Operation id -> not_after. */
  operations: z.record(z.string(), z.string()),
});

/** Ids are kept this much longer than their commands can arrive, by the time of the orchestrator, and at least this many. */
const keptMs = 24 * 3_600_000;
const keptCount = 1000;
/** So many ids may be older than others that are forgotten already: their commands counted for longer. */
const outOfOrder = 100;

/**
 * The ids of operations that are over, so that a late second delivery of the command never runs it again. Kept twice: the
 * disk may damage either file, lose it or bring back an older one, and no id is forgotten.
 */
export class AcknowledgedOperations {
  readonly #path: string;
  readonly #copyPath: string;
  readonly #context: JournalContext;
  /** Oldest first. */
  readonly #notAfter: Map<string, string>;

  constructor(context: JournalContext) {
    this.#context = context;
    this.#path = join(context.stateDir, "acknowledged.json");
    this.#copyPath = join(context.stateDir, "acknowledged.copy.json");
    const [file, copy] = [this.#read(this.#path), this.#read(this.#copyPath)];
    this.#notAfter = new Map(Object.entries({ ...copy.operations, ...file.operations }));
    const isWhole = file.isSound && copy.isSound;
    if (!isWhole && this.#notAfter.size > 0) this.#write(renewFile);
  }

  has(operationId: string): boolean {
    return this.#notAfter.has(operationId);
  }

  /** Whether an id is so old that it may have been here and be forgotten: ids rise with the time of their making. */
  mayHaveForgotten(operationId: string): boolean {
    if (this.#notAfter.size < keptCount) return false;
    const oldest = [...this.#notAfter.keys()].toSorted()[outOfOrder];
    return oldest !== undefined && operationId < oldest;
  }

  /** Remembers an id. Durable when it returns. */
  add(operationId: string, notAfter: string): void {
    this.#notAfter.set(operationId, notAfter);
    const { clock, orchestratorNow = () => clock.now() } = this.#context;
    const bound = orchestratorNow() - keptMs;
    for (const [id, until] of this.#notAfter) {
      if (this.#notAfter.size <= keptCount) break;
      if (Date.parse(until) < bound) this.#notAfter.delete(id);
    }
    this.#write(replaceFile);
  }

  #write(write: typeof replaceFile): void {
    const text = `${seal({ version: 1, operations: Object.fromEntries(this.#notAfter) })}\n`;
    write(this.#path, text);
    writeCopy(this.#copyPath, text);
  }

  /** Not sound is what is not there, has no checksum, or is damaged. */
  #read(path: string): { operations: Record<string, string>; isSound: boolean } {
    const text = readText(path);
    if (text === null) return { operations: {}, isSound: false };
    const unsealed = unseal(text);
    const parsed = fileSchema.safeParse(unsealed?.value);
    if (unsealed && parsed.success) return { operations: parsed.data.operations, isSound: unsealed.isSealed };
    // Not to start at all would help nobody: the other of the two files has what is lost here.
    this.#context.logger.error("A list of acknowledged operations is damaged; the other one counts.", {
      path,
    });
    return { operations: {}, isSound: false };
  }
}

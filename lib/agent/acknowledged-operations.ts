import { join } from "node:path";
import { z } from "zod";
import type { JournalContext } from "./journal-context.ts";
import { readText, replaceFile } from "./durable-file.ts";

const fileSchema = z.strictObject({
  version: z.literal(1),
  /** Operation id -> not_after. */
  operations: z.record(z.string(), z.string()),
});

/** Ids are kept this much longer than their commands can arrive, and at least this many: clocks are wrong at times. */
const keptMs = 24 * 3_600_000;
const keptCount = 1000;

/** The ids of operations that are over, so that a late second delivery of the command never runs it again. */
export class AcknowledgedOperations {
  readonly #path: string;
  readonly #context: JournalContext;
  /** Oldest first. */
  readonly #notAfter: Map<string, string>;

  constructor(context: JournalContext) {
    this.#context = context;
    this.#path = join(context.stateDir, "acknowledged.json");
    this.#notAfter = new Map(Object.entries(this.#read()));
  }

  has(operationId: string): boolean {
    return this.#notAfter.has(operationId);
  }

  /** Remembers an id. Durable when it returns. */
  add(operationId: string, notAfter: string): void {
    this.#notAfter.set(operationId, notAfter);
    const bound = this.#context.clock.now() - keptMs;
    for (const [id, until] of this.#notAfter) {
      if (this.#notAfter.size <= keptCount) break;
      if (Date.parse(until) < bound) this.#notAfter.delete(id);
    }
    const operations = Object.fromEntries(this.#notAfter);
    replaceFile(this.#path, `${JSON.stringify({ version: 1, operations })}\n`);
  }

  #read(): Record<string, string> {
    const text = readText(this.#path);
    if (text === null) return {};
    try {
      return fileSchema.parse(JSON.parse(text)).operations;
    } catch (error) {
      // The file is replaced in one step, so this is a damaged disk; not to start at all would help nobody.
      this.#context.logger.error("The list of acknowledged operations is damaged; it begins anew.", {
        error,
      });
      return {};
    }
  }
}

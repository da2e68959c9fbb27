/** Forgets what operators muted and read when they are removed: whoever is added again with the same key has the same id, and begins anew. */
import { systemCaller } from "../../callers/caller.ts";
import type { Context } from "../../context.ts";
import { retryOnConflict } from "../../internal/retry-on-conflict.ts";
import type { Write } from "../../storage/storage.ts";
import type { BackgroundWork } from "../../upkeep/background-work.ts";
import type { ReadDocument } from "../documents.ts";
import type { InboxIndex } from "./inbox-index.ts";

const readers = "notification_readers";
const reads = "notification_reads";
/** Readers that are looked at, and marks that are removed, in one go. */
const atOnce = 100;
/** Readers that are no operators. */
const lasting: ReadonlySet<string> = new Set(["system", "anonymous"]);

interface Parts {
  work: BackgroundWork;
  index: InboxIndex;
}

export class GoneReaders {
  readonly #context: Context;
  readonly #parts: Parts;

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    context.feed.follow("operators", ({ key, document }) => {
      if (document === null) this.#forget(key);
    });
  }

  /** Forgets those who were removed when nobody followed. Called when the index is read, and before anybody is added. */
  async start(): Promise<void> {
    const { storage } = this.#context;
    const all = [...this.#parts.index.readers].filter((id) => !lasting.has(id));
    for (let from = 0; from < all.length; from += atOnce) {
      const ids = all.slice(from, from + atOnce);
      const operators = await storage.getMany("operators", ids);
      for (const [at, id] of ids.entries()) if (!operators[at]) this.#forget(id);
    }
  }

  #forget(id: string): void {
    // As it is now: what is read after the operator came again is theirs.
    const read = [...this.#parts.index.readsOf(id)];
    let seen: number | undefined;
    this.#parts.work.do(async () => {
      seen ??= (await this.#context.storage.get(readers, id))?.revision ?? 0;
      await retryOnConflict(() => this.#dropReader(id, seen));
    });
    for (let from = 0; from < read.length; from += atOnce) {
      const page = read.slice(from, from + atOnce);
      this.#parts.work.do(() => retryOnConflict(() => this.#dropReads(id, page)));
    }
  }

  /** What was written since it was seen is of an operator who came again while there was no space for the removal, say. */
  async #dropReader(id: string, seen: number | undefined): Promise<void> {
    const { storage } = this.#context;
    const stored = await storage.get(readers, id);
    if (!stored) return;
    if (stored.revision !== seen && (await storage.get("operators", id)) !== null) return;
    await this.#drop([{ kind: "delete", collection: readers, key: id, expected: stored.revision }]);
  }

  async #dropReads(id: string, page: readonly (readonly [string, string])[]): Promise<void> {
    const keys = page.map(([notification]) => `${id}:${notification}`);
    const stored = await this.#context.storage.getMany<ReadDocument>(reads, keys);
    const deletes = stored.flatMap((each, at): Write[] =>
      each?.value.read_at === page[at]![1]
        ? [{ kind: "delete", collection: reads, key: each.key, expected: each.revision }]
        : [],
    );
    if (deletes.length > 0) await this.#drop(deletes);
  }

  async #drop(deletes: readonly Write[]): Promise<void> {
    // With the reserve: what is removed makes space.
    await this.#context.commitWithReserve(systemCaller, deletes);
  }
}

/** Forgets what operators muted and read up to when they are removed: whoever is added again with the same key has the same id, and begins anew. */
import { systemCaller } from "../../callers/caller.ts";
import type { Context } from "../../context.ts";
import { retryOnConflict } from "../../internal/retry-on-conflict.ts";
import { eachPage } from "../../storage/each-document.ts";
import type { BackgroundWork } from "../../upkeep/background-work.ts";

const collection = "notification_readers";
/** Readers that are looked at in one go. */
const atOnce = 100;
/** Readers that are no operators. */
const lasting: ReadonlySet<string> = new Set(["system", "anonymous"]);

export class GoneReaders {
  readonly #context: Context;
  readonly #work: BackgroundWork;

  constructor(context: Context, work: BackgroundWork) {
    this.#context = context;
    this.#work = work;
    context.feed.follow("operators", ({ key, document }) => {
      if (document === null) this.#forget(key);
    });
  }

  /** Forgets those who were removed when nobody followed. Called before anybody is added. */
  async start(): Promise<void> {
    const { storage } = this.#context;
    for await (const page of eachPage(storage, collection, { limit: atOnce })) {
      const ids = page.map(({ key }) => key).filter((id) => !lasting.has(id));
      const operators = await storage.getMany("operators", ids);
      for (const [at, id] of ids.entries()) if (!operators[at]) this.#forget(id);
    }
  }

  #forget(id: string): void {
    this.#work.do(() =>
      retryOnConflict(async () => {
        const stored = await this.#context.storage.get(collection, id);
        if (!stored) return;
        // With the reserve: what is removed makes space.
        await this.#context.commitWithReserve(systemCaller, [
          { kind: "delete", collection, key: id, expected: stored.revision },
        ]);
      }),
    );
  }
}

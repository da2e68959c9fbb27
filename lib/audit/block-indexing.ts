/**
 * Writes the entry of each block of the audit log when it is full, and removes those of blocks that were pruned. It goes on where the storage
 * says that it was, so a process that ended, or another one on the same storage, leaves nothing undone and does nothing twice.
 */
import { systemCaller } from "../callers/caller.ts";
import { auditLog, type Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { eventTable } from "../events.ts";
import type { LogEntry } from "../storage/storage.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { keepRounds } from "../upkeep/rounds.ts";
import { blockCollection, blockOf, blockSize, keyOf, rangeOf, toBlockPut } from "./block-index.ts";
import type { StoredEvent } from "./stored-event.ts";

const everyMs = 3_600_000;
/** Between two blocks of a long log that has no index yet. */
const pauseMs = 20;

export class BlockIndexing {
  readonly #context: Context;
  readonly #work: BackgroundWork;
  /** Events in the block that is not full yet, as far as was told since the last look. */
  #told = 0;
  #isRunning = false;

  constructor(context: Context) {
    this.#context = context;
    this.#work = new BackgroundWork(context);
  }

  /** Keeps the index from now on: all that lacks at once, then with every thousandth event. The function returned ends it. */
  keep(): () => Promise<void> {
    const { clock, logger, feed } = this.#context;
    const end = keepRounds({
      clock,
      everyMs,
      pauseMs,
      round: () => this.#round(),
      failed: (error) => logger.error("The audit log was not indexed.", { error }),
    });
    const unlisten = feed.listen(({ event_type }) => {
      if (!eventTable[event_type].audited || (this.#told += 1) < blockSize) return;
      this.#work.do(() => this.#catchUp());
    });
    return async () => {
      unlisten();
      await Promise.all([end(), this.#work.stop()]);
    };
  }

  async #catchUp(): Promise<void> {
    for await (const _ of this.#round());
  }

  /** Whoever is at it goes on to the newest event: a second one has nothing to do. */
  async *#round(): AsyncGenerator<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      yield* this.#forgetPruned();
      for (let block = await this.#firstToAdd(); await this.#isFull(block); block += 1)
        yield void (await this.#add(block));
    } finally {
      this.#isRunning = false;
    }
  }

  async *#forgetPruned(): AsyncGenerator<void> {
    const { storage } = this.#context;
    const to = keyOf(await this.#firstKept());
    for (;;) {
      const { items } = await storage.list(blockCollection, { to, limit: 100 });
      if (items.length === 0) return;
      const deletes = items.map(({ key }) => ({ kind: "delete", collection: blockCollection, key }) as const);
      // With the reserve: it makes space.
      yield void (await this.#context.commitWithReserve(systemCaller, deletes));
    }
  }

  async #firstToAdd(): Promise<number> {
    const { items } = await this.#context.storage.list(blockCollection, { order: "desc", limit: 1 });
    const last = items[0] === undefined ? -1 : Number(items[0].key);
    return Math.max(last + 1, await this.#firstKept());
  }

  /** The block of the oldest event that has not been removed. */
  async #firstKept(): Promise<number> {
    const { base } = await this.#context.storage.readLog(auditLog, { limit: 1 });
    return blockOf(base.sequence + 1);
  }

  async #isFull(block: number): Promise<boolean> {
    const { head } = await this.#context.storage.readLog(auditLog, { reverse: true, limit: 1 });
    const { from, to } = rangeOf(block);
    if (to <= head.sequence) return true;
    this.#told = Math.max(0, head.sequence - from + 1);
    return false;
  }

  async #add(block: number): Promise<void> {
    const { crypto } = this.#context;
    const entries = await this.#read(block);
    // Pruned meanwhile, or damaged.
    if (entries.length === 0) return;
    try {
      await this.#context.commit(systemCaller, [toBlockPut(crypto, block, entries)]);
    } catch (error) {
      // Another process has written the same.
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
  }

  /** A block that can't be read stays without an entry, and does not keep those behind it from theirs. */
  async #read(block: number): Promise<LogEntry<StoredEvent>[]> {
    const { storage, logger } = this.#context;
    try {
      return (await storage.readLog<StoredEvent>(auditLog, { ...rangeOf(block), limit: blockSize })).entries;
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_CORRUPT")) throw error;
      logger.error("A part of the audit log can't be read, and is not indexed.", { error });
      return [];
    }
  }
}

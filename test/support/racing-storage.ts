import type { JsonObject } from "../../lib/json.ts";
import { MemoryStorage, type MemoryStorageOptions } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";

/** Does something between the reads and the commit of somebody, once. */
export class RacingStorage extends MemoryStorage {
  /** Done right before the next commit that is meant, whose own commits are not raced. */
  before: (() => Promise<unknown>) | null = null;
  readonly #isMeant: (writes: readonly Write[]) => boolean;

  /** @param isMeant - Default: the very next commit. */
  constructor(
    isMeant: (writes: readonly Write[]) => boolean = () => true,
    options: MemoryStorageOptions = {},
  ) {
    super(options);
    this.#isMeant = isMeant;
  }

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const { before } = this;
    if (before && this.#isMeant(writes)) {
      this.before = null;
      await before();
    }
    return super.commit(writes, options);
  }
}

/**
 * Somebody else writes, with the value that it has, whatever a commit expects to be as it was read: right before that commit, and not
 * before the next try.
 */
export class TouchingStorage extends MemoryStorage {
  /** What was touched, and not written by its owner since. */
  readonly #touched = new Set<string>();
  /** How often, by collection. */
  readonly counts = new Map<string, number>();

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    for (const write of writes) {
      if (write.kind !== "put" && write.kind !== "delete") continue;
      const { collection, key, expected = 0 } = write;
      const name = `${collection}/${key}`;
      if (expected === 0 || this.#touched.delete(name)) continue;
      const stored = await this.get<JsonObject>(collection, key);
      if (stored?.revision !== expected) continue;
      this.#touched.add(name);
      this.counts.set(collection, (this.counts.get(collection) ?? 0) + 1);
      await super.commit([{ kind: "put", collection, key, value: stored.value }]);
    }
    return super.commit(writes, options);
  }
}

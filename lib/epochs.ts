/**
 * The epoch: which life of its data the orchestrator leads.
 *
 *   first start ──▶ active ──a backup of it is restored, and started──▶ a new epoch: paused ──resume──▶ active
 *
 * A restore leaves a note beside the data. The start that finds it begins a new epoch, paused, in one commit, and takes the note away
 * afterwards; the epoch names the restore that it is of, so that a process that is killed between the two begins none twice.
 *
 * While it is paused, nothing of before happens by itself: what is open is asked about and never begun, and rollouts, schedules and
 * drift checks wait. What an operator asks for is done.
 */
import { toTimestamp, type Clock } from "./clock.ts";
import { isOrchestratorError, OrchestratorError } from "./errors.ts";
import type { Feed } from "./feed/feed.ts";
import type { Ids } from "./ids.ts";
import { retryOnConflict } from "./internal/retry-on-conflict.ts";
import { toJsonObject } from "./json.ts";
import type { Logger } from "./logger.ts";
import type { CollectionDefinition, Storage, StoredDocument, Write } from "./storage/storage.ts";
import { compareEpochs, nextNumber, type Epoch } from "./wire/epoch.ts";

const collection = "epochs";
const key = "now";

/** The restore by which an epoch began. */
export interface EpochRestore {
  /** Names it: the next restore is another one. */
  restore_id: string;
  restored_at: string;
  /** When the backup was made, as far as its audit log tells; null where that is empty. */
  backup_at: string | null;
  /** When an operator had the server go on; until then it is paused. */
  resumed_at?: string;
}

/** The epoch as stored. */
export interface EpochDocument extends Epoch {
  begun_at: string;
  restore?: EpochRestore;
}

/** Where the epoch is kept: one document. */
export const epochCollections = {
  [collection]: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;

/** What says in which epoch it was made or begun; absent = before there were epochs. */
export interface OfEpoch {
  epoch?: number;
}

interface Parts {
  storage: Storage;
  feed: Feed;
  clock: Clock;
  ids: Ids;
  logger: Logger;
}

/** Tells which epoch it is, and what it has to do with. Follows the feed: whichever process begins one, or goes on, each hears of it. */
export class Epochs {
  readonly #parts: Parts;
  readonly #watchers: (() => void)[] = [];
  #stored: StoredDocument<EpochDocument> | null = null;
  /** The newer epochs that approved agents follow, by node_id. */
  readonly #followed = new Map<string, Epoch>();

  constructor(parts: Parts) {
    this.#parts = parts;
    parts.feed.follow<EpochDocument>(collection, ({ document }) => this.#follow(document));
  }

  /**
   * Takes up the epoch that is stored, or begins one: at the first start, and after each restore. Of processes that start at once, one
   * begins it.
   *
   * @param begin - Commits the first write, or the one of a restore with the event that tells of it.
   */
  start(begin: (write: Write, restore: EpochRestore | null) => Promise<unknown>): Promise<void> {
    return retryOnConflict(() => this.#start(begin));
  }

  async #start(begin: (write: Write, restore: EpochRestore | null) => Promise<unknown>): Promise<void> {
    const { storage } = this.#parts;
    const stored = await storage.get<EpochDocument>(collection, key);
    const note = storage.restored?.note() ?? null;
    const isNews = note !== null && stored?.value.restore?.restore_id !== note.restore_id;
    if (isNews) {
      const { restore_id, restored_at, epoch_after = 0 } = note;
      const restore = { restore_id, restored_at, backup_at: await this.#backupAt() };
      const after = Math.max(stored?.value.number ?? 0, epoch_after);
      await this.#begin(stored, { restore, after }, (write) => begin(write, restore));
    } else if (stored) this.#stored = stored;
    else await this.#beginFirst((write) => begin(write, null));
    if (note) await storage.restored?.told();
  }

  /** What agents are told; null where none could be written yet. */
  get current(): Epoch | null {
    const value = this.#stored?.value;
    return value ? { number: value.number, id: value.id } : null;
  }

  /** The epoch with all that is known of it. */
  get document(): Readonly<EpochDocument> | null {
    return this.#stored?.value ?? null;
  }

  /** Whether nothing may happen by itself, until an operator has it go on after a restore. */
  get isPaused(): boolean {
    const restore = this.#stored?.value.restore;
    return restore !== undefined && restore.resumed_at === undefined;
  }

  /** The part of a new document that tells the epoch in which it is made. */
  get mark(): OfEpoch {
    return this.#stored ? { epoch: this.#stored.value.number } : {};
  }

  /** Whether something comes from the backup that was restored: since then it may have happened elsewhere. */
  isBefore({ epoch = 0 }: OfEpoch): boolean {
    return this.#stored?.value.restore !== undefined && epoch < this.#stored.value.number;
  }

  /** Whether something comes from the backup and waits for an operator's word. */
  isHeld(made: OfEpoch): boolean {
    return this.isPaused && this.isBefore(made);
  }

  /** Has somebody hear when what was held may go on. */
  onResume(watcher: () => void): void {
    this.#watchers.push(watcher);
  }

  /**
   * Goes on after a restore. `commit` is given what to write, and the epoch as it is from then on.
   *
   * @throws {OrchestratorError} `INVALID_TRANSITION` where nothing is paused; `REVISION_CONFLICT` where somebody else resumed meanwhile.
   */
  async resume(commit: (write: Write, resumed: Readonly<EpochDocument>) => Promise<unknown>): Promise<void> {
    const stored = this.#stored;
    const restore = stored?.value.restore;
    if (!stored || !restore || !this.isPaused)
      throw new OrchestratorError("INVALID_TRANSITION", {
        message: "The server is not paused after a restore.",
      });
    const resumed_at = toTimestamp(this.#parts.clock.now());
    const value = { ...stored.value, restore: { ...restore, resumed_at } };
    await commit(toPut(stored, value), value);
  }

  /** The newest epoch that an approved agent follows in place of this one; null where none does. */
  get supersededBy(): (Epoch & { nodeId: string }) | null {
    let newest: (Epoch & { nodeId: string }) | null = null;
    for (const [nodeId, epoch] of this.#followed)
      if (newest === null || compareEpochs(epoch, newest) > 0) newest = { ...epoch, nodeId };
    return newest;
  }

  /** Whether an agent that has seen an epoch follows a newer server of the same key. */
  isSuperseded(seen: Epoch | undefined): seen is Epoch {
    const current = this.current;
    return seen !== undefined && current !== null && compareEpochs(seen, current) > 0;
  }

  /** An approved agent follows a newer server. */
  noteSuperseded(nodeId: string, seen: Epoch): void {
    this.#followed.set(nodeId, seen);
  }

  /** An agent follows this server, or is none of the fleet any more. */
  forgetSuperseded(nodeId: string): void {
    this.#followed.delete(nodeId);
  }

  /** On a full disk the process goes without: agents are told none, as the next start would not know it. */
  async #beginFirst(commit: (write: Write) => Promise<unknown>): Promise<void> {
    try {
      await this.#begin(null, { after: 0 }, commit);
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
      this.#parts.logger.warn("The epoch could not be written; it begins with the next start.", { error });
    }
  }

  async #begin(
    before: StoredDocument<EpochDocument> | null,
    { restore, after }: { restore?: EpochRestore; after: number },
    commit: (write: Write) => Promise<unknown>,
  ): Promise<void> {
    const now = this.#parts.clock.now();
    const value: EpochDocument = {
      number: nextNumber(now, after),
      id: this.#parts.ids.next(),
      begun_at: toTimestamp(now),
      ...(restore && { restore }),
    };
    await commit(toPut(before, value));
  }

  #follow(document: StoredDocument<EpochDocument> | null): void {
    const wasPaused = this.isPaused;
    this.#stored = document;
    if (wasPaused && !this.isPaused) for (const watcher of this.#watchers) watcher();
  }

  /** The last that a backup knows is that it was made. */
  async #backupAt(): Promise<string | null> {
    const { entries } = await this.#parts.storage.readLog("audit", { reverse: true, limit: 1 });
    return entries[0] ? toTimestamp(entries[0].at) : null;
  }
}

function toPut(before: StoredDocument<EpochDocument> | null, value: EpochDocument): Write {
  const expected = before?.revision ?? 0;
  return { kind: "put", collection, key, value: toJsonObject(value), expected };
}

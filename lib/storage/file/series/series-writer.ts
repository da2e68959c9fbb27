import type { Clock } from "../../../clock.ts";
import type { OrchestratorError } from "../../../errors.ts";
import type { Logger } from "../../../logger.ts";
import { errnoOf, isShortOfFiles, storageError } from "../errors.ts";
import type { ChunkFiles } from "./chunk-files.ts";
import { encodeChunk } from "./chunk.ts";
import { timesOf, type Compaction } from "./compaction.ts";
import type { HeadJournal, Trim } from "./head-journal.ts";
import type { Head } from "./head.ts";
import type { LiveSeries } from "./live-series.ts";
import { tiers, type OwnerSeries, type Tier } from "./owner-series.ts";
import { tableOf } from "./table.ts";

/** Heads that are written as chunks in one go: more would hold up the event loop. */
const sealedAtOnce = 16;

/** Files are synced and removed so often. */
const cleanMs = 60_000;

/** What a {@link SeriesWriter} works on. */
export interface SeriesWriterOptions {
  live: LiveSeries;
  files: Readonly<Record<Tier, ChunkFiles>>;
  journal: HeadJournal;
  compaction: Compaction;
  clock: Clock;
  logger: Logger;
  /** Why nothing of the storage is written any more; null while it is. */
  storageFailure: () => OrchestratorError | null;
}

/** Moves samples from memory to the journal, to chunks, to larger chunks. Its calls must not overlap. */
export class SeriesWriter {
  readonly #options: SeriesWriterOptions;
  readonly #carried = new WeakSet<Trim>();
  #cleanedAt = -Infinity;
  /** What is lacking to write now, for people; null where nothing is. */
  #lack: string | null = null;
  #failure: Error | null = null;

  constructor(options: SeriesWriterOptions) {
    this.#options = options;
  }

  /** Whether nothing can be written now. */
  get isStuck(): boolean {
    return this.#lack !== null || this.#failure !== null;
  }

  /** Why samples are not kept now, for people; null while they are. */
  get fault(): string | null {
    if (this.#failure !== null) return `not written until the next start: ${reasonOf(this.#failure)}`;
    return this.#lack === null ? null : `${this.#lack}; the newest stay in memory, as far as they go`;
  }

  /** An error of the disk after which nothing more is written; null while all is well. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Does all that is due. Failures go to the log. */
  async upkeep(): Promise<void> {
    const { live, clock } = this.#options;
    const now = clock.monotonic();
    await this.#attempt(async () => {
      await this.flush();
      const due = [...live.owners.values()].filter(({ dueAt }) => dueAt <= now);
      for (let i = 0; i < due.length; i += sealedAtOnce) await this.#turn(due.slice(i, i + sealedAtOnce));
      this.#noteWritten();
    });
    if (now - this.#cleanedAt >= cleanMs) await this.#attempt(() => this.#clean(now));
  }

  /** Makes rows and trims durable, all in one write. */
  async flush(): Promise<void> {
    const failure = this.#failure ?? this.#options.storageFailure();
    if (failure !== null) throw failure;
    const { live, journal } = this.#options;
    const taken = live.takeDirty();
    if (taken.heads.size + taken.trims.length === 0) return;
    try {
      // A trim drops the heads before it from the journal: what of them was sealed must be durable by then.
      if (taken.trims.length > 0) await this.#syncFiles();
      if (journal.isDue) await this.#beginJournal(taken.trims);
      else await journal.append(taken.heads, taken.trims);
    } catch (error) {
      live.giveBack(taken);
      throw error;
    }
  }

  /** Makes all durable, as far as it can be written. */
  async persist(): Promise<void> {
    await this.#attempt(() => this.#flushAll());
  }

  /** Makes all durable, before the end, and the next start quick. */
  async finish(): Promise<void> {
    await this.#attempt(async () => {
      await this.#flushAll();
      for (const tier of tiers) await this.#options.files[tier].writeIndexes("all");
    });
  }

  /** Ends the writing: what the disk kept is uncertain. */
  stop(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = storageError(error);
    const message = "Time series are not written any more until the next start.";
    this.#options.logger.error(message, { error });
  }

  /** Runs a step. What is lacking, space or open files, is tried again at the next one; an error of the disk is final. */
  async #attempt(step: () => Promise<void>): Promise<void> {
    const failure = this.#options.storageFailure();
    if (failure !== null) this.stop(failure);
    if (this.#failure !== null) return;
    try {
      await step();
    } catch (error) {
      const isFull = storageError(error).code === "STORAGE_FULL";
      if (!isFull && !isShortOfFiles(error)) return this.stop(error);
      if (this.#lack !== null) return;
      this.#lack = isFull ? "there is no space" : `the system refuses it for now (${errnoOf(error)})`;
      const message = isFull ? "There is no space for time series" : "Time series can't be written now";
      this.#options.logger.error(`${message}: the newest stay in memory, as far as they go.`, { error });
    }
  }

  /** Nothing is lacking any more: all that was due is written. */
  #noteWritten(): void {
    if (this.#lack !== null) this.#options.logger.info("Time series are written again.");
    this.#lack = null;
  }

  async #turn(owners: readonly OwnerSeries[]): Promise<void> {
    const { live, compaction } = this.#options;
    await this.#seal(owners.filter(({ head }) => head !== null));
    for (const owner of owners) {
      await compaction.run(owner);
      owner.dueAt = live.nextTurn(owner);
      live.forgetEmpty(owner);
    }
  }

  /** Writes heads as chunks. They stay in the journal until the chunks are durable. */
  async #seal(owners: readonly OwnerSeries[]): Promise<void> {
    if (owners.length === 0) return;
    const sealedAt = this.#options.clock.now();
    const chunks = owners.map((owner) => {
      const head = owner.head as Head;
      const table = tableOf(head.rows());
      owner.sealing = head;
      owner.head = null;
      const range = { first: head.first, last: head.id, ...timesOf(table), sealedAt };
      return { head: { owner: owner.owner, ...range }, body: encodeChunk(table) };
    });
    try {
      const written = await this.#options.files.recent.append(chunks);
      owners.forEach((owner, index) => {
        owner.recent = [...owner.recent, ...written.slice(index, index + 1)];
        owner.sealing = null;
      });
    } catch (error) {
      for (const owner of owners) this.#takeBack(owner);
      throw error;
    }
  }

  #takeBack(owner: OwnerSeries): void {
    const head = owner.sealing as Head;
    // Rows that came meanwhile are in no journal yet: nothing else is written while heads are sealed.
    const newer = owner.head?.rows() ?? [];
    this.#options.live.dropHead(owner);
    owner.head = head;
    owner.sealing = null;
    this.#options.live.append(owner.owner, newer, false);
  }

  async #beginJournal(newTrims: readonly Trim[]): Promise<void> {
    await this.#syncFiles();
    const { live, files, journal } = this.#options;
    const oldest = Math.min(...tiers.map((tier) => files[tier].oldest));
    const heads: Head[] = [];
    const trims: Trim[] = [];
    for (const owner of live.owners.values()) {
      owner.trims = owner.trims.filter(
        (trim) => trim.last >= oldest || newTrims.includes(trim) || this.#carryOnce(trim),
      );
      trims.push(...owner.trims);
      if (owner.head !== null) heads.push(owner.head);
    }
    await journal.begin(heads, trims);
  }

  /**
   * Whether a trim of what is in no file any more is written once again: by the journal after that, the removal of those
   * that held its rows is durable.
   */
  #carryOnce(trim: Trim): boolean {
    if (this.#carried.has(trim)) return false;
    this.#carried.add(trim);
    return true;
  }

  async #flushAll(): Promise<void> {
    await this.flush();
    await this.#syncFiles();
  }

  async #syncFiles(): Promise<void> {
    for (const tier of tiers) await this.#options.files[tier].sync();
  }

  async #clean(now: number): Promise<void> {
    this.#cleanedAt = now;
    await this.#syncFiles();
    for (const tier of tiers) {
      await this.#options.files[tier].removeUnused();
      await this.#options.files[tier].writeIndexes("full");
    }
  }
}

function reasonOf(failure: Error): string {
  const errno = errnoOf(failure);
  return errno === null ? failure.message : `the disk reported an error (${errno})`;
}

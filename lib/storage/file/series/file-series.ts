/**
 * Time series in files.
 *
 *   append -> head (memory; in the journal within a second) -> recent chunk (10 minutes) -> raw chunk (2 hours)
 *          -> coarse chunk (five-minute points) -> gone
 *
 * All that writes runs in one queue, one step after the other; `append` and `query` do not wait for it.
 */
import type { Clock, Timer } from "../../../clock.ts";
import type { OrchestratorError } from "../../../errors.ts";
import { hourMs } from "../../../internal/durations.ts";
import type { Logger } from "../../../logger.ts";
import { checkSampleQuery, checkSampleRows } from "../../samples.ts";
import type { SamplePoint, SampleQuery, SampleRow, SeriesStorage } from "../../storage.ts";
import type { WantedSeries } from "../../wanted-series.ts";
import type { Disk } from "../disk.ts";
import { storageError, takeEach } from "../errors.ts";
import { ChunkFiles } from "./chunk-files.ts";
import { Compaction } from "./compaction.ts";
import { HeadJournal } from "./head-journal.ts";
import type { HeldFile } from "./held-file.ts";
import { LiveSeries } from "./live-series.ts";
import { NewestRow } from "./newest-row.ts";
import { heldChunks, tiers, type HeldChunk, type OwnerSeries, type Tier } from "./owner-series.ts";
import { PointCollector } from "./points.ts";
import { readSeries, type SeriesContent } from "./series-folder.ts";
import { SeriesWriter } from "./series-writer.ts";
import { tableOf, wholeTable, type StreamedTable } from "./table.ts";

const upkeepMs = 1_000;

/** Chunks of an owner that are in memory at once while they are read, and their bytes where it is more than one. */
const readTogether = 8;
const readTogetherBytes = 4 * 1_024 * 1_024;

/** How long each tier fills one file. */
const fileMs: Record<Tier, number> = { recent: hourMs / 2, raw: 2 * hourMs, coarse: 24 * hourMs };

/** What {@link FileSeries} is made of. */
export interface FileSeriesOptions {
  disk: Disk;
  /** Folder of its own, made if it is new. */
  folder: string;
  clock: Clock;
  logger: Logger;
  /** How long samples are kept as they were taken, at least, in milliseconds. */
  rawMs: number;
  /** How long five-minute points are kept, in milliseconds. */
  pointsMs: number;
  /** The journal of the heads is begun anew when it is larger than this, in bytes. Default 4 MiB. */
  journalBytes?: number;
  /** Throws when the storage may not be used. */
  check: () => void;
  /** Why nothing of the storage is written any more; null while it is. Default: it always is. */
  failure?: () => OrchestratorError | null;
}

/** {@link SeriesStorage} in files. A failure of the disk never reaches who appends. */
export class FileSeries implements SeriesStorage {
  readonly #options: FileSeriesOptions;
  readonly #files: Readonly<Record<Tier, ChunkFiles>>;
  readonly #journal: HeadJournal;
  readonly #compaction: Compaction;
  #live: LiveSeries;
  #writer: SeriesWriter;
  #work: Promise<unknown> = Promise.resolve();
  readonly #reads = new Set<Promise<unknown>>();
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(options: FileSeriesOptions) {
    this.#options = options;
    const filesOf = (tier: Tier): ChunkFiles => new ChunkFiles({ ...options, tier, fileMs: fileMs[tier] });
    this.#files = { recent: filesOf("recent"), raw: filesOf("raw"), coarse: filesOf("coarse") };
    this.#journal = new HeadJournal({ journalBytes: 4 * 1_024 * 1_024, ...options });
    this.#compaction = new Compaction({ ...options, files: this.#files });
    [this.#live, this.#writer] = this.#begin({ owners: new Map(), nextHead: 1 });
  }

  /** Reads what is there. Never fails, because the rest of the storage does not depend on time series. */
  async open(): Promise<void> {
    try {
      await this.#options.disk.makeFolder(this.#options.folder);
      const content = await readSeries(this.#files, this.#journal);
      [this.#live, this.#writer] = this.#begin(content);
    } catch (error) {
      this.#writer.stop(error);
    }
    if (this.#needsUpkeep) this.#arm();
  }

  fault(): string | null {
    return this.#writer.fault;
  }

  async append(owner: string, rows: readonly SampleRow[]): Promise<void> {
    this.#options.check();
    checkSampleRows(rows);
    if (rows.length === 0) return;
    this.#live.append(owner, rows, this.#writer.isStuck);
    this.#arm();
  }

  query(name: string, query: SampleQuery): Promise<Record<string, SamplePoint[]>> {
    return this.#reading(() => this.#query(name, query));
  }

  newest(name: string, since = -Infinity): Promise<SampleRow | null> {
    return this.#reading(() => this.#newest(name, since));
  }

  sync(): Promise<void> {
    return this.#enqueue(async () => {
      this.#options.check();
      await this.#flush();
    });
  }

  async trim(owner: string, before = Infinity): Promise<void> {
    this.#options.check();
    await this.#enqueue(async () => {
      this.#live.trim(owner, before);
      await this.#flush();
    });
  }

  /** Writes what is not durable yet, seals, merges, thins and lets go of what is due. Runs by itself every second. */
  upkeep(): Promise<void> {
    return this.#enqueue(() => this.#writer.upkeep());
  }

  /**
   * The files of this moment, with every sample that was taken in before the call as far as it can be written. Until they
   * are let go, what is merged and thinned meanwhile keeps its space.
   */
  hold(): Promise<HeldFile[]> {
    return this.#enqueue(async () => {
      this.#options.check();
      await this.#writer.persist();
      const files = [...(await this.#journal.hold()), ...tiers.flatMap((tier) => this.#files[tier].hold())];
      return files.map((file) => this.#guarded(file));
    });
  }

  /** Resolves when all is durable and the files are closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await takeEach([
      () => this.#enqueue(() => this.#writer.finish()),
      () => Promise.allSettled(this.#reads),
      ...tiers.map((tier) => () => this.#files[tier].close()),
      () => this.#journal.close(),
    ]);
  }

  /** A held file that is not read while or after the series are closed. */
  #guarded(file: HeldFile): HeldFile {
    const read = (position: number, length: number): Promise<Uint8Array> =>
      this.#reading(async () => {
        this.#options.check();
        return file.read(position, length);
      });
    return { name: file.name, size: file.size, read, release: () => file.release() };
  }

  /** Has {@link close} wait for a read. */
  #reading<T>(read: () => Promise<T>): Promise<T> {
    const result = read();
    const settled = result.then(
      () => {},
      () => {},
    );
    this.#reads.add(settled);
    void settled.then(() => this.#reads.delete(settled));
    return result;
  }

  #begin({ owners, nextHead }: SeriesContent): [LiveSeries, SeriesWriter] {
    const live = new LiveSeries(this.#options.clock, owners, nextHead);
    const { clock, logger, failure = () => null } = this.#options;
    const parts = { live, files: this.#files, journal: this.#journal, compaction: this.#compaction };
    return [live, new SeriesWriter({ ...parts, clock, logger, storageFailure: failure })];
  }

  async #query(name: string, query: SampleQuery): Promise<Record<string, SamplePoint[]>> {
    this.#options.check();
    checkSampleQuery(query);
    const collector = new PointCollector(query);
    const owner = this.#live.owners.get(name);
    if (owner === undefined) return collector.finish();
    // Before the first wait: what is in a head now may be in a chunk after it.
    const newest = [owner.sealing, owner.head].map((head) => tableOf(head?.rows() ?? []));
    const chunks = heldChunks(owner).filter(({ chunk }) => chunk.to >= query.from && chunk.from < query.to);
    const read = this.#readChunks(owner, chunks, { wanted: collector.wanted, together: readTogether });
    for await (const table of read) if (table !== null) collector.add(table);
    for (const table of newest) collector.add(table);
    return collector.finish();
  }

  async #newest(name: string, since: number): Promise<SampleRow | null> {
    this.#options.check();
    const owner = this.#live.owners.get(name);
    if (owner === undefined) return null;
    const rows = [owner.sealing, owner.head].flatMap((head) => head?.rows() ?? []);
    const found = new NewestRow(since);
    found.add(tableOf(rows));
    // The newest first, also of those that end at one time.
    const chunks = heldChunks(owner)
      .filter(({ chunk }) => chunk.to >= found.at)
      .reverse()
      .sort((a, b) => b.chunk.to - a.chunk.to);
    let read = 0;
    for await (const table of this.#readChunks(owner, chunks, { together: 1 })) {
      if (table !== null) found.add(wholeTable(table));
      if ((chunks[++read]?.chunk.to ?? -Infinity) < found.at) break;
    }
    return found.row;
  }

  /**
   * Reads chunks in their order, a few at a time: all that an owner may have are hundreds of megabytes, and as many times that when they are
   * read. Null in the place of a damaged one.
   */
  async *#readChunks(
    owner: OwnerSeries,
    held: readonly HeldChunk[],
    { wanted, together }: { wanted?: WantedSeries; together: number },
  ): AsyncGenerator<StreamedTable | null, void> {
    for (const { chunk } of held) chunk.file.readers++;
    try {
      for (let from = 0, some; from < held.length; from += some.length) {
        some = firstOf(held.slice(from, from + together));
        yield* await Promise.all(
          some.map(({ tier, chunk }) =>
            this.#compaction.read(owner, tier, { chunk, ...(wanted && { wanted }) }),
          ),
        );
      }
    } catch (error) {
      throw storageError(error);
    } finally {
      for (const { chunk } of held) chunk.file.readers--;
    }
  }

  async #flush(): Promise<void> {
    try {
      await this.#writer.flush();
    } catch (error) {
      throw storageError(error);
    }
  }

  /** Files outlive those whose samples they held: nothing else may ever come that has them removed. */
  get #needsUpkeep(): boolean {
    return this.#live.owners.size > 0 || tiers.some((tier) => this.#files[tier].bytes > 0);
  }

  #arm(): void {
    if (this.#isClosed || this.#timer !== null || this.#writer.failure !== null) return;
    this.#timer = this.#options.clock.setTimer(upkeepMs, () => {
      void this.upkeep().then(() => {
        this.#timer = null;
        if (this.#needsUpkeep) this.#arm();
      });
    });
  }

  #enqueue<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#work.then(step);
    this.#work = result.catch(() => {});
    return result;
  }
}

/** As many of the first as may be in memory at once, one at least. */
function firstOf(held: readonly HeldChunk[]): readonly HeldChunk[] {
  let bytes = 0;
  const end = held.findIndex(({ chunk }, index) => (bytes += chunk.length) > readTogetherBytes && index > 0);
  return end === -1 ? held : held.slice(0, end);
}

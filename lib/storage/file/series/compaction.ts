/**
 * What becomes of the chunks of an owner: those of ten minutes are merged to two hours, those past their time are thinned to
 * five-minute points, and these are let go at the end of theirs.
 */
import type { Clock } from "../../../clock.ts";
import { OrchestratorError } from "../../../errors.ts";
import { hourMs } from "../../../internal/durations.ts";
import type { Logger } from "../../../logger.ts";
import type { WantedSeries } from "../../wanted-series.ts";
import type { Chunk, ChunkFiles } from "./chunk-files.ts";
import { encodeChunk, readChunk } from "./chunk.ts";
import { toCoarse } from "./coarse.ts";
import type { OwnerSeries, Tier } from "./owner-series.ts";
import { joinTables, rowsFrom, type SampleTable, type StreamedTable } from "./table.ts";

/** Chunks of ten minutes that make one of two hours. */
const merged = 12;

/** What is thinned at once, so that an owner has few chunks of points. */
const thinnedMs = 12 * hourMs;

/** What {@link Compaction} works on. */
export interface CompactionOptions {
  files: Readonly<Record<Tier, ChunkFiles>>;
  clock: Clock;
  logger: Logger;
  /** How long samples are kept as they were taken, at least. */
  rawMs: number;
  /** How long five-minute points are kept. */
  pointsMs: number;
}

/** Merges, thins and lets go of chunks. */
export class Compaction {
  readonly #options: CompactionOptions;
  /** Series that could not be decoded, of which the log has a line: a chunk is read again and again. */
  readonly #told = new WeakMap<Chunk, Set<string | null>>();

  constructor(options: CompactionOptions) {
    this.#options = options;
  }

  /** Does what is due for an owner. On failure its chunks are as before. */
  async run(owner: OwnerSeries): Promise<void> {
    const { clock, rawMs, pointsMs } = this.#options;
    // Each owner's first turn comes at a time of its own, so that all of a fleet do not have theirs at once.
    const mergedNow = owner.raw.length > 0 ? merged : 1 + (owner.spread % merged);
    if (owner.recent.length >= mergedNow || isBefore(owner.recent[0], clock.now() - 2 * hourMs)) {
      await this.#replace(owner, { from: "recent", to: "raw", chunks: owner.recent });
    }
    const rawUntil = clock.now() - rawMs;
    const waits = owner.coarse.length > 0 ? thinnedMs : owner.spread % thinnedMs;
    if (isBefore(owner.raw[0], rawUntil - waits)) {
      const chunks = owner.raw.filter((chunk) => isBefore(chunk, rawUntil));
      await this.#replace(owner, { from: "raw", to: "coarse", chunks });
    }
    const until = clock.now() - pointsMs;
    owner.drop(
      "coarse",
      owner.coarse.filter((chunk) => isBefore(chunk, until)),
    );
  }

  /**
   * Reads a chunk without the rows that were trimmed, a series when it is its turn; null where it is damaged. The log has a line of that,
   * and of each series that can't be decoded, which is left out alone.
   */
  async read(
    owner: OwnerSeries,
    tier: Tier,
    { chunk, wanted }: { chunk: Chunk; wanted?: WantedSeries },
  ): Promise<StreamedTable | null> {
    const hiddenBefore = owner.hiddenBefore(chunk);
    const body = await this.#options.files[tier].read(chunk);
    const unread = (series: string | null, cause: unknown): void => {
      const told = this.#told.get(chunk) ?? new Set();
      if (!told.has(series)) this.#tell(owner, chunk, { cause, ...(series !== null && { series }) });
      this.#told.set(chunk, told.add(series));
    };
    let cause: unknown;
    try {
      if (body) return rowsFrom(readChunk(body, { unread, ...(wanted && { wanted }) }), hiddenBefore);
    } catch (error) {
      // Its checksum is right, and yet its times can't be decoded.
      cause = error;
    }
    if (owner[tier].includes(chunk)) {
      this.#tell(owner, chunk, { cause });
      owner.drop(tier, [chunk]);
    }
    return null;
  }

  #tell(
    { owner }: OwnerSeries,
    { file, at }: Chunk,
    { cause, series }: { cause?: unknown; series?: string },
  ) {
    const place = { owner, file: file.path, offset: at, ...(series !== undefined && { series }) };
    const error = new OrchestratorError("STORAGE_CORRUPT", { details: place, cause });
    this.#options.logger.error("A damaged part of time series was left out.", { ...place, error });
  }

  async #replace(
    owner: OwnerSeries,
    { from, to, chunks }: { from: Tier; to: Tier; chunks: readonly Chunk[] },
  ): Promise<void> {
    const read = await Promise.all(chunks.map((chunk) => this.read(owner, from, { chunk })));
    const tables = read.filter((table) => table !== null);
    // Each chunk by itself: five minutes that two of them share have a point in each, which queries bring together.
    const table = joinTables(to === "coarse" ? tables.map(toCoarse) : tables);
    const first = chunks[0] as Chunk;
    const last = chunks.at(-1) as Chunk;
    if (table.times.length > 0) {
      const head = {
        owner: owner.owner,
        first: first.first,
        last: last.last,
        ...timesOf(table),
        sealedAt: last.sealedAt,
      };
      const body = encodeChunk(table);
      owner[to] = [...owner[to], ...(await this.#options.files[to].append([{ head, body }]))];
    }
    owner.drop(
      from,
      chunks.filter((chunk) => owner[from].includes(chunk)),
    );
  }
}

/** Least and greatest time of a table that is not empty. */
export function timesOf({ times }: SampleTable): { from: number; to: number } {
  return {
    from: times.reduce((least, at) => Math.min(least, at), Infinity),
    to: times.reduce((greatest, at) => Math.max(greatest, at), -Infinity),
  };
}

function isBefore(chunk: Chunk | undefined, time: number): boolean {
  return chunk !== undefined && chunk.sealedAt <= time;
}

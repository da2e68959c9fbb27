/**
 * A table of samples as bytes, bit for bit.
 *
 *   rows | times | columns of a series | number of series | for each: name, length of the rest, presence, columns
 *
 * Presence is 0 where every row has a value; else the number of runs, then their lengths, rows with and without in turn.
 */
import { ByteReader, ByteWriter } from "./bytes.ts";
import { readColumn, writeColumn } from "./column.ts";
import { wholeTable, type SampleTable, type SeriesColumns, type StreamedTable } from "./table.ts";

/** Columns of a series: none where there is no series, one of samples, four of five-minute points. */
const fieldCounts = [0, 1, 4];

/** Writes a table. */
export function encodeChunk(table: SampleTable): Uint8Array {
  const out = new ByteWriter(1_024);
  out.unsigned(table.times.length);
  writeColumn(out, table.times);
  out.unsigned(table.series[0]?.fields.length ?? 0);
  out.unsigned(table.series.length);
  const part = new ByteWriter(1_024);
  for (const { name, present, fields } of table.series) {
    part.clear();
    writePresence(part, present);
    for (const field of fields) writeColumn(part, field);
    out.text(name);
    out.unsigned(part.length);
    out.raw(part.view());
  }
  return out.view();
}

/**
 * Reads what {@link encodeChunk} wrote.
 *
 * @throws {RangeError} where it is something else.
 */
export function decodeChunk(bytes: Uint8Array): SampleTable {
  const raise = (_: string | null, error: unknown): void => {
    throw error;
  };
  return wholeTable(readChunk(bytes, { unread: raise }));
}

/** What is read of a chunk, and who hears of the rest. */
export interface ChunkReading {
  /** Only these series, which may become fewer meanwhile. Default all. */
  wanted?: { has(name: string): boolean };
  /** Told of a series that can't be decoded, which is left out, and of the name null where this is so of all that come behind. */
  unread: (name: string | null, error: unknown) => void;
}

/**
 * Reads what {@link encodeChunk} wrote, a series when it is its turn.
 *
 * @throws {RangeError} where its times can't be decoded.
 */
export function readChunk(bytes: Uint8Array, reading: ChunkReading): StreamedTable {
  const input = new ByteReader(bytes);
  const rows = input.unsigned();
  return { times: readColumn(input, rows), series: readEach(input, rows, reading) };
}

function* readEach(
  input: ByteReader,
  rows: number,
  { wanted, unread }: ChunkReading,
): Generator<SeriesColumns, void> {
  try {
    const fieldCount = input.unsigned();
    if (!fieldCounts.includes(fieldCount)) throw new RangeError("That many columns are of nothing.");
    for (let left = input.unsigned(); left > 0; left--) {
      const name = input.text();
      const end = input.unsigned() + input.position;
      if (wanted === undefined || wanted.has(name)) {
        const columns = trySeries(input, name, { rows, fieldCount, end, unread });
        if (columns) yield columns;
      }
      input.position = end;
    }
  } catch (error) {
    unread(null, error);
  }
}

function trySeries(
  input: ByteReader,
  name: string,
  of: { rows: number; fieldCount: number; end: number; unread: ChunkReading["unread"] },
): SeriesColumns | null {
  try {
    const columns = readSeries(input, name, of);
    if (input.position !== of.end) throw new RangeError("A series ends elsewhere than it says.");
    return columns;
  } catch (error) {
    of.unread(name, error);
    return null;
  }
}

function readSeries(
  input: ByteReader,
  name: string,
  { rows, fieldCount }: { rows: number; fieldCount: number },
): SeriesColumns {
  const present = readPresence(input, rows);
  const count = present === null ? rows : present.reduce((sum, bit) => sum + bit, 0);
  return { name, present, fields: Array.from({ length: fieldCount }, () => readColumn(input, count)) };
}

function writePresence(out: ByteWriter, present: Uint8Array | null): void {
  const runs: number[] = [];
  let start = 0;
  for (let value = 1; present !== null && start < present.length; value = 1 - value) {
    const end = present.indexOf(1 - value, start);
    runs.push((end === -1 ? present.length : end) - start);
    start = end === -1 ? present.length : end;
  }
  out.unsigned(runs.length);
  for (const run of runs) out.unsigned(run);
}

function readPresence(input: ByteReader, rows: number): Uint8Array | null {
  const runs = input.unsigned();
  if (runs === 0) return null;
  const present = new Uint8Array(rows);
  for (let run = 0, start = 0; run < runs; run++) {
    const end = start + input.unsigned();
    if (run % 2 === 0) present.fill(1, start, end);
    start = end;
  }
  return present;
}

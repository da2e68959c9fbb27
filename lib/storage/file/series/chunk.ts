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

/** Reads what {@link encodeChunk} wrote. */
export function decodeChunk(bytes: Uint8Array): SampleTable {
  return wholeTable(readChunk(bytes));
}

/**
 * Reads what {@link encodeChunk} wrote, a series when it is its turn; with a choice, which may narrow meanwhile, only what is wanted then.
 */
export function readChunk(bytes: Uint8Array, wanted?: { has(name: string): boolean }): StreamedTable {
  const input = new ByteReader(bytes);
  const rows = input.unsigned();
  return { times: readColumn(input, rows), series: readEach(input, rows, wanted) };
}

function* readEach(
  input: ByteReader,
  rows: number,
  wanted?: { has(name: string): boolean },
): Generator<SeriesColumns, void> {
  const fieldCount = input.unsigned();
  for (let left = input.unsigned(); left > 0; left--) {
    const name = input.text();
    const end = input.unsigned() + input.position;
    if (wanted === undefined || wanted.has(name)) yield readSeries(input, name, { rows, fieldCount });
    input.position = end;
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

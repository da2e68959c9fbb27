import type { SampleRow } from "../../storage.ts";

/** Samples as columns: one of times, and one or more of values for each series. Rows are in the order they came. */
export interface SampleTable {
  times: Float64Array;
  series: SeriesColumns[];
}

/** The columns of one series. */
export interface SeriesColumns {
  name: string;
  /** For each row 1 where the series has a value and 0 where it has none; null when it has one in every row. */
  present: Uint8Array | null;
  /** Values of the rows that have one: of samples one column; of five-minute points sum, least, greatest and count. */
  fields: Float64Array[];
}

/** A table of which a series is read when it is its turn: all of them at once may be many times what is stored. */
export interface StreamedTable {
  times: Float64Array;
  series: Iterable<SeriesColumns>;
}

/** All of a table. */
export function wholeTable({ times, series }: StreamedTable): SampleTable {
  return { times, series: [...series] };
}

/** Rows as a table. */
export function tableOf(rows: readonly SampleRow[]): SampleTable {
  const found = new Map<string, { values: Float64Array; present: Uint8Array; count: number }>();
  rows.forEach(({ values }, row) => {
    for (const name of Object.keys(values)) {
      let column = found.get(name);
      if (column === undefined) {
        column = { values: new Float64Array(rows.length), present: new Uint8Array(rows.length), count: 0 };
        found.set(name, column);
      }
      column.present[row] = 1;
      column.values[column.count++] = values[name] as number;
    }
  });
  const series = [...found].map(([name, { values, present, count }]) => ({
    name,
    present: count === rows.length ? null : present,
    fields: [values.slice(0, count)],
  }));
  return { times: Float64Array.from(rows, (row) => row.at), series };
}

/** One table below the other. Both are of samples, or both of points. The columns of a series are put together when they are asked for. */
export function joinTables(tables: readonly StreamedTable[]): SampleTable {
  const times = joinColumns(tables.map((table) => table.times));
  const found = new Map<string, Part[]>();
  let start = 0;
  for (const table of tables) {
    const { length } = table.times;
    for (const columns of table.series) {
      const parts = found.get(columns.name);
      if (parts === undefined) found.set(columns.name, [{ start, length, columns }]);
      else parts.push({ start, length, columns });
    }
    start += length;
  }
  return { times, series: Array.from(found, ([name, parts]) => joinedSeries(name, parts, times.length)) };
}

/** The columns of a series in some of the rows. */
interface Part {
  start: number;
  length: number;
  columns: SeriesColumns;
}

/** Of an owner whose names never come again, all columns at once would be as many as its rows, for each row. */
function joinedSeries(name: string, parts: readonly Part[], rows: number): SeriesColumns {
  return {
    name,
    get present() {
      const present = new Uint8Array(rows);
      for (const { start, length, columns } of parts) {
        if (columns.present === null) present.fill(1, start, start + length);
        else present.set(columns.present, start);
      }
      return present.includes(0) ? present : null;
    },
    get fields() {
      const first = parts[0]?.columns.fields ?? [];
      return first.map((_, field) => joinColumns(parts.map(({ columns }) => columns.fields[field])));
    },
  };
}

function joinColumns(parts: readonly (Float64Array | undefined)[]): Float64Array {
  const joined = new Float64Array(parts.reduce((sum, part) => sum + (part?.length ?? 0), 0));
  let at = 0;
  for (const part of parts) {
    if (part === undefined) continue;
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** The rows from a time on; the table itself when that is all of them. */
export function rowsFrom(table: StreamedTable, from: number): StreamedTable {
  const { times } = table;
  if (times.every((at) => at >= from)) return table;
  return { times: times.filter((at) => at >= from), series: seriesFrom(table, from) };
}

function* seriesFrom({ times, series }: StreamedTable, from: number): Generator<SeriesColumns, void> {
  const rows = times.filter((at) => at >= from).length;
  for (const { name, present, fields } of series) {
    const isKept: boolean[] = [];
    const stillPresent: number[] = [];
    times.forEach((at, row) => {
      const has = present === null || present[row] === 1;
      if (has) isKept.push(at >= from);
      if (at >= from) stillPresent.push(has ? 1 : 0);
    });
    const left = fields.map((field) => field.filter((_, index) => isKept[index]));
    const count = left[0]?.length ?? 0;
    if (count === 0) continue;
    yield { name, present: count === rows ? null : Uint8Array.from(stillPresent), fields: left };
  }
}

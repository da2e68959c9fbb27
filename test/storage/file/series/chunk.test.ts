import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteReader } from "../../../../lib/storage/file/series/bytes.ts";
import { decodeChunk, encodeChunk, readChunk } from "../../../../lib/storage/file/series/chunk.ts";
import { readColumn } from "../../../../lib/storage/file/series/column.ts";
import { Head, readRows } from "../../../../lib/storage/file/series/head.ts";
import { joinTables, rowsFrom, tableOf, wholeTable } from "../../../../lib/storage/file/series/table.ts";
import type { SampleRow } from "../../../../lib/storage/storage.ts";
import { evilName, evilSteps } from "../../../support/evil.ts";

const unread = (): void => expect.unreachable();

const decimals = fc
  .tuple(fc.integer({ min: -1e9, max: 1e9 }), fc.integer({ min: 0, max: 11 }))
  .map(([n, scale]) => n / 10 ** scale);
const corners = fc.constantFrom(
  -0,
  0,
  5e-324,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  2 ** 49,
  -(2 ** 49),
  2 ** 53,
);
const value = fc.oneof(
  { weight: 6, arbitrary: decimals },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 2 ** 48 }) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  { weight: 1, arbitrary: corners },
);
const time = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1_893_456_000_000, max: 1_893_456_600_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(...evilSteps).map((step) => 1_893_456_000_000 + step) },
  { weight: 1, arbitrary: value },
);
const name = fc.oneof(
  fc.constantFrom("cpu", "memory", "load", "disk"),
  evilName,
  fc.string({ unit: "binary" }),
);
const row: fc.Arbitrary<SampleRow> = fc.record({
  at: time,
  values: fc.dictionary(name, value, { maxKeys: 6 }),
});
const rows = fc.array(row, { maxLength: 60 });

/** As text in which minus zero differs from zero and names are in order. */
function exact(rows: readonly SampleRow[]): string {
  const text = (number: number): string => (Object.is(number, -0) ? "-0" : String(number));
  return JSON.stringify(
    rows.map(({ at, values }) => [
      text(at),
      Object.entries(values)
        .map(([name, number]) => [name, text(number)])
        .toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1)),
    ]),
  );
}

function rowsOf(table: ReturnType<typeof tableOf>): SampleRow[] {
  const rows = Array.from(table.times, (at) => ({ at, entries: [] as [string, number][] }));
  for (const { name, present, fields } of table.series) {
    let index = 0;
    rows.forEach(({ entries }, row) => {
      if (present === null || present[row] === 1) entries.push([name, fields[0]?.[index++] ?? NaN]);
    });
  }
  return rows.map(({ at, entries }) => ({ at, values: Object.fromEntries(entries) }));
}

test("a chunk gives back the very doubles it was given", () => {
  fc.assert(
    fc.property(rows, (rows) => {
      expect(exact(rowsOf(decodeChunk(encodeChunk(tableOf(rows)))))).toBe(exact(rows));
    }),
    { numRuns: 500 },
  );
});

test("a column of one kind of numbers gives back the very doubles", () => {
  const kinds = [decimals, fc.integer({ min: -(2 ** 49), max: 2 ** 49 }), fc.double({ noNaN: true })];
  const column = fc.oneof(...kinds.map((kind) => fc.array(kind, { minLength: 1, maxLength: 400 })));
  fc.assert(
    fc.property(column, fc.integer({ min: 0, max: 3 }), (values, repeats) => {
      const all = Array.from({ length: repeats + 1 }, () => values).flat();
      const rows = all.map((cpu, at) => ({ at: at * 15_000, values: { cpu } }));
      expect(exact(rowsOf(decodeChunk(encodeChunk(tableOf(rows)))))).toBe(exact(rows));
    }),
  );
});

test("a head gives back the very doubles it was given", () => {
  fc.assert(
    fc.property(rows, (rows) => {
      const head = new Head(1, "a");
      for (const row of rows) head.append(row);
      expect(exact(readRows(head.bytes()))).toBe(exact(rows));
    }),
    { numRuns: 500 },
  );
});

test("tables are joined and cut as their rows would be", () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 4 }), fc.integer(), (parts, offset) => {
      const all = parts.flat();
      expect(exact(rowsOf(joinTables(parts.map(tableOf))))).toBe(exact(all));
      const from = (all[0]?.at ?? 0) + offset;
      const kept = all.filter((row) => row.at >= from);
      expect(exact(rowsOf(wholeTable(rowsFrom(tableOf(all), from))))).toBe(exact(kept));
    }),
  );
});

test("only the series that are wanted are read", () => {
  const bytes = encodeChunk(tableOf([{ at: 1, values: { cpu: 1, load: 2, disk: 3 } }]));
  const { series } = readChunk(bytes, { wanted: new Set(["load"]), unread });
  expect([...series]).toEqual([{ name: "load", present: null, fields: [Float64Array.of(2)] }]);
});

test("a series is read when it is its turn, and whether it is wanted is asked then", () => {
  const bytes = encodeChunk(tableOf([{ at: 1, values: { cpu: 1, load: 2, disk: 3 } }]));
  const asked: string[] = [];
  const { series } = rowsFrom(
    readChunk(bytes, { wanted: { has: (name) => asked.push(name) > 0 }, unread }),
    0,
  );
  for (const { name } of series) expect(asked.at(-1)).toBe(name);
  expect(asked).toEqual(["cpu", "load", "disk"]);
});

/** They were read as other numbers than had been written, or as none, and nobody heard of it. */
test.each([
  ["a scale that there is not", [10, 0, 0, 1, 0]],
  ["differences of a third order", [0, 3 * 64, 0, 0, 0, 1, 0]],
  ["numbers that are wider than any", [0, 54, 0, 1, 0, ...Array<number>(14).fill(0)]],
  ["an exception behind the last number", [0, 0, 0, 1, 1, 2, 0]],
])("a column with %s can't be read", (_what, bytes) => {
  expect(() => readColumn(new ByteReader(Uint8Array.from(bytes)), 2)).toThrow(RangeError);
});

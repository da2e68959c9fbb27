import fc from "fast-check";
import { expect, test } from "vitest";
import { coarseMs, toCoarse } from "../../../../lib/storage/file/series/coarse.ts";
import { PointCollector } from "../../../../lib/storage/file/series/points.ts";
import { tableOf } from "../../../../lib/storage/file/series/table.ts";
import type { SampleRow } from "../../../../lib/storage/storage.ts";

test("sums of decimals stay decimals", () => {
  const rows = Array.from({ length: 20 }, (_, n) => ({ at: n * 15_000, values: { cpu: 0.1 } }));
  const [cpu] = toCoarse(tableOf(rows)).series;
  expect(cpu?.fields.map((field) => [...field])).toEqual([[2], [0.1], [0.1], [20]]);
});

test("sums of the largest numbers stay finite", () => {
  const rows = [1, 2, 3].map((at) => ({ at, values: { cpu: Number.MAX_VALUE } }));
  const [cpu] = toCoarse(tableOf(rows)).series;
  expect(cpu?.fields[0]?.[0]).toBe(Number.MAX_VALUE);
});

test("points give the same steps as the samples they were made of", () => {
  const value = fc.integer({ min: -1_000, max: 1_000 }).map((n) => n / 8);
  const row: fc.Arbitrary<SampleRow> = fc.record({
    at: fc.integer({ min: 0, max: 10 * coarseMs }),
    values: fc.dictionary(fc.constantFrom("cpu", "load"), value),
  });
  fc.assert(
    fc.property(fc.array(row, { maxLength: 80 }), fc.integer({ min: 1, max: 4 }), (rows, width) => {
      const query = { from: 0, to: 20 * coarseMs, stepMs: width * coarseMs };
      const [ofSamples, ofPoints] = [new PointCollector(query), new PointCollector(query)];
      ofSamples.add(tableOf(rows));
      ofPoints.add(toCoarse(tableOf(rows)));
      const rounded = (points: PointCollector): unknown =>
        JSON.parse(JSON.stringify(points.finish()), (key, value: unknown) =>
          key === "mean" ? Math.round((value as number) * 1e6) : value,
        );
      expect(rounded(ofPoints)).toEqual(rounded(ofSamples));
    }),
  );
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { SortedList } from "../../lib/storage/sorted-list.ts";

const numbers = (): SortedList<number> => new SortedList((a, b) => a - b);

test("agrees with a sorted array under any inserts, removals and seeks", () => {
  const operation = fc.record({ value: fc.integer({ min: 0, max: 3_000 }), remove: fc.boolean() });
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 3_000 }), { maxLength: 1_500 }),
      fc.array(operation, { maxLength: 1_500 }),
      fc.integer({ min: -1, max: 3_001 }),
      fc.integer({ min: 0, max: 3_000 }),
      (initial, operations, seek, most) => {
        const list = numbers();
        const model = new Set(initial);
        list.fill([...initial]);
        for (const { value, remove } of operations) {
          if (remove) list.remove(value);
          else if (!model.has(value)) list.insert(value);
          if (remove) model.delete(value);
          else model.add(value);
        }
        const sorted = [...model].sort((a, b) => a - b);
        const above = sorted.filter((item) => item >= seek);
        expect(list.upwards((item) => item >= seek, most)).toEqual(above.slice(0, most));
        const below = sorted.filter((item) => item < seek).reverse();
        expect(list.downwards((item) => item >= seek, most)).toEqual(below.slice(0, most));
      },
    ),
    { numRuns: 50 },
  );
});

test("an insert in the middle of many items stays cheap", () => {
  const list = numbers();
  let comparisons = 0;
  const counted = new SortedList<number>((a, b) => {
    comparisons++;
    return a - b;
  });
  for (let n = 0; n < 20_000; n++) counted.insert((n * 7_919) % 20_000);
  expect(counted.upwards(() => true, 20_000)).toEqual(Array.from({ length: 20_000 }, (_, n) => n));
  expect(comparisons / 20_000).toBeLessThan(20);
  expect(list.upwards(() => true, 1)).toEqual([]);
});

import { expect, test } from "vitest";
import { sizeUpTo } from "../../lib/internal/size-up-to.ts";

test.each([
  ["a text", "x".repeat(1000)],
  ["names", Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`name-${n}`, 0]))],
  ["numbers and lists", Array(200).fill([1, [2]])],
  [
    "results",
    Array(20).fill({ resource_id: "a", changes: [{ property: "p", before: "x".repeat(50), after: null }] }),
  ],
])("is near what %s take as JSON", (_, value) => {
  const { length } = JSON.stringify(value);
  expect(sizeUpTo(1_000_000, value)).toBeGreaterThan(length * 0.6);
  expect(sizeUpTo(1_000_000, value)).toBeLessThan(length * 3);
});

test("looks no further than it must", () => {
  let looks = 0;
  const member = {
    get text() {
      return ((looks += 1), "x".repeat(100));
    },
  };
  expect(sizeUpTo(1_000, Array(10_000).fill(member))).toBeGreaterThan(1_000);
  expect(looks).toBeLessThan(20);
});

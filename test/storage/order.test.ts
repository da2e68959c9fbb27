import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "../../lib/json.ts";
import { compareValues, type OrderValue } from "../../lib/storage/order.ts";
import { evilName } from "../support/evil.ts";

const anyValue = fc.option(
  fc.jsonValue().filter((value) => !JSON.stringify(value).includes("\\ud")) as fc.Arbitrary<Json>,
  { nil: undefined },
) as fc.Arbitrary<OrderValue>;

test("is a total order: antisymmetric and transitive", () => {
  fc.assert(
    fc.property(anyValue, anyValue, anyValue, (a, b, c) => {
      expect(Math.sign(compareValues(a, b))).toBe(-Math.sign(compareValues(b, a)) + 0);
      // Wrapped, as sort puts a bare undefined last unasked.
      const sorted = [{ of: a }, { of: b }, { of: c }].sort((left, right) =>
        compareValues(left.of, right.of),
      );
      expect(compareValues(sorted[0]?.of, sorted[2]?.of)).toBeLessThanOrEqual(0);
    }),
  );
});

test("orders every kind of value, and false before true", () => {
  const ordered: OrderValue[] = [
    undefined,
    null,
    false,
    true,
    -1,
    0,
    1.5,
    "",
    "a",
    "b",
    [1],
    [2],
    { a: 1 },
    { a: 2 },
  ];
  for (const [at, value] of ordered.entries())
    for (const [other, than] of ordered.entries())
      expect([value, than, Math.sign(compareValues(value, than))]).toEqual([
        value,
        than,
        Math.sign(at - other),
      ]);
});

test("orders texts as their UTF-8 bytes, whatever they hold", () => {
  const text = fc.oneof(evilName, fc.string({ unit: "binary" }));
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareValues(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

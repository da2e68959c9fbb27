import canonicalize from "canonicalize";
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, keepCanonical } from "../../lib/internal/canonical-json.ts";
import type { Json } from "../../lib/json.ts";
import { evilName } from "../support/evil.ts";

test.each<[string, Json, string]>([
  [
    "members in the order of their UTF-16 units",
    { "€": 1, "\r": 2, "\ufb33": 3, "1": 4, "😀": 5, "\u0080": 6, ö: 7 },
    '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}',
  ],
  [
    "numbers as the RFC prints them",
    [333333333.33333329, 1e30, 4.5, 2e-3, 1e-27, -0],
    "[333333333.3333333,1e+30,4.5,0.002,1e-27,0]",
  ],
  ["control characters escaped", '\u000f\n"\\/', '"\\u000f\\n\\"\\\\/"'],
  ["nested values without space", { b: [{ d: null, c: true }], a: {} }, '{"a":{},"b":[{"c":true,"d":null}]}'],
])("writes %s", (_name, value, text) => {
  expect(canonicalJson(value)).toBe(text);
});

// The package describes itself as CommonJS, so that its default export has no call signature here.
const independent = canonicalize as unknown as (value: unknown) => string;

test("agrees with an independent implementation of RFC 8785", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.jsonValue(), fc.dictionary(evilName, evilName, { noNullPrototype: true })),
      (value) => {
        expect(canonicalJson(value as Json)).toBe(independent(value));
      },
    ),
  );
});

test.each<[string, unknown]>([
  ["NaN", NaN],
  ["an infinity", [Infinity]],
  ["a lone surrogate", { a: "\ud800" }],
  ["a bigint", 1n],
  ["undefined in a list", [undefined]],
])("refuses %s", (_name, value) => {
  expect(() => canonicalJson(value as Json)).toThrow(TypeError);
});

test("leaves members that are undefined out", () => {
  expect(canonicalJson({ a: undefined, b: 1 } as unknown as Json)).toBe('{"b":1}');
});

test("a list that is kept has the same text, by itself and inside other values, and can't be changed", () => {
  const list: Json[] = [{ b: 1, a: "x" }, null];
  const text = keepCanonical(list);
  expect(text).toBe('[{"a":"x","b":1},null]');
  expect(canonicalJson(list)).toBe(text);
  expect(canonicalJson({ list, before: [] })).toBe(`{"before":[],"list":${text}}`);
  expect(canonicalJson([...list])).toBe(text);
  expect(() => list.push(1)).toThrow(TypeError);
});

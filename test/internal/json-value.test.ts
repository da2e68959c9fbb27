import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonValue } from "../../lib/internal/json-value.ts";

/** A value below so many lists. */
function below(lists: number, value: unknown): unknown {
  let nested = value;
  for (let level = 0; level < lists; level += 1) nested = [nested];
  return nested;
}

describe("what JSON can carry", () => {
  it.each([0, -0, 1e308, "", "\ud800", true, false, null, [], {}, [[], {}], { a: { b: [null] } }])(
    "takes %j",
    (value) => {
      expect(isJsonValue(value)).toBe(true);
      expect(isJsonValue({ a: [value] })).toBe(true);
    },
  );

  it("takes objects without a prototype", () => {
    expect(isJsonValue(Object.assign(Object.create(null) as object, { a: 1 }))).toBe(true);
  });

  it.each<[name: string, value: unknown]>([
    ["undefined", undefined],
    ["NaN", NaN],
    ["infinity", -Infinity],
    ["a big integer", 1n],
    ["a symbol", Symbol("a")],
    ["a function", () => 1],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["a hole in a list", Array.from({ length: 1 }).concat(Array(1) as unknown[])],
    ["a member named __proto__", JSON.parse('{"__proto__": 1}')],
  ])("refuses %s, wherever it is", (_name, value) => {
    expect(isJsonValue(value)).toBe(false);
    expect(isJsonValue([1, value])).toBe(false);
    expect(isJsonValue({ a: { b: [value] } })).toBe(false);
  });

  it("ends at a thousand levels", () => {
    for (const leaf of [1, "a", null, [], {}]) {
      expect(isJsonValue(below(1000, leaf))).toBe(true);
      expect(isJsonValue(below(1001, leaf))).toBe(false);
    }
    expect(isJsonValue(below(1001, undefined))).toBe(false);
    expect(isJsonValue(below(200_000, 1))).toBe(false);
  });

  it("takes all that JSON.parse makes, but for a member named __proto__", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => isJsonValue(JSON.parse(JSON.stringify(value)))));
  });
});

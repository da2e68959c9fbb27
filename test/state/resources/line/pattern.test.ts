import fc from "fast-check";
import { expect, test } from "vitest";
import { matchesPattern } from "../../../../lib/state/resources/line/pattern.ts";
import { cpuMsOf } from "../../../support/cpu-time.ts";

test.each([
  ["a", "a", true],
  ["a", "ab", false],
  ["a*", "a", true],
  ["a**", "a", true],
  ["a*", "abc", true],
  ["*a", "bca", true],
  ["*", "", true],
  ["a*b*c", "axxbyyc", true],
  ["a*b*c", "axxcyyb", false],
  ["a?c", "abc", true],
  ["a?c", "ac", false],
  ["a\\*", "a*", true],
  ["a\\*", "ab", false],
  ["a\\", "a\\", true],
  ["a.c", "abc", false],
])("the pattern %j and the line %j: %s", (pattern, line, expected) => {
  expect(matchesPattern(pattern, line)).toBe(expected);
});

test("a pattern agrees with the regular expression that it stands for", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "?", "\\"), maxLength: 8 });
  fc.assert(
    fc.property(text, text, (pattern, line) => {
      const expression = pattern.replace(/\\[\s\S]|[*?\\]/g, (token) =>
        token === "*" ? ".*" : token === "?" ? "." : `[${token.at(-1) === "\\" ? "\\\\" : token.at(-1)}]`,
      );
      expect(matchesPattern(pattern, line)).toBe(new RegExp(`^(?:${expression})$`).test(line));
    }),
  );
});

test("a pattern made to be slow is not", () => {
  const took = cpuMsOf(() => {
    expect(matchesPattern("*a".repeat(1000), `${"a".repeat(8000)}b`)).toBe(false);
  });
  expect(took).toBeLessThan(2000);
});

test("a question mark is one character, also one that takes two units of a string", () => {
  expect(matchesPattern("a?c", "a\u{1f600}c")).toBe(true);
  expect(matchesPattern("a??c", "a\u{1f600}c")).toBe(false);
  expect(matchesPattern("*\u{1f600}\\\u{1f601}", "x\u{1f600}\u{1f601}")).toBe(true);
});

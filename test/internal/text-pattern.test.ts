import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseTextPattern } from "../../lib/internal/text-pattern.ts";
import { finish, WorkBudget, WorkExceeded } from "../../lib/internal/work.ts";
import { cpuMs } from "../support/cpu-time.ts";

/** What a pattern tells of texts, with as many steps as it takes. */
function read(pattern: string, budget = new WorkBudget()): (text: string) => boolean {
  const matches = parseTextPattern(pattern, budget);
  return (text) => finish(matches(text, budget));
}

describe("a pattern of texts", () => {
  it.each([
    ["abc", ["abc"], ["ab", "abcd", ""]],
    ["^[a-z][a-z0-9-]{0,3}$", ["a", "a-1b"], ["1a", "abcde", ""]],
    ["(?:a|bc)*d?", ["", "abcad", "d"], ["b", "dd"]],
    ["\\d{2,}\\.\\w+", ["12.x", "123._"], ["1.x", "12x"]],
    ["[^/\\s]+", ["a.b"], ["a/b", "a b", ""]],
    ["a{2}|", ["aa", ""], ["a"]],
    ["\\$x\\\\$", ["$x\\"], ["$x"]],
    [".", ["é", "😀"], ["\n", ""]],
  ])("%s matches whole texts only", (pattern, matching, others) => {
    const matches = read(pattern);
    expect(matching.filter((text) => !matches(text))).toEqual([]);
    expect(others.filter((text) => matches(text))).toEqual([]);
  });

  it.each([
    ["(a", /\( without a \)/],
    ["a)", /\) without a \(/],
    ["*a", /means nothing/],
    ["(?=a)", /not known/],
    ["\\1", /not known/],
    ["a{3,2}", /before it begins/],
    ["[z-a]", /before it begins/],
    ["[a", /in the middle/],
    ["a{x}", /no count/],
    ["((a{999}){999}){9}", /too large/],
    ["a".repeat(501), /longer than/],
    [`${"(".repeat(30)}a${")".repeat(30)}`, /deeper than/],
  ])("%s is refused", (pattern, reason) => {
    expect(() => read(pattern)).toThrow(reason);
  });

  it("says what a regular expression says", () => {
    const atom = fc.constantFrom("a", "b", "[ab]", "[^a]", ".", "\\d", "(a|b)", "(ab)");
    const piece = fc
      .tuple(atom, fc.constantFrom("", "*", "+", "?", "{2}", "{1,2}"))
      .map((parts) => parts.join(""));
    const pattern = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
    const text = fc.string({ unit: fc.constantFrom("a", "b", "1"), maxLength: 8 });
    fc.assert(
      fc.property(pattern, text, (source, value) => {
        expect(read(source)(value)).toBe(new RegExp(`^(?:${source})$`, "u").test(value));
      }),
      { numRuns: 2000 },
    );
  });

  it("does not take longer for a pattern that makes others backtrack", () => {
    const matches = read("(a+)+(b|a*)*c");
    const before = cpuMs();
    expect(matches("a".repeat(4000))).toBe(false);
    expect(cpuMs() - before).toBeLessThan(1000);
  });

  it("reads counts of nothing, however they stand within each other, at once", () => {
    const before = cpuMs();
    const matches = read("((((){9999}){9999}){9999}){9999}a{0}{9999}{9999}");
    expect([matches(""), matches("a")]).toEqual([true, false]);
    expect(cpuMs() - before).toBeLessThan(200);
  });

  it("takes what it does from a budget, classes by what is in them", () => {
    const spent = (pattern: string, text: string): number => {
      let [low, high] = [0, 1e9];
      while (high - low > 1) {
        const steps = (low + high) >> 1;
        try {
          read(pattern, new WorkBudget(steps))(text);
          high = steps;
        } catch (error) {
          expect(error).toBeInstanceOf(WorkExceeded);
          low = steps;
        }
      }
      return high;
    };
    const text = "a".repeat(300);
    const [few, many] = [spent("[a-z]*", text), spent(`[${"bcdefghijklmnopqrstuvwxyz"}a]*`, text)];
    expect(many).toBeGreaterThan(5 * few);
    expect(spent("(a?){400}", text)).toBeGreaterThan(50 * few);
  });
});

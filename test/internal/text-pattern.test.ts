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

function attempt<Made>(make: () => Made): Made | null {
  try {
    return make();
  } catch {
    return null;
  }
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
    [".", ["é", "😀"], ["\n", "\r", "\u2028", "\u2029", ""]],
    ["[\\--9]", ["-", ".", "5", "9"], [",", ":", "\\"]],
    ["[!-\\/]", ["!", "-", "/"], ["0", "A", "\\"]],
    ["[\\w-.]+", ["a-b.c"], ["a/b", ""]],
    ["[+-\\d]+", ["+-7"], [",", "."]],
    ["[a-z]+?", ["a", "ab"], ["", "1"]],
    ["a{2}?", ["aa"], ["", "a"]],
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
      .tuple(atom, fc.constantFrom("", "*", "+", "?", "{2}", "{1,2}"), fc.constantFrom("", "?"))
      .map((parts) => parts.join(""));
    const pattern = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
    const text = fc.string({ unit: fc.constantFrom("a", "b", "1", "\r"), maxLength: 8 });
    fc.assert(
      fc.property(pattern, text, (source, value) => {
        expect(read(source)(value)).toBe(new RegExp(`^(?:${source})$`, "u").test(value));
      }),
      { numRuns: 2000 },
    );
  });

  /** The character that a member of a class is; null for one that is several. */
  const characterOf = (member: string): string | null =>
    /^\\[dDwWsS]$/.test(member) ? null : ({ "\\n": "\n", "\\r": "\r" }[member] ?? member.at(-1)!);

  /** A class with each hyphen escaped that stands behind an escaped character and can't be a range: earlier versions read it so. */
  const withHyphens = (members: readonly string[]): string => {
    const written: string[] = [];
    for (let at = 0; at < members.length;) {
      const [first = "", hyphen, last] = members.slice(at, at + 3);
      const range = hyphen === "-" && last !== undefined ? [characterOf(first), characterOf(last)] : [];
      const [from = null, to = null] = range;
      const isApart = from !== null && to !== null && from > to && first.startsWith("\\");
      const taken = isApart ? 2 : range.length === 0 ? 1 : 3;
      written.push(...(isApart ? [first, "\\-"] : members.slice(at, at + taken)));
      at += taken;
    }
    return written.join("");
  };

  it.each([
    ["[\\w\\.-+]+", ["a.-+", "a/"], [true, false]],
    ["[a-z\\_-.]+", ["a_-.", "a/"], [true, false]],
    ["[A-Za-z0-9\\_-\\.]+", ["Z_-.", "Z/"], [true, false]],
    ["[\\.-+-5]+", [".-+5", "/", "6"], [true, true, false]],
  ])("reads %s as earlier versions did, whose modules are stored", (source, texts, found) => {
    expect(texts.map((text) => read(source)(text))).toEqual(found);
  });

  it("has in a class what a regular expression has in it, or refuses it as well", () => {
    const plain = ["!", "+", ",", "-", ".", "/", "5", "A", "\\", "]", "_", "a", "z", "~", "\n", "\r", " "];
    const escaped = ["-", "]", "\\", ".", "/", "^", "n", "r", "d", "D", "w", "W", "s", "S"].map(
      (e) => `\\${e}`,
    );
    const member = fc.constantFrom("!", "+", "-", ".", "5", "A", "a", "z", "~", ...escaped);
    const inside = fc.array(member, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.constantFrom("", "^"), inside, (negation, members) => {
        const source = `[${negation}${members.join("")}]`;
        const expected =
          attempt(() => new RegExp(`^(?:${source})$`)) ??
          attempt(() => new RegExp(`^(?:[${negation}${withHyphens(members)}])$`));
        const found = attempt(() => read(source));
        expect([source, found === null]).toEqual([source, expected === null]);
        const others = plain.filter((text) => found?.(text) !== expected?.test(text));
        expect([source, others]).toEqual([source, []]);
      }),
      { numRuns: 3000 },
    );
  });

  it("takes groups side by side however many, and within each other as many as twenty", () => {
    expect(read("(a)(?:b)".repeat(60))("ab".repeat(60))).toBe(true);
    expect(read(`${"(".repeat(20)}a${")".repeat(20)}`)("a")).toBe(true);
    expect(() => read(`${"(".repeat(21)}a${")".repeat(21)}`)).toThrow("is nested deeper than 20");
  });

  it("matches a text as long as one may be, and none that is longer", () => {
    const matches = read("a*");
    expect([4095, 4096, 4097].map((length) => matches("a".repeat(length)))).toEqual([true, true, false]);
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

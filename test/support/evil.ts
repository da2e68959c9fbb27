/**
 * Names, paths, modes, times and sizes that programs trip over. Every test that invents one of these takes it from here:
 * test/architecture/generators.test.ts asks for it.
 */
import fc from "fast-check";

/** Names in groups whose members are easily taken for each other. Each fits into a folder of Linux: 255 bytes, no slash. */
const lookalikes: readonly (readonly string[])[] = [
  ["web", "we", "web1", "web-1", "web.1", "web web"],
  ["case", "Case", "CASE", "cASE"],
  // The same to the eye, composed and not; and what becomes another letter when its case changes.
  ["\u00e9", "e\u0301", "E\u0301", "\u00c9"],
  ["\ufb01", "fi", "FI"],
  ["stra\u00dfe", "strasse", "STRASSE", "STRA\u1e9eE"],
  ["i", "I", "\u0131", "\u0130", "i\u0307"],
  ["k", "K", "\u212a"],
  ["dot", ".dot", "..dot", "dot.", "dot..", "do.t", "..."],
  ["blank", " blank", "blank ", "bl ank", "bl  ank", "bl\u00a0ank", "bl\u200bank"],
  ["-", "--", "-rf", "~", "*", "?", "[a]", "{a}", "a;b", "a&b", "a|b", "$(a)", "`a`", "a'b", 'a"b', "a\\b"],
  ["%41", "%2e%2e", "a%", "#a", "a:b", "a,b", "a=b", "a@b", "a+b", "!a"],
  ["__proto__", "constructor", "toString", "hasOwnProperty"],
  ["0", "00", "0x0", "1e3", "-1", "true", "null", "~null"],
  // By code units the first comes before the second, by code points and bytes after it.
  ["\u{1f600}", "\uffee", "\u{10ffff}", "\ue000"],
  ["n".repeat(255), "n".repeat(254), `${"n".repeat(254)}N`, "\u00e9".repeat(127), `${"\u00e9".repeat(127)}n`],
];

/** Names that are all different, each of which some program takes for another. */
export const evilNames: readonly string[] = lookalikes.flat();

/** One of them. */
export const evilName: fc.Arbitrary<string> = fc.constantFrom(...evilNames);

/** Paths, most of which lead elsewhere than they seem to, or are none. */
export const evilPaths: readonly string[] = [
  "",
  ".",
  "..",
  "/",
  "//",
  "/..",
  "../x",
  "./x",
  "x/",
  "x/.",
  "x/..",
  "x//y",
  "x/../../y",
  "x/../y",
  "/x/../../y",
  "/x/./y",
  "x\\..\\y",
  "x\u0000y",
  `x/${"n".repeat(256)}`,
  "x/".repeat(2_048),
];

/** Permission bits, with those that are lost when an owner changes or content is written. */
export const evilModes: readonly number[] = [
  0o000, 0o400, 0o600, 0o644, 0o666, 0o755, 0o1777, 0o2750, 0o2755, 0o4711, 0o4755, 0o6755, 0o7777,
];

/** The same as modules write them. */
export const evilMode: fc.Arbitrary<string> = fc
  .constantFrom(...evilModes)
  .map((mode) => mode.toString(8).padStart(4, "0"));

/** How a clock goes on from one look to the next, in ms: it stands still, goes back, and jumps. */
export const evilSteps: readonly number[] = [
  0, 0, 1, 999, 1_000, -1, -1_000, -3_600_000, 3_600_000, 86_400_000, -86_400_000, 31_536_000_000,
];

/** Sizes on both sides of a limit, and at it. */
export function sizesAround(limit: number): readonly number[] {
  return [limit - 1, limit, limit + 1];
}

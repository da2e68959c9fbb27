/** Texts that somebody sends who means harm: examples that were changed, what is no text at all, and pieces said again and again. */
import fc from "fast-check";
import { evilNames, evilPaths } from "../../support/evil.ts";

/** What parsers are known to trip over. */
const pieces = [
  "\0",
  "\n",
  "\r\n",
  "\u2028",
  "\ufeff",
  "\ud800",
  "\u0000-\u001f",
  "__proto__",
  "constructor",
  "toString",
  "{{",
  "{%",
  "%}",
  "%",
  "%00",
  "%c0%ae",
  "../",
  "..\\",
  "'",
  '"',
  "`",
  "\\",
  "\\u0000",
  "\\ud800",
  "[",
  "]",
  "{",
  "}",
  "(",
  ")",
  "&a",
  "*a",
  "<<",
  "!!js/function",
  ",",
  ";",
  ":",
  "=",
  "-",
  "*",
  "#",
  "~",
  " ",
  "\t",
  "0",
  "-0",
  "1e400",
  "9007199254740993",
  "NaN",
  "null",
  "true",
  "a".repeat(300),
  "é",
  "😀",
  "\u202e",
  ...evilNames,
  ...evilPaths,
];

/** One text of the examples, cut, doubled, crossed with another one or filled with what parsers trip over. */
function changed(examples: readonly string[]): fc.Arbitrary<string> {
  const change = fc.tuple(
    fc.nat(),
    fc.nat(30),
    fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: "binary" })),
  );
  return fc
    .tuple(fc.constantFrom(...examples), fc.constantFrom(...examples), fc.array(change, { maxLength: 4 }))
    .map(([example, other, changes]) => {
      let text = example;
      for (const [at, cut, put] of changes) {
        const place = text.length === 0 ? 0 : at % text.length;
        const rest = cut === 30 ? other.slice(place) : text.slice(place + cut);
        text = text.slice(0, place) + put + rest;
      }
      return text;
    });
}

/** Hostile texts for a parser that reads these examples. */
export function hostileTexts(examples: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: changed(examples) },
    {
      weight: 2,
      arbitrary: fc
        .array(fc.constantFrom(...pieces, ...examples), { maxLength: 30 })
        .map((all) => all.join("")),
    },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 300 }) },
    { weight: 1, arbitrary: fc.json() },
  );
}

/** Hostile bytes for a parser that reads these examples: flipped, cut, crossed, and lengths that claim anything. */
export function hostileBytes(examples: readonly Uint8Array[]): fc.Arbitrary<Buffer> {
  const claim = fc.constantFrom(
    [0xff, 0xff, 0xff, 0xff],
    [0, 0, 0, 0x80],
    [0xff, 0xff, 0xff, 0x7f],
    [0, 0, 0, 0],
  );
  const change = fc.tuple(fc.nat(), fc.oneof(fc.uint8Array({ maxLength: 12 }), claim), fc.boolean());
  return fc
    .tuple(
      fc.constantFrom(...examples, new Uint8Array()),
      fc.constantFrom(...examples),
      fc.array(change, { maxLength: 4 }),
      fc.option(fc.nat(), { freq: 3 }),
    )
    .map(([example, other, changes, cutAt]) => {
      let bytes = Buffer.from(example);
      for (const [at, put, isInsert] of changes) {
        const place = at % (bytes.length + 1);
        bytes = Buffer.concat([
          bytes.subarray(0, place),
          Buffer.from(put),
          bytes.subarray(place + (isInsert ? 0 : put.length)),
        ]);
      }
      if (cutAt === null) return bytes;
      return Buffer.concat([
        bytes.subarray(0, cutAt % (bytes.length + 1)),
        Buffer.from(other).subarray(cutAt % other.length),
      ]);
    });
}

/** A text that says one piece of itself again until it has this many characters: what is cheap once may be dear 10,000 times. */
export function pumped(texts: fc.Arbitrary<string>, length: number): fc.Arbitrary<string> {
  return fc.tuple(texts, fc.nat(), fc.integer({ min: 1, max: 12 })).map(([text, at, size]) => {
    const from = text.length === 0 ? 0 : at % text.length;
    const piece = text.slice(from, from + size) || "x";
    return text.slice(0, from) + piece.repeat(Math.ceil(length / piece.length)) + text.slice(from);
  });
}

/** A text that is parsed in pieces comes to what JSON.parse makes of the whole: the same value, in the same order, or no JSON. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toUtf8 } from "../../lib/crypto/encoding.ts";
import { isOrchestratorError } from "../../lib/errors.ts";
import { finish } from "../../lib/internal/work.ts";
import { parsePieces } from "../../lib/wire/parse-pieces.ts";
import { TextScanner } from "../../lib/wire/scan-text.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const decode = (bytes: Uint8Array): string => decoder.decode(bytes);

interface Manner {
  cutBytes: number;
  /** Bytes that come at once. */
  frameBytes: number;
}

/** What comes of a text: written, so that the order of members counts, too. */
function outcomeOf(parse: () => unknown): string {
  try {
    return writeWhole(parse());
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return "no JSON";
    if (isOrchestratorError(error, "PROTOCOL_ERROR")) return "refused";
    throw error;
  }
}

/** As JSON, but with what JSON can't tell apart. */
function writeWhole(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === "number" && (!Number.isFinite(item) || Object.is(item, -0))
      ? `number ${item}/${1 / item}`
      : item,
  );
}

function scan(bytes: Uint8Array, { cutBytes, frameBytes }: Manner): TextScanner {
  const scanner = new TextScanner({ maxNodes: 1_000_000, cutBytes });
  for (let end = frameBytes; end < bytes.length; end += frameBytes)
    scanner.scan(bytes.subarray(0, end), false);
  scanner.scan(bytes, true);
  return scanner;
}

function inPieces(bytes: Uint8Array, manner: Manner): string {
  return outcomeOf(() => finish(parsePieces(bytes, { cuts: scan(bytes, manner).cuts, decode })));
}

function atOnce(bytes: Uint8Array): string {
  return outcomeOf(() => {
    scan(bytes, { cutBytes: Infinity, frameBytes: Infinity });
    return JSON.parse(decode(bytes)) as unknown;
  });
}

const manner: fc.Arbitrary<Manner> = fc.record({
  cutBytes: fc.integer({ min: 1, max: 40 }),
  frameBytes: fc.integer({ min: 1, max: 60 }),
});

/** JSON text with all that a text may have and JSON.stringify does not write. */
const { text: jsonText } = fc.letrec<{ text: string }>((tie) => {
  const blank = fc.constantFrom("", "", "", " ", "\n\t ", "\r");
  const piece = fc.constantFrom(
    "x",
    "yy".repeat(40),
    "é",
    "😀",
    "\\n",
    '\\"',
    "\\\\",
    "\\u0000",
    "\\ud83d\\ude00",
    "\\uDbFF\\uDfff",
    "\ufeff",
    ",",
    "[",
    "}",
  );
  const string = fc.array(piece, { maxLength: 12 }).map((pieces) => `"${pieces.join("")}"`);
  const name = fc.oneof(
    string,
    fc.constantFrom(
      '"a"',
      '"a"',
      '"b"',
      '"__proto__"',
      '"\\u005f_proto__"',
      '"1"',
      '"0"',
      '"constructor"',
      '""',
    ),
  );
  const scalar = fc.oneof(
    string,
    fc.constantFrom("0", "-0", "1e400", "-1.5E-7", "12345678901234567890", "true", "false", "null"),
  );
  const around = (inner: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.tuple(blank, inner, blank).map((parts) => parts.join(""));
  const member = fc.tuple(around(name), around(tie("text"))).map((parts) => parts.join(":"));
  return {
    text: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      around(scalar),
      fc.array(around(tie("text")), { maxLength: 6 }).map((items) => `[${items.join(",")}]`),
      fc.array(member, { maxLength: 6 }).map((members) => `{${members.join(",")}}`),
    ),
  };
});

/** What is put in place of some bytes: most of it breaks the grammar, some of it does not. */
const put = fc.constantFrom(
  "",
  ",",
  "[",
  "]",
  "{",
  "}",
  ":",
  '"',
  "\\",
  "1",
  "0",
  " ",
  ",,",
  "null",
  "\\ud800",
  "é",
);
const changed = fc.tuple(jsonText, fc.nat(), fc.nat({ max: 3 }), put).map(([text, at, cut, more]) => {
  const place = at % (text.length + 1);
  return text.slice(0, place) + more + text.slice(place + cut);
});

describe("a text in pieces", () => {
  test("comes to what the whole comes to", () => {
    fc.assert(
      fc.property(jsonText, manner, (text, how) => {
        const bytes = toUtf8(text);
        const expected = atOnce(bytes);
        expect(expected).not.toBe("no JSON");
        expect(inPieces(bytes, how)).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  test("that is no JSON is none in pieces, either", () => {
    fc.assert(
      fc.property(changed, manner, (text, how) => {
        const bytes = toUtf8(text);
        expect(inPieces(bytes, how)).toBe(atOnce(bytes));
      }),
      { numRuns: 3_000 },
    );
  });

  test("of any bytes comes to the same", () => {
    const alphabet = [...toUtf8('[]{},:"\\u d8fe01'), 0xc3, 0xa9, 0xff, 0x80];
    const bytes = fc
      .array(fc.constantFrom(...alphabet), { maxLength: 60 })
      .map((list) => Uint8Array.from(list));
    fc.assert(
      fc.property(bytes, manner, (text, how) => {
        expect(inPieces(text, how)).toBe(atOnce(text));
      }),
      { numRuns: 3_000 },
    );
  });

  test.each([
    ["a comma before the end", "[1,2,]"],
    ["a comma after the beginning", "[,1,2]"],
    ["two commas", "[1,,2]"],
    ["a list that ends as an object", "[1,2,3}"],
    ["an object that ends as a list", '{"a":1,"b":2]'],
    ["a list that ends twice", "[[1,2],3]]"],
    ["a list that does not end", "[[1,2],3"],
    ["a number before a list", "[1[2,3]]"],
    ["a name without a value", '{"a":[1,2],"b"}'],
    ["a second value", '{"a":[1,2]},[3,4]'],
    ["a member of a list that has a name", '[1,"a":2,3]'],
    ["a member of an object that has no name", '{"a":1,2,"b":3}'],
    ["a string that does not end", '["abcdef,ghijkl'],
  ])("that has %s is no JSON", (_, text) => {
    for (const cutBytes of [1, 2, 3, 4])
      expect(inPieces(toUtf8(text), { cutBytes, frameBytes: 3 })).toBe("no JSON");
  });

  test("is cut wherever it is long: in lists, objects and texts at any depth", () => {
    const long = `"${"\\ud83d\\ude00".repeat(200)}"`;
    const plain = `"${"é".repeat(1_000)}"`;
    const deep = `${'[{"a":'.repeat(30)}[${"1,".repeat(500)}${long},${plain}]${"}]".repeat(30)}`;
    const bytes = toUtf8(`{"x":${deep},"long":${long},"plain":[${plain}],"y":{${manyMembers(500)}}}`);
    const { cuts } = scan(bytes, { cutBytes: 100, frameBytes: 256 });
    const places = [0, ...cuts.map(({ at }) => at), bytes.length];
    const longest = Math.max(...places.slice(1).map((at, index) => at - places[index]!));
    expect(longest).toBeLessThan(600);
    expect(inPieces(bytes, { cutBytes: 100, frameBytes: 256 }) === atOnce(bytes)).toBe(true);
  });
});

function manyMembers(count: number): string {
  return Array.from({ length: count }, (_, index) => `"k${index}":${index}`).join(",");
}

describe("a long text without a place to cut", () => {
  const mib = 1024 * 1024;
  test.each([
    ["blanks", `[1,${" ".repeat(mib + 10)}2]`],
    ["a number", `[1,${"1".repeat(mib + 10)}]`],
    ["a name", `{"a":1,"${"k".repeat(mib + 10)}":2}`],
    ["a name of escapes", `{"a":1,"${"\\n".repeat(mib)}":2}`],
    ["no JSON", ":".repeat(mib + 10)],
  ])("is refused: %s", (_, text) => {
    expect(inPieces(toUtf8(text), { cutBytes: 1024, frameBytes: 100_000 })).toBe("refused");
  });

  test("of values is taken", () => {
    const text = `[1,"${"x".repeat(2 * mib)}","${"\\n".repeat(mib)}",{"${"k".repeat(mib / 2)}":["${"é".repeat(mib)}"]}]`;
    const outcome = inPieces(toUtf8(text), { cutBytes: 64 * 1024, frameBytes: 256 * 1024 });
    expect(outcome === atOnce(toUtf8(text))).toBe(true);
  });
});

// Nearly every place where a text of long names is due for a cut is in a name, which is left whole.
test.each([30, 47, 48, 60, 80, 120])(
  "an object of some MiB whose names have %i characters is cut between its members",
  (length) => {
    for (const value of [0, "sha256-of-it", "\n"]) {
      const names = Array.from({ length: 40_000 }, (_, n) => String(n).padStart(length, "/srv/app/"));
      const bytes = toUtf8(JSON.stringify({ map: Object.fromEntries(names.map((name) => [name, value])) }));
      const real = { cutBytes: 64 * 1024, frameBytes: 256 * 1024 };
      expect(inPieces(bytes, real)).toBe(atOnce(bytes));
      const between = bytes.length / scan(bytes, real).cuts.length;
      expect(between).toBeLessThan(2 * real.cutBytes);
    }
  },
);

test("a name of more than a MiB is refused, with escapes or without", () => {
  for (const letter of ["x", "\n"]) {
    const bytes = toUtf8(JSON.stringify({ a: 1, [letter.repeat(1_200_000)]: 2, b: 3 }));
    expect(inPieces(bytes, { cutBytes: 64 * 1024, frameBytes: 256 * 1024 })).toBe("refused");
  }
});

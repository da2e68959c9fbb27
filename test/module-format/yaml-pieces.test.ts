/** A document that is made piece by piece is what the package makes of it in one go, and as faulty. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAllDocuments, type CST } from "yaml";
import { finish, WorkBudget } from "../../lib/internal/work.ts";
import { composeTokens } from "../../lib/module-format/yaml-pieces.ts";
import { readTokens } from "../../lib/module-format/yaml-tokens.ts";

function tokensOf(text: string): CST.Token[] {
  const read = finish(readTokens(text, 3000, new WorkBudget()));
  if (!read.ok) throw new Error("There is no limit here.");
  return read.tokens;
}

/** What a text says, made piece by piece; null where it has faults. */
function inPieces(text: string): { value: unknown } | null {
  const parts = { length: text.length, depth: 1000, tooDeep: "deep" };
  const { contents, faults, second } = finish(composeTokens(tokensOf(text), parts, new WorkBudget()));
  if (faults.length > 0 || second !== null) return null;
  // Of what is made in pieces the package has no document that could resolve anything.
  return { value: contents === null ? null : plain(contents) };
}

/** The same in one go. */
function atOnce(text: string): { value: unknown } | null {
  const options = { uniqueKeys: false, prettyErrors: false, version: "1.2", logLevel: "silent" } as const;
  const documents = parseAllDocuments(text, options);
  if ("empty" in documents) return documents.errors.length > 0 ? null : { value: null };
  if (documents.length !== 1) return null;
  const [document] = documents;
  if (document!.errors.length > 0) return null;
  return { value: document!.contents === null ? null : plain(document!.contents) };
}

interface Node {
  items?: (Node | { key: Node; value: Node | null })[];
  value?: unknown;
  range?: [number, number, number] | null;
  anchor?: string;
  tag?: string;
}

/** A node as values and places; of lists and maps only where they begin. */
function plain(node: Node | null): unknown {
  if (node === null) return null;
  const marks = {
    at: node.range?.[0],
    ...(node.anchor && { anchor: node.anchor }),
    ...(node.tag && { tag: node.tag }),
  };
  if (!node.items) return { ...marks, end: node.range?.[1], value: node.value };
  const items = node.items.map((item) =>
    "key" in item ? [plain(item.key), plain(item.value as Node | null)] : plain(item),
  );
  return { ...marks, items };
}

/** Texts of many lines, with lists and maps of both styles, in which a few characters are put elsewhere. */
const scalar = fc.constantFrom("a", "1", '"x"', "''", "a b", "~", "'it''s'", "[]", "{}", "");
const flow: fc.Arbitrary<string> = fc.letrec<{ flow: string }>((tie) => ({
  flow: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc
      .array(tie("flow"), { maxLength: 3 })
      .map((items) => `[${items.map((item) => item || "e").join(", ")}]`),
    fc
      .array(tie("flow"), { maxLength: 3 })
      .map((items) => `{${items.map((item, at) => `k${at}: ${item}`).join(", ")}}`),
  ),
})).flow;
const long = fc
  .tuple(scalar, fc.integer({ min: 100, max: 500 }), fc.boolean())
  .map(([item, count, isMap]) =>
    isMap
      ? `{${Array.from({ length: count }, (_, at) => `k${at}: ${item}`).join(",\n    ")}}`
      : `[${Array.from({ length: count }, () => item || "e").join(", ")}]`,
  );
const value = fc.oneof({ weight: 8, arbitrary: flow }, { weight: 1, arbitrary: long });
const line = fc.oneof(
  fc.tuple(fc.nat(999), value).map(([at, text]) => `k${at}: ${text}`),
  fc
    .tuple(fc.nat(999), fc.array(value, { maxLength: 4 }))
    .map(([at, items]) => `l${at}:${items.map((item) => `\n  - ${item}`).join("")}`),
  fc
    .tuple(fc.nat(999), value)
    .map(([at, text]) => `m${at}:\n  n: ${text}\n  o: |\n    text\n      more\n  p: &x !y z`),
  fc.constantFrom("# comment", "", "? q\n: r", "s: &anchor", "t: !tag [a]", "u: *anchor"),
);
const document = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 6 }), fc.constantFrom(1, 1, 8))
  .map(([lines, times]) => Array.from({ length: times }, () => lines.join("\n")).join("\n"));

describe("a document in pieces", () => {
  it("is the document", () => {
    fc.assert(
      fc.property(document, (text) => {
        expect(JSON.stringify(inPieces(text))).toBe(JSON.stringify(atOnce(text)));
      }),
      { numRuns: 50, endOnFailure: true },
    );
  });

  it("has tags and anchors where it has them in one go", () => {
    const numbers = Array.from({ length: 2_000 }, (_, at) => `x${at}`);
    const pairs = numbers.map((name) => `${name}: 1`);
    for (const text of [
      `a: !x [${numbers.join(", ")}]`,
      `a: !x {${pairs.join(", ")}}`,
      `a: !x\n${numbers.map((each) => `  - ${each}\n`).join("")}`,
      `a: &b !x\n${pairs.map((each) => `  ${each}\n`).join("")}`,
      `!x\n${pairs.join("\n")}`,
      `- !x\n  - !y [${numbers.join(", ")}]`,
    ]) {
      expect(JSON.stringify(atOnce(text))).toContain('"tag":"!x"');
      expect(JSON.stringify(inPieces(text))).toBe(JSON.stringify(atOnce(text)));
    }
  });

  it("has faults where it has them in one go", () => {
    const cut = fc.tuple(
      document,
      fc.nat(),
      fc.constantFrom(",", ",,", "]", "}", "[", "{", ":", "- ", "\n", "\t", "&a ", '"', "---\n", " "),
    );
    fc.assert(
      fc.property(cut, ([text, at, put]) => {
        const place = at % (text.length + 1);
        const broken = text.slice(0, place) + put + text.slice(place);
        expect(JSON.stringify(inPieces(broken))).toBe(JSON.stringify(atOnce(broken)));
      }),
      { numRuns: 100, endOnFailure: true },
    );
  });

  it.each([
    ["two commas", (items: string[]) => `[${items.join(",")}]`.replace("x399,", "x399,,")],
    ["two commas at the end", (items: string[]) => `[${items.join(",")},,]`],
    ["a comma at the end", (items: string[]) => `[${items.join(",")},]`],
    [
      "no comma between two lists",
      (items: string[]) => `[${items.map((item) => `[${item}]`).join(",")}]`.replace("[x399],", "[x399]"),
    ],
    ["a comma at the beginning", (items: string[]) => `[,${items.join(",")}]`],
    ["nothing but commas", (items: string[]) => `[${items.map(() => "").join(",")}]`],
    ["no end", (items: string[]) => `[${items.join(",")}`],
    [
      "a line that begins too far left",
      (items: string[]) =>
        `a:\n  b:\n${items.map((item) => `    ${item}: 1\n`).join("")}`.replace("    x399", "   x399"),
    ],
    ["a list in one line with its key", (items: string[]) => `a: b: {${items.join(",")}}`],
    [
      "a map in one line with its key",
      (items: string[]) => `a: ${items.map((item) => `${item}: 1`).join("\n   ")}`,
    ],
    ["a key that is a list", (items: string[]) => `? [${items.join(",")}]\n: 1`],
  ])("of 2,000 items with %s is as faulty as in one go", (_name, make) => {
    for (let shift = 0; shift < 3; shift += 1) {
      const text = make(Array.from({ length: 2000 }, (_, at) => `x${at + shift}`));
      expect(inPieces(text) === null).toBe(atOnce(text) === null);
    }
  });
});

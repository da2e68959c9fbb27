/** Texts line by line: what is not edited stays byte for byte, and what comes ends as most of the others do. */
import { expect, test } from "vitest";
import {
  insertMarked,
  isAllOurs,
  isLast,
  lineOfMarks,
  readMarked,
  writeMarked,
} from "../../../../lib/state/resources/shared/marked-lines.ts";
import {
  insertLines,
  isUnended,
  lineBreakOf,
  pairOf,
  putLine,
  toLines,
  toText,
  withoutLines,
} from "../../../../lib/state/resources/shared/text-lines.ts";

test.each<[text: string | null, lines: string[], lineBreak: string, unended: boolean]>([
  [null, [], "\n", false],
  ["", [], "\n", false],
  ["a", ["a"], "\n", true],
  ["a\n", ["a\n"], "\n", false],
  ["\n", ["\n"], "\n", false],
  ["a\n\nb", ["a\n", "\n", "b"], "\n", true],
  ["a\r\nb\r\n", ["a\r\n", "b\r\n"], "\r\n", false],
  ["a\r\nb", ["a\r\n", "b"], "\r\n", true],
  ["a\r\nb\n", ["a\r\n", "b\n"], "\n", false],
  ["a\r\nb\r\nc\n", ["a\r\n", "b\r\n", "c\n"], "\r\n", false],
  ["a\r", ["a\r"], "\n", true],
  ["a\rb\n", ["a\rb\n"], "\n", false],
])("%j is taken apart and put together again", (text, lines, lineBreak, unended) => {
  const taken = toLines(text);
  expect(taken.map((line) => line.text + line.end)).toEqual(lines);
  expect([toText(taken), lineBreakOf(taken), isUnended(taken)]).toEqual([text ?? "", lineBreak, unended]);
});

test.each<[text: string, at: number, coming: (string | { text: string; end: string })[], made: string]>([
  ["", 0, ["x"], "x\n"],
  ["a\nb\n", 1, ["x", "y"], "a\nx\ny\nb\n"],
  ["a\r\nb\r\n", 2, ["x"], "a\r\nb\r\nx\r\n"],
  ["a", 1, ["x"], "a\nx\n"],
  ["a\r\nb", 2, ["x"], "a\r\nb\r\nx\r\n"],
  ["a\nb", 1, ["x"], "a\nx\nb"],
  ["a\n", 1, [{ text: "x", end: "" }], "a\nx"],
  ["a\n", 0, [{ text: "x", end: "" }], "x\na\n"],
  ["a\n", 1, [{ text: "x", end: "\r\n" }], "a\nx\r\n"],
])("into %j at %i come %j", (text, at, coming, made) => {
  expect(toText(insertLines(toLines(text), at, coming))).toBe(made);
});

test.each<[text: string, gone: string, unended: boolean | undefined, left: string]>([
  ["a\nb\nc\n", "b", undefined, "a\nc\n"],
  ["a\nb\n", "b", undefined, "a\n"],
  ["a\nb\n", "b", true, "a"],
  ["a\nb\n", "a", true, "b\n"],
  ["a\nb", "b", false, "a\n"],
  ["b\n", "b", true, ""],
])("from %j goes %j, and the text was unended before: %j", (text, gone, unended, left) => {
  expect(toText(withoutLines(toLines(text), (line) => line.text === gone, { unended }))).toBe(left);
});

test.each([
  ["", "k=1\n"],
  ["a\n", "a\nk=1\n"],
  ["k=0\r\na\r\n", "k=1\r\na\r\n"],
  ["a\nk=0\nb\nk=2\nk=3", "a\nk=1\nb\n"],
  ["a\nk=0", "a\nk=1"],
])("a line is put into %j in the place of the first of its kind", (text, made) => {
  expect(toText(putLine(toLines(text), (line) => line.startsWith("k="), "k=1"))).toBe(made);
});

test.each<[text: string, pair: [number, number] | null | undefined]>([
  ["a\n", undefined],
  ["(\na\n)\n", [0, 2]],
  ["a\n(\n)", [1, 2]],
  ["(\n", null],
  [")\n", null],
  [")\n(\n", null],
  ["(\n(\n)\n", null],
  ["(\n)\n)\n", null],
  ["(\n)\n(\n)\n", null],
  [" (\n)\n", null],
])("marks in %j are a pair: %j", (text, pair) => {
  expect(pairOf({ begin: "(", end: ")" }, toLines(text))).toEqual(pair);
});

const [begin, end] = ["# BEGIN fleetwright: job", "# END fleetwright: job"];
const marked = `${begin}\nx\n${end}\n`;

test.each<[text: string, content: string | null, made: string]>([
  ["", "x\n", marked],
  ["", "x", marked],
  ["", "", `${begin}\n${end}\n`],
  ["", null, ""],
  ["a\n", "x", `a\n${marked}`],
  ["a", "x", `a\n${marked}`],
  ["\na", "x", `\na\n${marked}`],
  [`a\n${begin}\nold\nolder\n${end}\nb\n`, "x", `a\n${marked}b\n`],
  [`a\n${marked}b\n`, null, "a\nb\n"],
  [`a\n${begin}\nb\n`, null, `a\n${begin}\nb\n`],
  [`${end}\n${begin}\n`, null, `${end}\n${begin}\n`],
  [`a\n${end}`, null, `a\n${end}`],
])("between the marks of %j comes %j", (text, content, made) => {
  expect(writeMarked(text, "job", content)).toBe(made);
  const inside = content === null || content.endsWith("\n") || content === "" ? content : `${content}\n`;
  expect(readMarked(made, "job")).toBe(inside);
  expect(lineOfMarks(made, "job")).toBe(content === null ? null : made.split("\n").indexOf(begin));
});

test.each<[text: string, isAll: boolean, isAtEnd: boolean]>([
  ["", false, false],
  [marked, true, true],
  [marked + marked.replaceAll("job", "other"), true, false],
  [`a\n${marked}`, false, true],
  [`${marked}a\n`, false, false],
  [`${begin}\nx\n`, false, false],
  [`${begin}\nx\n# END fleetwright: other\n`, false, false],
])("in %j is nothing but what is ours: %j, and ours is the end: %j", (text, isAll, isAtEnd) => {
  expect([isAllOurs(text), isLast(text, "job")]).toEqual([isAll, isAtEnd]);
});

test("lines between marks come back before the line where they stood", () => {
  expect(insertMarked("a\nb\n", "job", { content: "x\n", line: 1 })).toBe(`a\n${marked}b\n`);
});

/** Lines that were taken away come back where they stood, whatever became of the text around them, and so does how it ended. */
import { expect, test } from "vitest";
import { MemoryHost } from "../../../../lib/host/memory-host.ts";
import type { Json } from "../../../../lib/json.ts";
import {
  bothEnds,
  keepLines,
  notedEnd,
  noteEnd,
  restoreLines,
  withEnd,
} from "../../../../lib/state/resources/shared/kept-lines.ts";
import { toLines, toText } from "../../../../lib/state/resources/shared/text-lines.ts";

const host = new MemoryHost();
const isOwn = (text: string): boolean => text.startsWith("k=");

/** What stood, what stands when the lines come back, and what is made of that. */
const rows: Record<string, [stood: string, stands: string, made: string]> = {
  "in the middle": ["a\nk=0\nb\n", "a\nb\n", "a\nk=0\nb\n"],
  "at the top": ["k=0\na\nb\n", "a\nb\n", "k=0\na\nb\n"],
  "at the end": ["a\nb\nk=0\n", "a\nb\n", "a\nb\nk=0\n"],
  alone: ["k=0\n", "", "k=0\n"],
  "several, in their order": ["k=0\na\nk=1\nk=2\nb\n", "a\nb\n", "k=0\na\nk=1\nk=2\nb\n"],
  "where lines came above": ["a\nk=0\nb\n", "x\ny\na\nb\n", "x\ny\na\nk=0\nb\n"],
  "where the line above went": ["a\nk=0\nb\nc\n", "b\nc\n", "k=0\nb\nc\n"],
  "where the line below went": ["a\nb\nk=0\nc\n", "a\nb\n", "a\nb\nk=0\n"],
  "where the same lines stand twice, at the nearer place": [
    "a\nb\na\nk=0\nb\n",
    "a\nb\na\nb\n",
    "a\nb\na\nk=0\nb\n",
  ],
  "where all is another, as far from the top": ["a\nk=0\nb\n", "x\ny\nz\n", "x\nk=0\ny\nz\n"],
  "where all is another and less, at the end": ["a\nb\nc\nk=0\n", "x\n", "x\nk=0\n"],
  "in the place of ours, where nothing tells another": ["a\nk=0\nb\n", "x\ny\nk=9\nz\n", "x\ny\nk=0\nz\n"],
  "where they stood, though ours stand elsewhere": ["a\nk=0\nb\n", "a\nb\nk=9\n", "a\nk=0\nb\n"],
  "at the first of two places that are as near": ["p\na\nk=0\nb\nq\n", "a\nb\na\nb\n", "a\nk=0\nb\na\nb\n"],
  "in the place of ours, where what was below is another": ["a\nk=0\nb\n", "a\nx\nk=9\n", "a\nx\nk=0\n"],
  "in the place of ours, where what was above is another": ["a\nk=0\nb\n", "k=9\nx\nb\n", "k=0\nx\nb\n"],
  "with the line breaks that the file has by now": ["a\nk=0\nb\n", "a\r\nb\r\n", "a\r\nk=0\r\nb\r\n"],
  "with a line break of its own, as long as the others have theirs": [
    "a\nk=0\r\nb\n",
    "a\nb\n",
    "a\nk=0\r\nb\n",
  ],
  "with the line break of ours, where the others have another by now": [
    "a\nk=0\nb\n",
    "a\r\nk=9\nb\r\n",
    "a\r\nk=0\nb\r\n",
  ],
  "as the last line, without a line break": ["a\nk=0", "a\n", "a\nk=0"],
  "as what was the last line, before another": ["a\nk=0", "a\nb\n", "a\nk=0\nb\n"],
};

test.each(Object.entries(rows))("they come back %s", (_where, [stood, stands, made]) => {
  const kept = keepLines(toLines(stood), isOwn, host);
  const { unended } = noteEnd(toLines(stood), isOwn, host);
  const restored = restoreLines(toLines(stands), { isOwn, kept, unended }, host);
  expect(toText(restored)).toBe(made);
  expect(toText(restoreLines(restored, { isOwn, kept, unended }, host))).toBe(made);
});

test.each([
  ["a\nb", true],
  ["a\nb\n", false],
  ["", false],
  ["a\nk=0", false],
])("that %j ends without a line break of others is noted: %j", (text, isNoted) => {
  const noted = noteEnd(toLines(text), isOwn, host);
  expect(Object.keys(noted)).toEqual(isNoted ? ["unended"] : []);
  const ended = toLines(text.endsWith("\n") ? text : `${text}\n`);
  expect(toText([...withEnd(ended, noted.unended, host)])).toBe(isNoted ? text : toText(ended));
  // Another last line has an end of its own.
  const more = [...ended, ...toLines("c\n")];
  expect(toText([...withEnd(more, noted.unended, host)])).toBe(toText(more));
});

test("the ends that two noted are both known, each once, and that of a line of its own is one", () => {
  const [a, b] = ["a", "b"].map((text) => noteEnd(toLines(text), isOwn, host).unended!);
  expect([bothEnds(a!, b!), bothEnds(a!, a!), bothEnds(bothEnds(a!, b!), a!)]).toEqual([
    `${a} ${b}`,
    a,
    `${a} ${b}`,
  ]);
  for (const text of ["a", "b"])
    expect(toText([...withEnd(toLines(`${text}\n`), bothEnds(a!, b!), host)])).toBe(text);
  const kept = JSON.parse(JSON.stringify(keepLines(toLines("x\nk=0"), isOwn, host))) as Json[];
  const own = noteEnd(toLines("k=0"), () => false, host).unended;
  expect(notedEnd({ kept }, host)).toBe(own);
  expect(notedEnd({ kept, unended: a! }, host)).toBe(a);
  expect([notedEnd({}, host), notedEnd({ unended: true }, host), notedEnd({ kept: [] }, host)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

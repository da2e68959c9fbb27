import { describe, expect, it } from "vitest";
import { PlainText } from "../../lib/terminals/plain-text.ts";

const esc = "\u001b";

const cases: [name: string, output: string, text: string][] = [
  ["colours", `${esc}[31mred${esc}[0m`, "red"],
  ["a title", `a${esc}]0;rm -rf /\u0007b`, "ab"],
  ["a title with the long end", `a${esc}]2;title${esc}\\b`, "ab"],
  ["the clipboard", `a${esc}]52;c;cm0gLXJmIC8K\u0007b`, "ab"],
  ["a link", `${esc}]8;;http://evil${esc}\\text${esc}]8;;${esc}\\`, "text"],
  ["device control", `a${esc}P$q"p${esc}\\b`, "ab"],
  ["controls of eight bits", "a\u009b31mb\u009d0;title\u009cc\u0085d", "abcd"],
  ["a question to the terminal", `a${esc}[6n${esc}[cb`, "ab"],
  ["a character set", `a${esc}(0b${esc})Bc`, "abc"],
  ["lines", "one\r\ntwo\r\n", "one\ntwo\n"],
  ["a line that is written over", "10%\r20%\r\n", "10%\n20%\n"],
  [
    "a line that is erased and written anew",
    `10%\r${esc}[K20%\r${esc}[2K${esc}[32m30%${esc}[0m\r\n`,
    "10%\n20%\n30%\n",
  ],
  ["a colour between the ends of a line", `one\r${esc}[0m\n${esc}[?2004l\rtwo\n`, "one\ntwo\n"],
  ["bells, backspaces and deletes", "a\u0007b\u0008c\u007f", "abc"],
  ["text turned round", "a\u202egnp.exe", "agnp.exe"],
  ["a mark that turns what is neither", "a\u061c(b)", "a(b)"],
  ["a sequence that never ends", `a${esc}[31`, "a"],
  ["a sequence that is broken off by a line", `a${esc}[31\nb`, "a\nb"],
  ["a title that never ends", `a${esc}]0;title\r\nb`, "a\nb"],
  ["device control of eight bits that never ends", "a\u0090q\nb", "a\nb"],
  ["an escape at the end of a line", `a${esc}\nb${esc}(\nc`, "a\nb\nc"],
  ["what is no control", "grüße 你好 🎉\t!", "grüße 你好 🎉\t!"],
];

describe("plain text of a terminal", () => {
  it.each(cases)("has no %s", (_, output, text) => {
    expect(new PlainText().take(output)).toBe(text);
    const plain = new PlainText();
    expect([...output].map((char) => plain.take(char)).join("")).toBe(text);
  });

  const begins = [`${esc}]`, `${esc}P`, `${esc}X`, `${esc}^`, `${esc}_`, ..."\u0090\u0098\u009d\u009e\u009f"];
  const ends = ["\u0007", `${esc}\\`, "\u009c", "\u0018", "\u001a"];
  it.each(begins.flatMap((begin) => ends.map((end) => [begin, end])))(
    "has no text that begins with %j and ends with %j",
    (begin, end) => {
      expect(new PlainText().take(`a${begin}0;hidden [31m${end}b`)).toBe("ab");
      // Nor where the end is that of a sequence of another kind, which begins within.
      expect(new PlainText().take(`a${begin}0;hidden${esc}[31mb${begin}hidden${esc}(Bc${end}d`)).toBe(
        `abc${end === `${esc}\\` || end < " " || end === "\u009c" ? "" : end}d`,
      );
    },
  );

  it("has no sequence of two characters, whatever stands between", () => {
    for (let between = 0x20; between <= 0x2f; between += 1)
      for (let final = 0x30; final <= 0x7e; final += 1) {
        const sequence = esc + String.fromCharCode(between, final);
        expect(new PlainText().take(`a${sequence}b`), JSON.stringify(sequence)).toBe("ab");
      }
  });

  /** The marks of Unicode that turn text round or end a line, from the first to the last of each run. */
  const hidden = [
    [0x061c, 0x061c],
    [0x200e, 0x200f],
    [0x2028, 0x202e],
    [0x2066, 0x2069],
  ] as const;
  it.each(hidden)("has none of the marks from %i to %i, and those beside them", (first, last) => {
    for (let mark = first - 1; mark <= last + 1; mark += 1) {
      const char = String.fromCodePoint(mark);
      const isShown = mark < first || mark > last;
      expect(new PlainText().take(`a${char}b`), mark.toString(16)).toBe(isShown ? `a${char}b` : "ab");
    }
  });

  it("breaks a line that does not end", () => {
    const plain = new PlainText();
    const text = plain.take("x".repeat(10_000_000));
    expect(Math.max(...text.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(65_536);
    expect(text.replaceAll("\n", "")).toHaveLength(10_000_000);
  });

  it("never has a control character but tab and line end, whatever comes", () => {
    let seed = 7;
    const next = (most: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % most;
    const parts = [
      esc,
      "[",
      "]",
      "P",
      ";",
      "\u0007",
      "\\",
      "m",
      "0",
      "a",
      "\u009b",
      "\u009d",
      "\r",
      "\n",
      "é",
    ];
    for (let round = 0; round < 2_000; round += 1) {
      const output = Array.from({ length: 30 }, () => parts[next(parts.length)]).join("");
      // oxlint-disable-next-line no-control-regex -- It looks for control characters.
      expect(new PlainText().take(output)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }
  });
});

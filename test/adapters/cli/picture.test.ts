import { describe, expect, it } from "vitest";
import { Picture } from "../../../adapters/cli/work/picture.ts";
import { seededRandom } from "../../support/random.ts";

/** Escape, the string terminator and the end of a title. */
const [esc, st, bel] = ["\u001b", "\u001b\\", "\u0007"];

const drawings: [what: string, output: string][] = [
  ["text, line ends and tabs", "one\r\n\ttwo\b\n"],
  ["letters of other scripts and pictures", "grüße, 你好, 🎉"],
  ["colours", `${esc}[1;38;5;196mred${esc}[38:2::1:2:3m${esc}[m`],
  ["the cursor", `${esc}[2J${esc}[10;20H${esc}[3A${esc}[K${esc}7${esc}8${esc}[s${esc}[u`],
  ["the other screen", `${esc}[?1049h${esc}[?25l${esc}[1;24r${esc}[?25h${esc}[?1049l`],
  ["lines of a box", `${esc}(0lqk${esc}(B\u000e\u000f`],
  [
    "lines that are put in, and scrolling",
    `${esc}[2L${esc}[M${esc}[3P${esc}[@${esc}[2S${esc}M${esc}D${esc}E`,
  ],
];

const reaching: [what: string, output: string, drawn: string][] = [
  ["the clipboard", `a${esc}]52;c;cm0gLXJm${bel}b`, "ab"],
  ["the clipboard, with the other end", `a${esc}]52;c;cm0gLXJm${st}b`, "ab"],
  ["the clipboard, in characters of eight bits", "a\u009d52;c;cm0gLXJm\u009cb", "ab"],
  ["the title", `a${esc}]0;title${bel}b`, "ab"],
  ["the title, to be typed", `a${esc}[21tb`, "ab"],
  ["the place of the cursor, to be typed", `a${esc}[6nb${esc}[?6nc`, "abc"],
  ["the kind of the terminal, to be typed", `a${esc}[cb${esc}[>0cc${esc}Zd\u0005e`, "abcde"],
  ["the same in characters of eight bits", "a\u009bcb", "ab"],
  ["settings, to be typed", `a${esc}P$qm${st}b${esc}[?25$pc${esc}[xd`, "abcd"],
  [
    "the mouse, the keys, and what is pasted",
    `a${esc}[?1000;1006hb${esc}[?2004h${esc}[?1h${esc}=${esc}[>4;2mc`,
    "abc",
  ],
  ["the keys beside the cursor", `a${esc}[?12;25hb`, `a${esc}[?25hb`],
  ["the memory of keys", `a${esc}_Gf=100;AAAA${st}b${esc}^x${st}c${esc}Xx${st}d`, "abcd"],
  ["a title that never ends, and what follows is drawn", `a${esc}]0;title\nb\u0090q\nc`, "a\nb\nc"],
  [
    "a title that another sequence cuts short",
    `a${esc}]0;title${esc}[31mb${esc}]0;t${esc}7c`,
    `a${esc}[31mb${esc}7c`,
  ],
  ["a title that another title cuts short", `a${esc}]0;t${esc}]0;u${esc}${esc}_x${bel}b`, "ab"],
  ["a sequence without end", `a${esc}[${"1;".repeat(10_000)}mb`, "ab"],
];

describe("a replay", () => {
  it.each(drawings)("draws %s", (_, output) => {
    expect(new Picture().take(output)).toBe(output);
  });

  it.each(reaching)("does not reach %s, in one piece or in many", (_, output, drawn) => {
    expect(new Picture().take(output)).toBe(drawn);
    const picture = new Picture();
    expect([...output].map((char) => picture.take(char)).join("")).toBe(drawn);
  });

  it("of anything has nothing but what draws", () => {
    const random = seededRandom(16);
    const parts = [
      esc,
      "[",
      "]",
      "P",
      "52;c;",
      "?",
      ">",
      "6n",
      "c",
      "t",
      "h",
      "m",
      "1",
      ";",
      bel,
      st,
      "\u009b",
      "\u009d",
      "x",
      "\n",
    ];
    for (let round = 0; round < 2_000; round += 1) {
      const picture = new Picture();
      let drawn = "";
      for (let n = 0; n < 30; n += 1) drawn += picture.take(parts[Math.floor(random() * parts.length)]!);
      // oxlint-disable-next-line no-control-regex -- It looks for control characters.
      const rest = drawn.replaceAll(/\u001b\[(?:\??[\d;]*[hlm]|[\d;]*[A-Xa-z])|\u001b[78DEMHc]/g, "");
      expect(rest).not.toContain(esc);
      expect(drawn).not.toMatch(/\u001b\[[^a-zA-Z]*[cnt]|[\u0080-\u009f]/); // oxlint-disable-line no-control-regex -- The same.
    }
  });
});

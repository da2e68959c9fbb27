/** Files of environment variables: every spelling of a value, beside a reader that goes one character at a time. */
import { expect, test } from "vitest";
import { parseEnvFile } from "../../../adapters/cli/env-file.ts";

const letters = ["\\", "n", '"', "$", "x", "'", "#", " "];

/** All texts of so many of the letters. */
function texts(length: number): string[] {
  if (length === 0) return [""];
  return texts(length - 1).flatMap((text) => letters.map((letter) => text + letter));
}

/** What stands between double quotes; null where they end before, or not at all. */
function inDouble(inside: string): string | null {
  let value = "";
  for (let at = 0; at < inside.length; at++) {
    const letter = inside.charAt(at);
    if (letter === '"') return null;
    if (letter !== "\\") {
      value += letter;
      continue;
    }
    at += 1;
    if (at === inside.length) return null;
    const next = inside.charAt(at);
    value += next === "n" ? "\n" : ['"', "\\", "$"].includes(next) ? next : letter + next;
  }
  return value;
}

function read(text: string): string | null {
  try {
    return parseEnvFile(`NAME=${text}`)[0]?.value ?? "";
  } catch {
    return null;
  }
}

test("in double quotes each escape means what it says, whatever stands before and behind it", () => {
  for (const length of [0, 1, 2, 3, 4])
    for (const inside of texts(length)) expect(read(`"${inside}"`), inside).toBe(inDouble(inside));
});

test("in single quotes each character means itself, and so it does without any", () => {
  for (const inside of texts(4)) {
    expect(read(`'${inside}'`), inside).toBe(inside.includes("'") ? null : inside);
    if (!/^["' ]| $/.test(inside)) expect(read(inside), inside).toBe(inside);
  }
});

test("a path of Windows is the one that was written", () => {
  expect(parseEnvFile('A="C:\\\\new\\\\name"\nexport B=C:\\new\r\n\n# C=1\n D = "\\\\n"')).toEqual([
    { name: "A", value: "C:\\new\\name", line: 1 },
    { name: "B", value: "C:\\new", line: 2 },
    { name: "D", value: "\\n", line: 5 },
  ]);
});

test.each(["A=1\n1B=2", "A=1\nB", "A=1\nB-C=2", 'A=1\nB="x', "A=1\nB='x", 'A=1\nB="x" # y'])(
  "a line that is none is refused by its number, without its text: %j",
  (text) => {
    expect(() => parseEnvFile(text)).toThrow(/^Line 2(:| is)[^x]*$/);
  },
);

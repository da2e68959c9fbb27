import { describe, expect, it } from "vitest";
import { toFacts, toLine, toSafeText, toTable } from "../../../adapters/cli/text.ts";

describe("text of others", () => {
  it.each([
    ["an escape sequence", "\u001b[31mred", "\\u{1b}[31mred"],
    ["a carriage return", "good\rbad", "good\\u{d}bad"],
    ["an eight-bit control character", "\u009b2J", "\\u{9b}2J"],
    ["a change of writing direction", "abc\u202edef", "abc\\u{202e}def"],
    ["letters, line ends and tabs, as they are", "Grüße\n\t日本 👍", "Grüße\n\t日本 👍"],
  ])("shows %s", (_, text, shown) => {
    expect(toSafeText(text)).toBe(shown);
  });

  it("stays on its line where it has to", () => {
    expect(toLine("a\nb\tc")).toBe("a\\nb\\tc");
  });
});

describe("a table", () => {
  it("lines its columns up and has no spaces at the ends of lines", () => {
    const items = [
      { name: "web", size: 1 },
      { name: "database", size: undefined },
    ];
    const table = toTable(items, [
      ["NAME", ({ name }) => name],
      ["SIZE", ({ size }) => size],
    ]);
    expect(table).toBe("NAME      SIZE\nweb       1\ndatabase  -\n");
  });

  it("is a heading where there is nothing", () => {
    expect(toTable([], [["NAME", () => "x"]])).toBe("NAME\n");
  });

  it("of facts leaves out what is not known", () => {
    const facts = [
      ["url", "x"],
      ["name", undefined],
      ["longer", null],
    ] as const;
    expect(toFacts(facts)).toBe("url  x\n");
  });
});

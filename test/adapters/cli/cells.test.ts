import { describe, expect, it } from "vitest";
import { fitRows, shortIds, toRelativeTime } from "../../../adapters/cli/cells.ts";
import { paintFor } from "../../../adapters/cli/paint.ts";
import { idColumn, timeColumn, toTable, wideColumn } from "../../../adapters/cli/text.ts";

const now = Date.parse("2026-03-01T12:00:00.000Z");

describe("short ids", () => {
  const uuid = (at: string, tail: string): string => `01936f2a-${at}-${tail}-8aaa-123456789abc`;

  it.each([
    ["one", [uuid("1b2c", "7000")], ["01936f2a-1b2c"]],
    [
      "of other milliseconds",
      [uuid("1b2c", "7000"), uuid("1b2d", "7000")],
      ["01936f2a-1b2c", "01936f2a-1b2d"],
    ],
    [
      "of one millisecond",
      [uuid("1b2c", "7000"), uuid("1b2c", "7001")],
      ["01936f2a-1b2c-7000", "01936f2a-1b2c-7001"],
    ],
    ["twice the same", [uuid("1b2c", "7000"), uuid("1b2c", "7000")], ["01936f2a-1b2c", "01936f2a-1b2c"]],
    ["of agents", ["0123456789abcdef0123456789abcdef"], ["01234567"]],
    [
      "of agents that begin alike",
      ["0123456789abcdef0123456789abcdef", "01234567ffffffff0123456789abcdef"],
      ["0123456789ab", "01234567ffff"],
    ],
    ["that are none", ["-", "web", "0123"], ["-", "web", "0123"]],
  ])("%s", (_, ids, short) => {
    expect(shortIds(ids)).toEqual(short);
  });
});

describe("a time as people say it", () => {
  it.each([
    ["2026-03-01T12:00:00.400Z", "now"],
    ["2026-03-01T11:59:48.000Z", "12 s ago"],
    ["2026-03-01T11:57:59.000Z", "2 min ago"],
    ["2026-03-01T09:00:00.000Z", "3 h ago"],
    ["2026-02-24T12:00:00.000Z", "5 d ago"],
    ["2025-12-31T12:00:00.000Z", "2025-12-31"],
    ["2026-03-01T14:00:00.000Z", "in 2 h"],
    // Where one unit ends and the next begins, before and behind now.
    ["2026-03-01T11:59:59.501Z", "now"],
    ["2026-03-01T11:59:59.500Z", "1 s ago"],
    ["2026-03-01T11:59:01.000Z", "59 s ago"],
    ["2026-03-01T11:59:00.000Z", "1 min ago"],
    ["2026-03-01T11:00:01.000Z", "59 min ago"],
    ["2026-03-01T11:00:00.000Z", "1 h ago"],
    ["2026-02-28T12:00:01.000Z", "23 h ago"],
    ["2026-02-28T12:00:00.000Z", "1 d ago"],
    ["2026-01-30T12:00:00.000Z", "30 d ago"],
    ["2026-01-30T11:59:59.000Z", "2026-01-30"],
    ["2026-03-01T12:00:01.000Z", "in 1 s"],
    ["2026-03-31T12:00:00.000Z", "in 30 d"],
    ["2026-03-31T12:00:01.000Z", "2026-03-31"],
    ["never", "never"],
    ["failed: 2026-03-01T14:00:00.000Z", "failed: 2026-03-01T14:00:00.000Z"],
    ["2026-99-99T00:00:00Z", "2026-99-99T00:00:00Z"],
  ])("%s is %s", (text, said) => {
    expect(toRelativeTime(text, now)).toBe(said);
  });
});

describe("a table", () => {
  interface Item {
    id: string;
    at: string;
    text: string;
  }
  const items: Item[] = [
    { id: "0123456789abcdef0123456789abcdef", at: "2026-03-01T11:58:00.000Z", text: "x".repeat(200) },
    { id: "ff23456789abcdef0123456789abcdef", at: "2026-03-01T11:59:59.000Z", text: "\u001b[2J" },
  ];
  const columns = [
    ["ID", ({ id }: Item) => id, idColumn],
    ["TEXT", ({ text }: Item) => text],
    ["AT", ({ at }: Item) => at, timeColumn],
    ["MORE", () => "more", wideColumn],
  ] as const;

  it("fits, and cuts neither ids nor times", () => {
    const lines = toTable(items, columns, { isWide: false, now, width: 80 }).trimEnd().split("\n");
    expect(lines.map(({ length }) => length).every((length) => length <= 80)).toBe(true);
    expect(lines[1]).toMatch(/^01234567 {2}x+… {2}2 min ago$/);
    expect(lines[2]).toContain("\\u{1b}[2J");
    expect(lines[0]).not.toContain("MORE");
  });

  it("has everything where it is wide", () => {
    const wide = toTable(items, columns, { isWide: true, now, width: 80 });
    for (const whole of ["x".repeat(200), items[0]!.id, items[0]!.at, "MORE"]) expect(wide).toContain(whole);
  });

  it.each([
    ["as wide as the screen stays whole", ["aaaaaaaaaa", "bbbbbbbb"], 20, ["aaaaaaaaaa", "bbbbbbbb"]],
    ["one wider loses one of its longest", ["aaaaaaaaaa", "bbbbbbbb"], 19, ["aaaaaaaa…", "bbbbbbbb"]],
    ["much wider loses of all that are long", ["aaaaaaaaaa", "bbbbbbbb"], 16, ["aaaaaa…", "bbbbbb…"]],
    ["far wider keeps six of each", ["aaaaaaaaaa", "bbbbbbbb"], 10, ["aaaaa…", "bbbbb…"]],
    ["far wider keeps what is short", ["aaaaaaaaaa", "bbbbbb"], 10, ["aaaaa…", "bbbbbb"]],
    ["of pictures is counted by characters", ["😀😀😀😀😀😀😀😀", "b"], 10, ["😀😀😀😀😀😀…", "b"]],
  ] as const)("that is %s", (_, row, width, cut) => {
    expect(fitRows([row], { width, fixed: [false, false] })).toEqual([cut]);
  });

  it("is as wide as it must be where nothing may be cut", () => {
    expect(fitRows([["a".repeat(50), "b".repeat(50)]], { width: 80, fixed: [true, true] })[0]).toEqual([
      "a".repeat(50),
      "b".repeat(50),
    ]);
  });
});

describe("colours", () => {
  const context = (environment: object, isOutputTerminal = true) =>
    paintFor({ environment, isOutputTerminal } as Parameters<typeof paintFor>[0]);
  const heading = ["NAME  STATUS", "web   failed  failed-2"];

  it("are there on a terminal, for words that stand alone", () => {
    expect(context({}).table(heading)).toEqual([
      "\u001b[1mNAME  STATUS\u001b[0m",
      "web   \u001b[31mfailed\u001b[0m  failed-2",
    ]);
    expect(context({}).results("  + file  /a\n      +content\n")).toBe(
      "\u001b[32m  + file  /a\u001b[0m\n      +content\n",
    );
  });

  it.each([
    ["NO_COLOR is set", { NO_COLOR: "1" }, true],
    ["the terminal is dumb", { TERM: "dumb" }, true],
    ["there is no terminal", {}, false],
  ])("are not there where %s", (_, environment, isTerminal) => {
    expect(context(environment, isTerminal).table(heading)).toEqual(heading);
  });
});

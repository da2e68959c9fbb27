/** Text for people: tables, and text of others made harmless. */
import { fitRows, shortIds, toRelativeTime } from "./cells.ts";
import type { TableView } from "./cells.ts";

/** What a column holds, where that matters for how it is shown. */
export interface ColumnKind {
  /** Ids are cut where they stay unique, times are told as how long ago; neither in a wide table. */
  readonly holds?: "id" | "time";
  /** Whether it stands in wide tables only. */
  readonly isWideOnly?: boolean;
  /** Whether its cells are never cut, as those of ids and times never are. */
  readonly isWhole?: boolean;
}

/** One column of a table. */
export type Column<Item> = readonly [
  header: string,
  value: (item: Item) => string | number | undefined,
  kind?: ColumnKind,
];

/** A column of ids. */
export const idColumn: ColumnKind = { holds: "id" };
/** A column of times. */
export const timeColumn: ColumnKind = { holds: "time" };
/** A column that there is room for in wide tables only. */
export const wideColumn: ColumnKind = { isWideOnly: true };

/**
 * Lays items out in columns that line up; only a heading where there are none.
 *
 * @param view - Default: everything in full.
 */
export function toTable<Item>(
  items: readonly Item[],
  columns: readonly Column<Item>[],
  view: TableView = { isWide: true, now: 0, width: Infinity },
): string {
  const shown = columns.filter(([, , kind]) => view.isWide || kind?.isWideOnly !== true);
  const cells = shown.map((column) => cellsOf(items, column, view));
  const rows = [
    shown.map(([header]) => header),
    ...items.map((_, row) => cells.map((column) => column[row] ?? "-")),
  ];
  const fixed = shown.map(([, , kind]) => kind?.holds !== undefined || kind?.isWhole === true);
  const lines = alignRows(view.isWide ? rows : fitRows(rows, { width: view.width, fixed }));
  // Its cells are safe, and colours are to reach the terminal.
  return endLines(view.paint ? view.paint.table(lines) : lines);
}

function cellsOf<Item>(
  items: readonly Item[],
  [, value, kind]: Column<Item>,
  { isWide, now }: TableView,
): string[] {
  const texts = items.map((item) => toLine(String(value(item) ?? "-")));
  if (isWide || kind?.holds === undefined) return texts;
  return kind.holds === "id" ? shortIds(texts) : texts.map((text) => toRelativeTime(text, now));
}

/** Lays facts out, one a line: a name and its value. */
export function toFacts(facts: readonly (readonly [name: string, value: unknown])[]): string {
  const known = facts.filter(([, value]) => value !== undefined && value !== null);
  return toLines(alignRows(known.map(([name, value]) => [toLine(name), toLine(String(value))])));
}

/**
 * Pads every cell but the last of a row to the width of its column.
 *
 * @param least - Least widths of the columns: rows that are told one after the other line up by them.
 */
export function alignRows(rows: readonly (readonly string[])[], least: readonly number[] = []): string[] {
  const widths: number[] = [...least];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row.map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0))).join("  "),
  );
}

/** Puts lines together, each with its end, and as {@link toSafeText} has them: whatever stands in one of them comes from a server. */
export function toLines(lines: readonly string[]): string {
  return endLines(lines.map(toSafeText));
}

/** The same of lines that are as they must be: painted, or checked by their bytes. */
export function endLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/**
 * Shows text that comes from a machine or another person: control characters would move the cursor, colour the screen
 * or type into the terminal, so they are written out. Line ends and tabs stay.
 */
export function toSafeText(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** The same for what has to stay on one line. */
export function toLine(text: string): string {
  return toSafeText(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** A word as a shell takes it. */
export function quote(word: string): string {
  return /^[\w./:-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

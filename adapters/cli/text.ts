/** Text for people: tables, and text of others made harmless. */

/** One column of a table. */
export type Column<Item> = readonly [header: string, value: (item: Item) => string | number | undefined];

/** Lays items out in columns that line up; only a heading where there are none. */
export function toTable<Item>(items: readonly Item[], columns: readonly Column<Item>[]): string {
  const rows = [
    columns.map(([header]) => header),
    ...items.map((item) => columns.map(([, value]) => toLine(String(value(item) ?? "-")))),
  ];
  return toLines(alignRows(rows));
}

/** Lays facts out, one a line: a name and its value. */
export function toFacts(facts: readonly (readonly [name: string, value: unknown])[]): string {
  const known = facts.filter(([, value]) => value !== undefined && value !== null);
  return toLines(alignRows(known.map(([name, value]) => [name, toLine(String(value))])));
}

/** Pads every cell but the last of a row to the width of its column. */
export function alignRows(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row.map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0))).join("  "),
  );
}

/** Puts lines together, each with its end. */
export function toLines(lines: readonly string[]): string {
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

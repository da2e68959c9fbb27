/** What a cell of a table shows of an id or a time, and how a table is made to fit. */

import type { Paint } from "./paint.ts";

/** How a table is shown. */
export interface TableView {
  /** Everything in full: whole ids, exact times, no column left out, as wide as it comes. */
  readonly isWide: boolean;
  /** Milliseconds since 1970: what "2 min ago" is counted from. */
  readonly now: number;
  /** Columns of the screen that a table may take. */
  readonly width: number;
  /** Colours of a heading and of words that tell good from bad. Default none. */
  readonly paint?: Paint;
}

/** Lengths at which a UUID is cut: to its millisecond, and behind the counter that makes it unique on one server. */
const uuidLengths = [13, 18, 36];
/** Lengths at which 32 hex digits are cut. */
const hashLengths = [8, 12, 16, 32];

/**
 * The same ids cut to one length at which no two of them are alike. Commands take what begins only one id.
 *
 * @param ids - Anything else than a UUID or 32 hex digits stays as it is.
 */
export function shortIds(ids: readonly string[]): string[] {
  const whole = new Set(ids).size;
  const cutAt = (steps: number): string[] =>
    ids.map((id) =>
      isUuid(id) ? id.slice(0, uuidLengths[steps]) : isHash(id) ? id.slice(0, hashLengths[steps]) : id,
    );
  const steps = [0, 1, 2].find((step) => new Set(cutAt(step)).size === whole);
  return steps === undefined ? [...ids] : cutAt(steps);
}

/** A time as people say it: "12 s ago", "2 min ago", "in 3 h"; the date where it is longer than 30 days. No time stays as it is. */
export function toRelativeTime(text: string, now: number): string {
  const at = Date.parse(text);
  if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(at)) return text;
  const seconds = Math.round(Math.abs(now - at) / 1_000);
  if (seconds > 30 * 86_400) return text.slice(0, 10);
  if (seconds < 1) return "now";
  const [unit, length] = units.find(([, least]) => seconds >= least) ?? ["s", 1];
  const count = `${Math.floor(seconds / length)} ${unit}`;
  return at > now ? `in ${count}` : `${count} ago`;
}

const units: readonly (readonly [unit: string, seconds: number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];

/** Between two columns. */
const gap = 2;
/** No column is cut below this. */
const leastWidth = 6;

/**
 * Cuts what is longest until a table fits, and says so with an ellipsis.
 *
 * @param fixed - Columns that are never cut, such as ids: half of one is none.
 */
export function fitRows(
  rows: readonly (readonly string[])[],
  { width, fixed }: { width: number; fixed: readonly boolean[] },
): string[][] {
  const widths = fixed.map((_, at) => rows.reduce((most, row) => Math.max(most, lengthOf(row[at])), 0));
  let over = widths.reduce((sum, each) => sum + each, gap * (widths.length - 1)) - width;
  while (over > 0) {
    const longest = widths.reduce(
      (best, each, at) => (!fixed[at] && each > leastWidth && each > (widths[best] ?? 0) ? at : best),
      -1,
    );
    if (longest < 0) break;
    widths[longest] = (widths[longest] ?? 0) - 1;
    over -= 1;
  }
  return rows.map((row) => row.map((cell, at) => cut(cell, widths[at] ?? 0)));
}

function lengthOf(cell: string | undefined): number {
  return cell === undefined ? 0 : [...cell].length;
}

function cut(cell: string, width: number): string {
  return lengthOf(cell) <= width ? cell : `${[...cell].slice(0, width - 1).join("")}…`;
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

function isHash(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

/** The lines of a text with their line breaks, so that what is not edited stays byte for byte. */

/** One line, and how it ends: "\n", "\r\n", or "" where a last line has no line break. */
export interface TextLine {
  text: string;
  end: string;
}

/** Takes a text apart; null = no file, which has no lines. */
export function toLines(text: string | null): TextLine[] {
  if (text === null || text === "") return [];
  const parts = text.split("\n");
  const last = parts.pop() ?? "";
  const lines = parts.map((part) =>
    part.endsWith("\r") ? { text: part.slice(0, -1), end: "\r\n" } : { text: part, end: "\n" },
  );
  return last === "" ? lines : [...lines, { text: last, end: "" }];
}

/** Puts the lines together again. */
export function toText(lines: readonly TextLine[]): string {
  return lines.map(({ text, end }) => text + end).join("");
}

/** What a new line ends with: what most of the others do. */
export function lineBreakOf(lines: readonly TextLine[]): string {
  const dos = lines.filter(({ end }) => end === "\r\n").length;
  return dos * 2 > lines.filter(({ end }) => end !== "").length ? "\r\n" : "\n";
}

/** Whether the last line has no line break. */
export function isUnended(lines: readonly TextLine[]): boolean {
  return lines.at(-1)?.end === "";
}

/** The lines with others among them. A last line without a line break gets one where something follows it. */
export function insertLines(
  lines: readonly TextLine[],
  at: number,
  coming: readonly (string | TextLine)[],
): TextLine[] {
  const lineBreak = lineBreakOf(lines);
  const added = coming.map((line) => (typeof line === "string" ? { text: line, end: lineBreak } : line));
  const all = lines.toSpliced(at, 0, ...added);
  return all.map((line, index) =>
    line.end === "" && index < all.length - 1 ? { ...line, end: lineBreak } : line,
  );
}

/** The lines without some. With `unended`, what is the last line then, and was not before, has no line break. */
export function withoutLines(
  lines: readonly TextLine[],
  leaves: (line: TextLine, index: number) => boolean,
  { unended = false }: { unended?: boolean | undefined } = {},
): TextLine[] {
  const kept = lines.filter((line, index) => !leaves(line, index));
  const last = kept.at(-1);
  if (!unended || !last || last === lines.at(-1)) return kept;
  return [...kept.slice(0, -1), { ...last, end: "" }];
}

/** The lines with one in the place of the first that is ours, and no other of ours; at the end where none stands. */
export function putLine(
  lines: readonly TextLine[],
  isOwn: (text: string) => boolean,
  wanted: string,
): TextLine[] {
  const first = lines.findIndex(({ text }) => isOwn(text));
  if (first === -1) return insertLines(lines, lines.length, [wanted]);
  return lines.flatMap((line, index) => {
    if (index === first) return [{ ...line, text: wanted }];
    return isOwn(line.text) ? [] : [line];
  });
}

/** Where two marks stand as whole lines; null where they are not one pair, undefined where there are none. */
export function pairOf(
  { begin, end }: { begin: string; end: string },
  lines: readonly TextLine[],
): [first: number, last: number] | null | undefined {
  const placesOf = (mark: string): number[] => lines.flatMap(({ text }, at) => (text === mark ? [at] : []));
  const [[first, ...others], [last, ...more]] = [placesOf(begin), placesOf(end)];
  if (first === undefined && last === undefined) return undefined;
  const isPair = first !== undefined && last !== undefined && first < last;
  return isPair && others.length + more.length === 0 ? [first, last] : null;
}

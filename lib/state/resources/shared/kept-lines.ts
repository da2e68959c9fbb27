/**
 * Lines that stood in a file before us, and where: each is known by the lines around it, so that it finds its place again also
 * where others have edited the file meanwhile.
 */
import { z } from "zod";
import type { Host } from "../../../host/host.ts";
import type { Json, JsonObject } from "../../../json.ts";
import { insertLines, lineBreakOf, type TextLine, withoutLines } from "./text-lines.ts";

/** So many lines on either side tell where a place is. */
const anchorLength = 3;
/** So many ends fit where an older agent had room for one. */
const maxEnds = 3;
const top = "top";
const bottom = "bottom";

const anchorSchema = z.array(z.string().max(64)).max(anchorLength);

/** A place between the lines that are not ours. */
export const placeSchema = z.strictObject({
  /** Lines before it. */
  at: z.int().min(0),
  /** Digests of the lines before it, the nearest first; of what others wrote nothing is kept in clear. */
  above: anchorSchema,
  below: anchorSchema,
});

export type LinePlace = z.infer<typeof placeSchema>;

/** A line as it stood. */
export const keptLineSchema = z.strictObject({
  text: z.string(),
  end: z.enum(["\n", "\r\n", ""]),
  /** What most of the other lines ended with, where that is something else. */
  amid: z.enum(["\n", "\r\n"]).optional(),
  place: placeSchema,
});

export type KeptLine = z.infer<typeof keptLineSchema>;

/** The digest of a last line of others that had no line break, or several with a space between; `true` as an older agent noted that there was one. */
export const unendedSchema = z.union([z.boolean(), z.string().max(64)]);

type Unended = z.infer<typeof unendedSchema> | undefined;

/** A line as it is noted: without a field that says nothing. */
type NotedLine = Omit<KeptLine, "amid"> & { amid?: "\n" | "\r\n" };

/** What places are noted and found with. */
export type Digests = Pick<Host, "sha256">;

/** For what is declared: only what stood before has a place to be found again. */
export const noDigests: Digests = { sha256: () => "" };

/** Notes the lines that are ours to change, or to take away. */
export function keepLines(
  lines: readonly TextLine[],
  isOwn: (text: string) => boolean,
  host: Digests,
): NotedLine[] {
  const others = lines.filter(({ text }) => !isOwn(text));
  const most = lineBreakOf(others);
  const kept: NotedLine[] = [];
  let before = 0;
  for (const { text, end } of lines) {
    if (!isOwn(text)) before += 1;
    else
      kept.push({
        text,
        end: end as KeptLine["end"],
        ...(end !== most && others.length > 0 && { amid: most as "\n" | "\r\n" }),
        place: placeAt(others, before, host),
      });
  }
  return kept;
}

/** Notes that a text ends without a line break, where that end is not ours: ours say themselves how they end. */
export function noteEnd(
  lines: readonly TextLine[],
  isOwn: (text: string) => boolean,
  host: Digests,
): { unended?: string } {
  const last = lines.at(-1);
  return last?.end === "" && !isOwn(last.text) ? { unended: digestOf(last, host) } : {};
}

/** What `prior` noted of the end of its text, also with a line of its own: once that stands again, it is one like the others. */
export function notedEnd({ unended, kept }: JsonObject, host: Digests): string | undefined {
  // `true` is about the part itself.
  if (typeof unended === "string") return unended;
  // What most lines say is not read in full: each run comes by here.
  const last = Array.isArray(kept) ? kept.find((line) => isObject(line) && line["end"] === "") : undefined;
  const line = last === undefined ? undefined : keptLineSchema.safeParse(last).data;
  return line && digestOf(line, host);
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The ends that two noted: each saw the text at another time. */
export function bothEnds(one: string, other: string): string {
  const ends = new Set([...one.split(" "), ...other.split(" ")]);
  return [...ends].slice(0, maxEnds).join(" ");
}

/** The lines of others with an end as it was noted. */
export function withEnd(lines: readonly TextLine[], unended: Unended, host: Digests): readonly TextLine[] {
  const last = lines.at(-1);
  if (!last || typeof unended !== "string" || !unended.split(" ").includes(digestOf(last, host)))
    return lines;
  return [...lines.slice(0, -1), { ...last, end: "" }];
}

/** Describes a place by what is around it. */
export function placeAt(others: readonly TextLine[], at: number, host: Digests): LinePlace {
  const digest = digestsOf(others, host);
  const anchor = (step: 1 | -1, from: number): string[] => {
    const found: string[] = [];
    for (let index = from; found.length < anchorLength; index += step) {
      const value = digest(index);
      found.push(value);
      if (value === top || value === bottom) break;
    }
    return found;
  };
  return { at, above: anchor(-1, at - 1), below: anchor(1, at) };
}

/** Where something comes back: where it was, and where that can't be told, where something of ours stands. */
export function placeBeside(
  place: LinePlace,
  { others, present }: { others: readonly TextLine[]; present: number | undefined },
  host: Digests,
): number {
  const { index, isSure } = searchPlace(place, others, host);
  return isSure ? index : (present ?? index);
}

/**
 * Finds a place again: where most of what was around it is, else as many lines from the top as it was. `isSure` = all that was
 * around the place is around it again.
 */
function searchPlace(
  { at, above, below }: LinePlace,
  others: readonly TextLine[],
  host: Digests,
): { index: number; isSure: boolean } {
  const digest = digestsOf(others, host);
  let best = { index: Math.min(at, others.length), score: 0 };
  for (let index = 0; index <= others.length; index += 1) {
    const score =
      scoreOf(above, (step) => digest(index - 1 - step)) + scoreOf(below, (step) => digest(index + step));
    const isNearer = Math.abs(index - at) < Math.abs(best.index - at);
    if (score > best.score || (score > 0 && score === best.score && isNearer)) best = { index, score };
  }
  const { index } = best;
  const isSure =
    above.every((wanted, step) => digest(index - 1 - step) === wanted) &&
    below.every((wanted, step) => digest(index + step) === wanted);
  return { index, isSure };
}

/** The nearest lines say most, an edge of the file least: everything that is added at an end comes between. */
function scoreOf(anchor: readonly string[], at: (step: number) => string): number {
  return anchor.reduce((score, wanted, step) => {
    if (at(step) !== wanted) return score;
    const weight = wanted === top || wanted === bottom ? 1 : 4;
    return score + weight * (anchorLength - step);
  }, 0);
}

function digestsOf(lines: readonly TextLine[], host: Digests): (index: number) => string {
  const known = new Map<number, string>();
  return (index) => {
    if (index < 0) return top;
    const line = lines[index];
    if (!line) return bottom;
    const digest = known.get(index) ?? digestOf(line, host);
    known.set(index, digest);
    return digest;
  };
}

function digestOf({ text }: TextLine, host: Digests): string {
  return host.sha256(Buffer.from(text)).slice(0, 16);
}

/** What is to be brought back. */
export interface LineRestoration {
  /** Which lines are in the place of what stood before. */
  isOwn(text: string): boolean;
  kept: readonly KeptLine[];
  /** The text had no line break at its end. */
  unended?: Unended;
}

/** Brings back what stood in the place of our lines: where it was, and where that can't be told, as long as one of ours stands, there. */
export function restoreLines(
  lines: readonly TextLine[],
  { isOwn, kept, unended }: LineRestoration,
  host: Digests,
): TextLine[] {
  const own = lines.filter(({ text }) => isOwn(text));
  const left = withoutLines(lines, ({ text }) => isOwn(text), { unended: unended === true });
  const others = withEnd(left, unended, host);
  const places: number[] = [];
  let before = 0;
  for (const { text } of lines) {
    if (isOwn(text)) places.push(before);
    else before += 1;
  }
  const coming = kept.map((line, index) => {
    const at = placeBeside(line.place, { others, present: places[index] }, host);
    return { at, line: { text: line.text, end: endOf(line, own[index], others) } };
  });
  // From the last on, so that no place moves.
  const restored = coming
    .toReversed()
    .toSorted((a, b) => b.at - a.at)
    .reduce((standing, { at, line }) => insertLines(standing, at, [line]), [...others]);
  // The last line may be one that comes back: whoever noted the end may have found it as its own.
  return [...withEnd(restored, unended, host)];
}

/** A line ends as it did, unless somebody gave the file other line breaks meanwhile. */
function endOf(
  { end, amid = end === "" ? undefined : end }: KeptLine,
  present: TextLine | undefined,
  others: readonly TextLine[],
): string {
  const most = lineBreakOf(others);
  if (others.length === 0 || amid === undefined || amid === most) return end;
  return present && present.end !== "" ? present.end : most;
}

/**
 * A block of lines in a text file, between two marks. Owns what is between the marks and the marks, never another line.
 *
 * A file may hold many blocks, each with a name of its own. A block stays where it stands; `insert_after` and
 * `insert_before` say where a new one goes, by the patterns of a `line`.
 *
 * @example
 * ```yaml
 * - type: block
 *   path: /etc/ssh/sshd_config
 *   content: |
 *     Match User deploy
 *       PasswordAuthentication no
 * ```
 */
import { z } from "zod";
import { OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { type JsonObject, toJsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { patternCost, patternsOf, placeFor } from "./line/pattern.ts";
import { describeChange } from "./shared/describe.ts";
import { hardLinksSchema, noteLinks, withLinks } from "./shared/extras.ts";
import {
  type Digests,
  type LinePlace,
  noDigests,
  placeAt,
  placeBeside,
  placeSchema,
  withEnd,
  noteEnd,
  unendedSchema,
} from "./shared/kept-lines.ts";
import { ensureSchema, pathSchema } from "./shared/properties.ts";
import { joinLines, readText, splitLines } from "./shared/text-file.ts";
import {
  insertLines,
  isUnended,
  lineBreakOf,
  pairOf,
  type TextLine,
  toLines,
  toText,
  withoutLines,
} from "./shared/text-lines.ts";
import { applyPart, emptyPartChanges, partAction, partChanges } from "./shared/text-part.ts";

// eslint-disable-next-line no-control-regex -- a line break would be a second line, NUL makes it no text
const oneLine = /^[^\n\r\u0000]+$/;
const patternSchema = z.string().min(1).max(8192).regex(oneLine, "must be one line");

export const blockSchema = z
  .strictObject({
    path: pathSchema,
    /** Names the block within its file. */
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/)
      .default("block"),
    ensure: ensureSchema.default("present"),
    /** The lines of the block. */
    content: z
      .string()
      .min(1)
      .max(1_048_576)
      // eslint-disable-next-line no-control-regex -- NUL makes it no text
      .regex(/^[^\u0000]*$/)
      .optional(),
    /** The line before and after the block; {mark} becomes BEGIN and END and the name. */
    marker: z
      .string()
      .max(200)
      .regex(oneLine, "must be one line")
      .regex(/\{mark\}/, "must hold {mark}")
      .default("# {mark}"),
    /** A new block goes after the last line that matches; at the end where none does. */
    insert_after: patternSchema.optional(),
    /** A new block goes before the first line that matches; "*" is the first line. */
    insert_before: patternSchema.optional(),
    /** Makes the file where there is none, with mode "0644". */
    create: z.boolean().default(false),
    /** "keep" writes a file of several names (hard links) in its place, for all of them; "break" only under this path. */
    hard_links: hardLinksSchema.optional(),
  })
  .refine((spec) => spec.ensure === "absent" || spec.content !== undefined, {
    path: ["content"],
    message: "is required",
  })
  .refine((spec) => spec.insert_after === undefined || spec.insert_before === undefined, {
    path: ["insert_before"],
    message: "can't be given beside insert_after",
  })
  .refine((spec) => !Object.values(marks(spec)).some((mark) => contentLines(spec).includes(mark)), {
    path: ["content"],
    message: "must not hold the marks of its block",
  });

const blockPriorSchema = blockSchema.safeExtend({
  /** What stood between the marks, however much. */
  content: z.string().optional(),
  /** The file was made for the block and goes when nothing is left in it. */
  remove_empty: z.boolean().optional(),
  /** Where it stood. */
  place: placeSchema.optional(),
  /** What stood between the marks. */
  kept: z.string().optional(),
  /** The block as it stood, where its lines end otherwise than most of the others, `amid`. */
  raw: z.strictObject({ text: z.string(), amid: z.string() }).optional(),
  /** The marks of later versions. */
  markers: z.array(z.string()).max(1000).optional(),
  /** The file had no line break at its end, or the block none at its own. */
  unended: unendedSchema.optional(),
});

/** Properties of a `block`, and those of a captured one. */
export type BlockSpec = z.infer<typeof blockPriorSchema>;

export const blockResourceType = defineResourceType<BlockSpec>({
  type: "block",
  summary: "A marked block of lines in a text file.",
  schema: blockSchema,
  identityBeginsWithPath: true,
  identity: (spec) => `${spec.path}: ${spec.name}`,
  edits: (spec) => [
    {
      of: spec.path,
      edit: (text) => (text === null && spec.ensure === "absent" ? null : edit(spec, text, noDigests)),
      cost: (text) => 4 * (text.length + (spec.content ?? "").length) + patternCost(patternsOf(spec), text),
    },
  ],
  check,
  apply: (spec, _changes, host, signal) =>
    applyPart(spec, (text) => edit(spec, text, host), { host, signal }),
  capture,
  describe: describeChange,
  action: (changes) => partAction("content", changes),
  removing: { priorSchema: blockPriorSchema, extendPrior, asDeclared: withLinks, partOf: ({ path }) => path },
});

function check(spec: BlockSpec, host: Host): Change[] {
  const text = readText(spec.path, host);
  // A file that somebody took away has no place for what stood in it.
  if (text === null && (spec.ensure === "absent" || spec.kept !== undefined)) return [];
  const edited = edit(spec, text, host);
  if (edited === text) return emptyPartChanges(spec, text);
  const before = find(spec, toLines(text))?.content ?? null;
  const after = spec.ensure === "absent" ? null : joinLines(contentLines(spec));
  return partChanges(spec, { property: "content", before, after }, { text, edited, host });
}

/** The text as it is to be. */
function edit(spec: BlockSpec, text: string | null, host: Digests): string {
  const lines = withoutLater(spec, toLines(text));
  const found = find(spec, lines);
  if (spec.ensure === "absent")
    return toText(withEnd(found ? without(found, lines, spec) : lines, spec.unended, host));
  if (spec.place) return toText(restoreBlock(spec, { lines, found, place: spec.place }, host));
  const wanted = blockLines(spec);
  if (!found) return toText(insertLines(lines, placeFor(spec, lines), wanted));
  const standing = lines.slice(found.first, found.first + found.count).map((line) => line.text);
  return toText(standing.join("\n") === wanted.join("\n") ? lines : replaceBlock(lines, found, wanted));
}

/** The lines without the blocks that later versions wrote between other marks. */
function withoutLater(spec: BlockSpec, lines: readonly TextLine[]): readonly TextLine[] {
  return (spec.markers ?? []).reduce((left, marker) => {
    const found = find({ ...spec, marker }, left);
    return found ? without(found, left, spec) : left;
  }, lines);
}

function withoutFound({ first, count }: Found, lines: readonly TextLine[]): TextLine[] {
  return lines.toSpliced(first, count);
}

interface Found {
  first: number;
  count: number;
  content: string;
}

function without({ first, count }: Found, lines: readonly TextLine[], { unended }: BlockSpec): TextLine[] {
  const leaves = (_line: TextLine, index: number): boolean => index >= first && index < first + count;
  return withoutLines(lines, leaves, { unended: unended === true });
}

/** The last line of the block ends as it did. */
function replaceBlock(
  lines: readonly TextLine[],
  { first, count }: Found,
  wanted: readonly string[],
): TextLine[] {
  const last = lines[first + count - 1];
  const rest = lines.toSpliced(first, count);
  const inserted = insertLines(rest, first, wanted);
  const at = first + wanted.length - 1;
  return inserted.map((line, index) => (index === at && last ? { ...line, end: last.end } : line));
}

/** Brings back what stood, where and how it stood, in the place of what stands. */
function restoreBlock(
  spec: BlockSpec,
  { lines, found, place }: { lines: readonly TextLine[]; found: Found | null; place: LinePlace },
  host: Digests,
): TextLine[] {
  const { raw, unended } = spec;
  const others = withEnd(found ? withoutFound(found, lines) : lines, unended, host);
  const at = placeBeside(place, { others, present: found?.first }, host);
  const isAsNoted = raw !== undefined && (others.length === 0 || lineBreakOf(others) === raw.amid);
  const restored = insertLines(others, at, isAsNoted ? toLines(raw.text) : blockLines(spec));
  if (unended !== true || at !== others.length) return [...withEnd(restored, unended, host)];
  return restored.map((line, index) => (index === restored.length - 1 ? { ...line, end: "" } : line));
}

/** The block, marks included. */
function blockLines(spec: BlockSpec): string[] {
  const { begin, end } = marks(spec);
  return [begin, ...contentLines(spec), end];
}

/** The lines end as those of the file do. */
function contentLines({
  content = "",
  kept,
}: {
  content?: string | undefined;
  kept?: string | undefined;
}): string[] {
  return splitLines(kept ?? content).map((line) => line.replace(/\r$/, ""));
}

function marks({ marker, name }: { marker: string; name: string }): { begin: string; end: string } {
  const write = (mark: string): string => marker.replaceAll("{mark}", () => `${mark} ${name}`);
  return { begin: write("BEGIN"), end: write("END") };
}

/** Where the block stands, marks included. `HOST_ERROR` where its marks are not one pair. */
function find(spec: BlockSpec, lines: readonly TextLine[]): Found | null {
  const pair = pairOf(marks(spec), lines);
  if (pair === undefined) return null;
  if (pair === null) {
    const message = `The marks of the block "${spec.name}" in ${spec.path} are not one pair.`;
    throw new OrchestratorError("HOST_ERROR", { message, details: { path: spec.path } });
  }
  const [first, last] = pair;
  const inside = lines.slice(first + 1, last).map(({ text }) => text);
  return { first, count: last - first + 1, content: joinLines(inside) };
}

function capture(spec: BlockSpec, host: Host): Prior {
  const text = readText(spec.path, host);
  return { type: "block", spec: captureIn(spec, toLines(text), { host, made: text === null }) };
}

function captureIn(
  spec: BlockSpec,
  lines: readonly TextLine[],
  { host, made }: { host: Host; made: boolean },
): JsonObject {
  const old = find(spec, lines);
  const { path, name, marker } = spec;
  const base = { path, name, marker, ...(spec.hard_links === "keep" && { hard_links: "keep" }) };
  if (!old) {
    const end = noteEnd(lines, () => false, host);
    return { ...base, ensure: "absent", ...(made && { remove_empty: true }), ...end };
  }
  const isLast = old.first + old.count === lines.length;
  const others = withoutFound(old, lines);
  const place = placeAt(others, old.first, host);
  const end = isLast ? isUnended(lines) && { unended: true } : noteEnd(lines, () => false, host);
  const standing = lines.slice(old.first, old.first + old.count);
  const most = lineBreakOf(others);
  const isPlain = standing.every((line) => line.end === most);
  const raw = !isPlain && { raw: { text: toText(standing), amid: most } };
  // Nothing between the marks is no content that a module may declare.
  const kept = { content: old.content === "" ? "\n" : old.content, kept: old.content };
  return { ...base, ensure: "present", ...kept, ...raw, place: toJsonObject(place), ...end };
}

/** A later version may have other marks: whatever it puts between them is in the place of the same. */
function extendPrior(noted: Prior, spec: BlockSpec, host: Host): Prior {
  const { marker } = spec;
  const prior = noted.type === "block" ? noteLinks(noted, spec, host) : noted;
  const { marker: first, markers = [], ensure, ...ends } = prior.spec;
  if (prior.type !== "block" || marker === first || !Array.isArray(markers) || markers.includes(marker))
    return prior;
  const known = [first ?? marker, ...markers].map(String);
  const lines = toLines(readText(spec.path, host));
  // Where ours stands between the marks that are known, what somebody has between the new ones is not ours: it is what stood before.
  if (ensure === "absent" && known.some((each) => pairOf(marks({ ...spec, marker: each }), lines))) {
    const others = withoutLater({ ...spec, markers: known }, lines);
    if (pairOf(marks(spec), others)) {
      const stood = captureIn(spec, others, { host, made: false });
      return { type: "block", spec: { ...ends, ...stood, markers: known } };
    }
  }
  return { ...prior, spec: { ...prior.spec, markers: [...markers, marker] } };
}

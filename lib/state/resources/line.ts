/**
 * One line of a text file. Owns that line, never the others.
 *
 * With `match` it replaces the one line that matches; without a match it is added at the end. More than one different
 * line that matches is a failure, not a guess. A pattern is plain text where `*` is any run of characters and `?` is
 * one, over the whole line; a backslash takes the meaning away.
 *
 * @example
 * ```yaml
 * - { type: line, path: /etc/ssh/sshd_config, line: PermitRootLogin no, match: ["PermitRootLogin *", "#PermitRootLogin *"] }
 * ```
 */
import { z } from "zod";
import { OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { startOf } from "../../internal/canonical-json.ts";
import { toJsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { matchesPattern, patternCost } from "./line/pattern.ts";
import { describeChange } from "./shared/describe.ts";
import { hardLinksSchema, noteLinks, withLinks } from "./shared/extras.ts";
import {
  type Digests,
  keepLines,
  keptLineSchema,
  noDigests,
  restoreLines,
  noteEnd,
  unendedSchema,
} from "./shared/kept-lines.ts";
import { ensureSchema, pathSchema } from "./shared/properties.ts";
import { readText } from "./shared/text-file.ts";
import { insertLines, type TextLine, toLines, toText, withoutLines } from "./shared/text-lines.ts";
import { applyPart, emptyPartChanges, partAction, partChanges } from "./shared/text-part.ts";

const maxPatterns = 20;

const oneLine = z
  .string()
  .min(1)
  .max(8192)
  // eslint-disable-next-line no-control-regex -- a line break would be a second line, NUL makes it no text
  .regex(/^[^\n\r\u0000]+$/, "must be one line");

export const lineSchema = z.strictObject({
  path: pathSchema,
  /** The line, without its line break. */
  line: oneLine,
  /** Pattern, or several, of the line that it replaces. */
  match: z.union([oneLine, z.array(oneLine).min(1).max(maxPatterns)]).optional(),
  /** "absent" takes the line away, and with `match` the one that matches. */
  ensure: ensureSchema.default("present"),
  /** Makes the file where there is none, with mode "0644". */
  create: z.boolean().default(false),
  /** "keep" writes a file of several names (hard links) in its place, for all of them; "break" only under this path. */
  hard_links: hardLinksSchema.optional(),
});

const linePriorSchema = lineSchema.extend({
  /** The first of those that stood, whatever is in it. */
  line: z.string(),
  /** The file was made for the line and goes when nothing is left in it. */
  remove_empty: z.boolean().optional(),
  /** The lines that were written in the place of what stood, by any version of the resource. */
  ours: z.array(oneLine).max(1000).optional(),
  /** The lines that stood. */
  kept: z.array(keptLineSchema).optional(),
  /** The patterns of all versions so far: what fits one since was written in the place of ours, or beside it. */
  sought: z.array(z.string()).max(1000).optional(),
  /** The file had no line break at its end. */
  unended: unendedSchema.optional(),
});

/** Properties of a `line`, and those of a captured one. */
export type LineSpec = z.infer<typeof linePriorSchema>;

export const lineResourceType = defineResourceType<LineSpec>({
  type: "line",
  summary: "One line of a text file.",
  schema: lineSchema,
  identityBeginsWithPath: true,
  identity: (spec) => startOf(`${spec.path}: ${patterns(spec)[0] ?? spec.line}`, 4096),
  identityHoldsValue: (spec) => spec.match === undefined,
  edits: (spec) => [
    {
      of: spec.path,
      isOneLine: true,
      edit: (text) => (text === null && spec.ensure === "absent" ? null : edit(spec, text, noDigests)),
      cost: (text) => text.length + patternCost(patterns(spec), text),
    },
  ],
  check,
  apply: (spec, _changes, host, signal) =>
    applyPart(spec, (text) => edit(spec, text, host), { host, signal }),
  capture,
  describe: describeChange,
  action: (changes) => partAction("line", changes),
  removing: {
    priorSchema: linePriorSchema,
    extendPrior,
    keepsSpec: () => true,
    asDeclared: withLinks,
    partOf: (spec) => spec.path,
  },
});

function check(spec: LineSpec, host: Host): Change[] {
  const text = readText(spec.path, host);
  // A file that somebody took away has no place for what stood in it.
  if (text === null && (spec.ensure === "absent" || spec.kept)) return [];
  const edited = edit(spec, text, host);
  if (edited === text) return emptyPartChanges(spec, text);
  const lines = toLines(text);
  // Versions that wrote different lines left all of them.
  const standing = spec.kept ? [...new Set(ours(spec, lines))] : candidates(spec, lines);
  const before = standing.join("\n") || null;
  const after = spec.ensure === "present" ? spec.line : null;
  return partChanges(spec, { property: "line", before, after }, { text, edited, host });
}

/** The text as it is to be. */
function edit(spec: LineSpec, text: string | null, host: Digests): string {
  const lines = toLines(text);
  if (spec.kept) return toText(restore(spec, lines, host));
  const found = new Set(candidates(spec, lines));
  if (spec.ensure === "absent") return toText(withoutLines(lines, (line) => found.has(line.text)));
  if (found.has(spec.line)) return text ?? "";
  if (found.size === 0) return toText(insertLines(lines, lines.length, [spec.line]));
  return toText(lines.map((line) => (found.has(line.text) ? { ...line, text: spec.line } : line)));
}

/** What stood comes back in the place of what we wrote; where somebody brought it back himself, ours goes. Of equal lines as many as lack. */
function restore(spec: LineSpec, lines: readonly TextLine[], host: Digests): TextLine[] {
  const { kept = [], unended } = spec;
  const own = new Set(ours(spec, lines));
  const count = (of: readonly { text: string }[], wanted: string): number =>
    of.filter(({ text }) => text === wanted).length;
  const gone = kept.filter(({ text }, at) => {
    const standing = count(lines, text);
    return standing === 0 || (own.size > 0 && count(kept.slice(at), text) <= count(kept, text) - standing);
  });
  return restoreLines(lines, { isOwn: (text) => own.has(text), kept: gone, unended }, host);
}

/** The lines that we wrote and that still stand. */
function ours(spec: LineSpec, lines: readonly TextLine[]): string[] {
  const old = new Set(spec.kept?.map(({ text }) => text));
  const own = new Set(spec.ours?.filter((line) => !old.has(line)));
  return lines.filter(({ text }) => own.has(text)).map(({ text }) => text);
}

/** The line and those that match, each once. `HOST_ERROR` where they are not one. */
function candidates(spec: LineSpec, lines: readonly TextLine[]): string[] {
  const all = patterns(spec);
  const found = new Set<string>();
  for (const { text } of lines) {
    if (text === spec.line || all.some((pattern) => matchesPattern(pattern, text))) found.add(text);
  }
  if (found.size <= 1) return [...found];
  throw new OrchestratorError("HOST_ERROR", {
    message: `${found.size} different lines of ${spec.path} match.`,
    details: { path: spec.path, matches: found.size },
  });
}

function patterns(spec: LineSpec): readonly string[] {
  return typeof spec.match === "string" ? [spec.match] : (spec.match ?? []);
}

function capture(spec: LineSpec, host: Host): Prior {
  const text = readText(spec.path, host);
  const lines = toLines(text);
  const own = new Set(candidates(spec, lines));
  const kept = keepLines(lines, (line) => own.has(line), host);
  const { path } = spec;
  const [old] = own;
  return {
    type: "line",
    spec: {
      path,
      ...(spec.hard_links === "keep" && { hard_links: "keep" }),
      line: old ?? spec.line,
      ensure: old === undefined ? "absent" : "present",
      ours: writes(spec),
      kept,
      sought: [...patterns(spec)],
      ...(text === null && { remove_empty: true }),
      ...noteEnd(lines, (line) => own.has(line), host),
    },
  };
}

/** A later version may write another line, which is in the place of the same, or take a line that the first left alone. */
function extendPrior(noted: Prior, spec: LineSpec, host: Host): Prior {
  if (noted.type !== "line") return noted;
  const prior = noteLinks(noted, spec, host);
  const { ours: written, kept = [], ensure, sought = [] } = linePriorSchema.parse(prior.spec);
  if (!written) return prior;
  const known = new Set([...written, ...kept.map(({ text }) => text)]);
  const lines = toLines(readText(spec.path, host));
  const others = lines.filter(({ text }) => !written.includes(text));
  const isLeftAlone = (line: string): boolean =>
    !known.has(line) && !sought.some((pattern) => matchesPattern(pattern, line));
  const taken = new Set(candidates(spec, lines).filter(isLeftAlone));
  const more = taken.size === 0 ? [] : keepLines(others, (line) => taken.has(line), host);
  const added = writes(spec).filter((line) => !written.includes(line));
  const wider = patterns(spec).filter((pattern) => !sought.includes(pattern));
  if (added.length + more.length + wider.length === 0) return prior;
  const first = ensure === "absent" ? more[0]?.text : undefined;
  return {
    ...prior,
    spec: {
      ...prior.spec,
      ...(first !== undefined && { ensure: "present", line: first }),
      ours: [...written, ...added],
      kept: [...kept.map((line) => toJsonObject(line)), ...more],
      sought: [...sought, ...wider],
    },
  };
}

function writes({ ensure, line }: LineSpec): string[] {
  return ensure === "present" ? [line] : [];
}

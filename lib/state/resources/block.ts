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
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { describeChange } from "./shared/describe.ts";
import { matchesPattern } from "./line/pattern.ts";
import { ensureSchema, pathSchema } from "./shared/properties.ts";
import { joinLines, readText, splitLines } from "./shared/text-file.ts";
import { applyPart, partAction, partChanges } from "./shared/text-part.ts";

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
  })
  .refine((spec) => spec.ensure === "absent" || spec.content !== undefined, {
    path: ["content"],
    message: "is required",
  })
  .refine((spec) => spec.insert_after === undefined || spec.insert_before === undefined, {
    path: ["insert_before"],
    message: "can't be given beside insert_after",
  })
  .refine(
    (spec) => !Object.values(marks(spec)).some((mark) => splitLines(spec.content ?? "").includes(mark)),
    {
      path: ["content"],
      message: "must not hold the marks of its block",
    },
  );

const blockPriorSchema = blockSchema.safeExtend({
  /** The file was made for the block and goes when nothing is left in it. */
  remove_empty: z.boolean().optional(),
});

/** Properties of a `block`, and those of a captured one. */
export type BlockSpec = z.infer<typeof blockPriorSchema>;

export const blockResourceType = defineResourceType<BlockSpec>({
  type: "block",
  summary: "A marked block of lines in a text file.",
  schema: blockSchema,
  priorSchema: blockPriorSchema,
  identity: (spec) => `${spec.path}: ${spec.name}`,
  check,
  apply: (spec, _changes, host, signal) => applyPart(spec, (text) => edit(spec, text), { host, signal }),
  capture,
  describe: describeChange,
  action: (changes) => partAction("content", changes),
});

function check(spec: BlockSpec, host: Host): Change[] {
  const text = readText(spec.path, host);
  const edited = edit(spec, text);
  if (edited === (text ?? "")) return [];
  const before = find(spec, splitLines(text))?.content ?? null;
  const after = spec.ensure === "absent" ? null : joinLines(contentLines(spec));
  return partChanges(spec, { property: "content", before, after }, { text, edited });
}

/** The text as it is to be. */
function edit(spec: BlockSpec, text: string | null): string {
  const lines = splitLines(text);
  const found = find(spec, lines);
  if (spec.ensure === "absent") {
    if (!found) return text ?? "";
    lines.splice(found.first, found.count);
    return joinLines(lines);
  }
  const { begin, end } = marks(spec);
  const wanted = [begin, ...contentLines(spec), end];
  if (found && lines.slice(found.first, found.first + found.count).join("\n") === wanted.join("\n")) {
    return text ?? "";
  }
  lines.splice(found?.first ?? placeFor(spec, lines), found?.count ?? 0, ...wanted);
  return joinLines(lines);
}

function contentLines({ content = "" }: BlockSpec): string[] {
  return splitLines(content);
}

function marks({ marker, name }: { marker: string; name: string }): { begin: string; end: string } {
  const write = (mark: string): string => marker.replaceAll("{mark}", () => `${mark} ${name}`);
  return { begin: write("BEGIN"), end: write("END") };
}

/** Where the block stands, marks included. `HOST_ERROR` where its marks are not one pair. */
function find(
  spec: BlockSpec,
  lines: readonly string[],
): { first: number; count: number; content: string } | null {
  const { begin, end } = marks(spec);
  const first = lines.indexOf(begin);
  const last = lines.indexOf(end);
  if (first === -1 && last === -1) return null;
  const isPair = first !== -1 && first < last;
  if (!isPair || lines.lastIndexOf(begin) !== first || lines.lastIndexOf(end) !== last) {
    throw new OrchestratorError("HOST_ERROR", {
      message: `The marks of the block "${spec.name}" in ${spec.path} are not one pair.`,
      details: { path: spec.path },
    });
  }
  return { first, count: last - first + 1, content: joinLines(lines.slice(first + 1, last)) };
}

function placeFor({ insert_after, insert_before }: BlockSpec, lines: readonly string[]): number {
  if (insert_after !== undefined) {
    const at = lines.findLastIndex((line) => matchesPattern(insert_after, line));
    if (at !== -1) return at + 1;
  }
  const at =
    insert_before === undefined ? -1 : lines.findIndex((line) => matchesPattern(insert_before, line));
  return at === -1 ? lines.length : at;
}

function capture(spec: BlockSpec, host: Host): Prior {
  const text = readText(spec.path, host);
  const old = find(spec, splitLines(text));
  const { path, name, marker } = spec;
  const base = { path, name, marker };
  if (old && old.content !== "") {
    return { type: "block", spec: { ...base, ensure: "present", content: old.content } };
  }
  return {
    type: "block",
    spec: { ...base, ensure: "absent", ...(text === null && { remove_empty: true }) },
  };
}

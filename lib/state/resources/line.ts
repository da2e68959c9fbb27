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
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { describeChange } from "./shared/describe.ts";
import { escapePattern, matchesPattern } from "./line/pattern.ts";
import { ensureSchema, pathSchema } from "./shared/properties.ts";
import { readText } from "./shared/text-file.ts";
import { applyPart, partAction, partChanges } from "./shared/text-part.ts";

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
  match: z.union([oneLine, z.array(oneLine).min(1).max(20)]).optional(),
  /** "absent" takes the line away, and with `match` the one that matches. */
  ensure: ensureSchema.default("present"),
  /** Makes the file where there is none, with mode "0644". */
  create: z.boolean().default(false),
});

const linePriorSchema = lineSchema.extend({
  /** The file was made for the line and goes when nothing is left in it. */
  remove_empty: z.boolean().optional(),
});

/** Properties of a `line`, and those of a captured one. */
export type LineSpec = z.infer<typeof linePriorSchema>;

export const lineResourceType = defineResourceType<LineSpec>({
  type: "line",
  summary: "One line of a text file.",
  schema: lineSchema,
  priorSchema: linePriorSchema,
  identity: (spec) => `${spec.path}: ${patterns(spec)[0] ?? spec.line}`.slice(0, 4096),
  identityHoldsValue: (spec) => spec.match === undefined,
  check,
  apply: (spec, _changes, host, signal) => applyPart(spec, (text) => edit(spec, text), { host, signal }),
  capture,
  describe: describeChange,
  action: (changes) => partAction("line", changes),
});

function check(spec: LineSpec, host: Host): Change[] {
  const text = readText(spec.path, host);
  const edited = edit(spec, text);
  if (edited === (text ?? "") && (text !== null || spec.ensure === "absent")) return [];
  const before = candidates(spec, text)[0] ?? null;
  const after = spec.ensure === "present" ? spec.line : null;
  return partChanges(spec, { property: "line", before, after }, { text, edited });
}

/** The text as it is to be. */
function edit(spec: LineSpec, text: string | null): string {
  const found = new Set(candidates(spec, text));
  const lines = (text ?? "").split("\n");
  if (spec.ensure === "absent") return lines.filter((line) => !found.has(line)).join("\n");
  if (found.has(spec.line)) return text ?? "";
  if (found.size > 0) return lines.map((line) => (found.has(line) ? spec.line : line)).join("\n");
  const ended = text === null || text === "" || text.endsWith("\n");
  return `${text ?? ""}${ended ? "" : "\n"}${spec.line}\n`;
}

/** The line and those that match, each once. `HOST_ERROR` where they are not one. */
function candidates(spec: LineSpec, text: string | null): string[] {
  const all = patterns(spec);
  const found = new Set<string>();
  for (const line of (text ?? "").split("\n")) {
    if (line === spec.line || all.some((pattern) => matchesPattern(pattern, line))) found.add(line);
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
  const old = candidates(spec, text)[0];
  const { path } = spec;
  if (old === undefined) {
    return {
      type: "line",
      spec: { path, line: spec.line, ensure: "absent", ...(text === null && { remove_empty: true }) },
    };
  }
  const match = spec.ensure === "present" ? { match: escapePattern(spec.line) } : {};
  return { type: "line", spec: { path, line: old, ensure: "present", ...match } };
}

/**
 * A setting of the kernel: its value now, and the line of a file that sets it at every start.
 *
 * Linux. `ensure: absent` takes the line away and leaves the value of the running kernel, which knows no default to go back
 * to. On removal the line and the value that stood before come back.
 *
 * @example
 * ```yaml
 * - { type: sysctl, key: net.ipv4.ip_forward, value: "1" }
 * ```
 */
import { z } from "zod";
import { OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { toJsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import type { TextEdit } from "../text-edits.ts";
import { act } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import {
  type Digests,
  keepLines,
  keptLineSchema,
  noDigests,
  restoreLines,
  noteEnd,
  unendedSchema,
} from "./shared/kept-lines.ts";
import { missing } from "./shared/obstacle.ts";
import { refuseConfined, requireLinux } from "./shared/platform.ts";
import { ensureSchema, pathSchema } from "./shared/properties.ts";
import { fileChanges, readText, writeText } from "./shared/text-file.ts";
import { putLine, type TextLine, toLines, toText } from "./shared/text-lines.ts";

/** Of a value that is declared, or kept to come back to. */
const maxValueLength = 4096;

const properties = z.strictObject({
  /** As sysctl(8) takes it: "net.ipv4.ip_forward"; with slashes where a part holds a dot: "net/ipv4/conf/eth0.1/forwarding". */
  key: z
    .string()
    .max(200)
    .regex(/^[a-z0-9_]+(?:\.[A-Za-z0-9_:@/-]+)+$|^[a-z0-9_]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9_.:@-]+)+$/)
    .refine(
      (key) => !livePath(key).slice(1).split("/").some(isNoName),
      "must not have an empty part, . or ..",
    ),
  ensure: ensureSchema.default("present"),
  /** The value; several numbers are parted by blanks. */
  value: z
    .union([z.string().max(4096), z.number()])
    .transform(String)
    .pipe(z.string().regex(/^\S[^\n\r]*$/, "must be one line"))
    .optional(),
  /** The file that sets it at every start. */
  path: pathSchema.default("/etc/sysctl.d/90-fleetwright.conf"),
});

export const sysctlSchema = properties.refine(
  (spec) => spec.ensure === "absent" || spec.value !== undefined,
  { path: ["value"], message: "is required" },
);

/** Of files that versions of a setting named, beside the first; what a later one finds in another is not noted. */
const mostFiles = 100;

/** A file as it stood. */
const keptFileSchema = z.strictObject({
  path: pathSchema,
  /** The line as it stood. */
  line: z.string().optional(),
  /** The lines that set it, and their places. */
  kept: z.array(keptLineSchema).optional(),
  /** The file had no line break at its end. */
  unended: unendedSchema.optional(),
  /** The file was made for the setting and goes when nothing is left in it. */
  remove_empty: z.boolean().optional(),
});

const sysctlPriorSchema = properties.extend({
  ...keptFileSchema.shape,
  /** The value of the running kernel, where another or none stands in the file. */
  live: z.string().max(4096).optional(),
  /** Other files, as they stood before later versions named them. */
  elsewhere: z.array(keptFileSchema).max(mostFiles).optional(),
  /** Files that other resources say as a whole by now. */
  taken: z.array(pathSchema).optional(),
});

/** Properties of a `sysctl`, and those of a captured one. */
export type SysctlSpec = z.infer<typeof sysctlPriorSchema>;

export const sysctlResourceType = defineResourceType<SysctlSpec>({
  type: "sysctl",
  summary: "A setting of the kernel, now and at every start.",
  schema: sysctlSchema,
  identity: (spec) => livePath(spec.key).slice("/proc/sys/".length),
  edits: (spec) => [
    {
      of: spec.path,
      edit(text) {
        const lines = toLines(text);
        return isSet(spec, ownLines(spec, lines)) ? text : toText(edit(spec, lines, noDigests));
      },
    },
  ],
  check,
  apply,
  capture,
  describe: describeChange,
  removing: { priorSchema: sysctlPriorSchema, extendPrior, withEdits, partOf: (spec) => spec.path },
});

function check(spec: SysctlSpec, host: Host): Change[] {
  refuseConfined(host, "sysctl");
  requireLinux(host, "sysctl");
  return [...compare(spec, host), ...elsewhere(spec).flatMap((other) => compareFile(other, host))];
}

/** The other files that versions of the setting named and that are nobody else's by now, as they stood. */
function elsewhere({ key, elsewhere: files = [], taken = [] }: SysctlSpec): SysctlSpec[] {
  const own = files.filter(({ path }) => !taken.includes(path));
  return own.map((file) => ({ key, ensure: file.kept ? "present" : "absent", ...file }));
}

/** Leaves alone each file that another resource says as a whole; with one that says a part, what stood before would be forgotten. */
function withEdits(spec: SysctlSpec, editsOf: (path: string) => readonly TextEdit[]): SysctlSpec {
  const paths = [spec, ...(spec.elsewhere ?? [])].map(({ path }) => path);
  return { ...spec, taken: paths.filter((path) => editsOf(path).some(({ isWhole }) => isWhole === true)) };
}

function compareFile(spec: SysctlSpec, host: Host): Change[] {
  const text = readText(spec.path, host);
  return text === null ? [] : fileChanges(spec, text, toText(edit(spec, toLines(text), host)));
}

function compare(spec: SysctlSpec, host: Host): Change[] {
  const changes: Change[] = [];
  // What the kernel does not have any more has no value that could come back.
  const isGone = spec.live !== undefined && !isKnown(spec.key, host);
  const wanted = isGone ? undefined : wantedValue(spec);
  const live = wanted === undefined ? null : readLive(spec.key, host);
  if (wanted !== undefined && live !== normalize(wanted)) {
    changes.push({ property: "value", before: live, after: normalize(wanted) });
  }
  if (isTaken(spec)) return changes;
  const text = readText(spec.path, host);
  // A file that somebody took away has no place for what stood in it.
  if (text === null && (spec.kept ?? spec.line) !== undefined) return changes;
  const before = ownLines(spec, toLines(text));
  const after = wantedLines(spec)?.join("\n") ?? null;
  const same = isSet(spec, before);
  const isPrior = spec.kept !== undefined || after === null;
  if (same && !isPrior) return changes;
  if (same) return [...changes, ...fileChanges(spec, text, toText(edit(spec, toLines(text), host)))];
  if (before.length === 0) changes.unshift({ property: "ensure", before: "absent", after: "present" });
  if (after === null) changes.unshift({ property: "ensure", before: "present", after: "absent" });
  changes.push({ property: "line", before: before.join("\n") || null, after });
  return changes;
}

async function apply(
  spec: SysctlSpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const wanted = wantedValue(spec);
  // The kernel judges the value: what it refuses must not be in the file.
  if (wanted !== undefined && changes.some((change) => change.property === "value")) {
    await act({ argv: ["sysctl", "-q", "-w", `${spec.key}=${wanted}`] }, { host, signal });
  }
  if (!changes.some(({ property }) => property === "line" || property === "file")) return;
  for (const each of [...(isTaken(spec) ? [] : [spec]), ...elsewhere(spec)]) {
    signal.throwIfAborted();
    const text = readText(each.path, host);
    // A file that somebody took away has no place for what stood in it.
    if (text === null && each.kept) continue;
    const edited = toText(edit(each, toLines(text), host));
    if (each.remove_empty !== true || edited !== "") {
      if (edited !== (text ?? "")) writeText(each.path, edited, host);
    } else if (text !== null) host.files.removeFile(each.path);
  }
}

const isTaken = ({ path, taken }: SysctlSpec): boolean => taken?.includes(path) === true;

function edit(spec: SysctlSpec, lines: readonly TextLine[], host: Digests): TextLine[] {
  const own = new Set(ownLines(spec, lines));
  const isOwn = (text: string): boolean => own.has(text);
  const [line] = wantedLines(spec) ?? [];
  const { kept, unended } = spec;
  if (kept || line === undefined) return restoreLines(lines, { isOwn, kept: kept ?? [], unended }, host);
  return putLine(lines, isOwn, line);
}

function wantedValue(spec: SysctlSpec): string | undefined {
  return spec.live ?? (spec.ensure === "present" ? spec.value : undefined);
}

function wantedLines(spec: SysctlSpec): string[] | null {
  if (spec.ensure === "absent") return null;
  return spec.kept?.map(({ text }) => text) ?? [spec.line ?? `${spec.key} = ${spec.value}`];
}

/** Whether the lines of the file that are about the key are as declared. */
function isSet(spec: SysctlSpec, own: readonly string[]): boolean {
  return wantedLines(spec) === null ? own.length === 0 : isSame(own, spec);
}

/** Whether the lines of the file say what is declared, however it is written; what comes back comes back to the letter. */
function isSame(lines: readonly string[], spec: SysctlSpec): boolean {
  if (spec.kept) return lines.join("\n") === wantedLines(spec)?.join("\n");
  const [line = ""] = lines;
  if (lines.length !== 1) return false;
  if (spec.line !== undefined) return line === spec.line;
  return normalize(line.slice(line.indexOf("=") + 1)) === normalize(spec.value ?? "");
}

/** The lines of a file that set the key. */
function ownLines({ key }: SysctlSpec, lines: readonly TextLine[]): string[] {
  const own = livePath(key);
  const texts = lines.map(({ text }) => text);
  return texts.filter((line) => {
    const name = /^\s*-?\s*([^\s#;=]+)\s*=/.exec(line)?.[1];
    return name !== undefined && livePath(name) === own;
  });
}

/** What would lead to another folder when the separators are swapped. */
function isNoName(part: string): boolean {
  return part === "" || part === "." || part === "..";
}

/** The first separator says which of the two the key is written with; the other is part of a name. */
function livePath(key: string): string {
  const swap = (text: string): string => text.replace(/[./]/g, (mark) => (mark === "." ? "/" : "."));
  return `/proc/sys/${/[./]/.exec(key)?.[0] === "." ? swap(key) : key}`;
}

function isKnown(key: string, host: Host): boolean {
  return host.files.below("/proc/sys").stat(livePath(key))?.kind === "file";
}

function readLive(key: string, host: Host): string {
  const path = livePath(key);
  const files = host.files.below("/proc/sys");
  if (isKnown(key, host)) {
    const value = normalize(new TextDecoder().decode(files.readFile(path)));
    if (value.length <= maxValueLength) return value;
    throw new OrchestratorError("HOST_ERROR", {
      message: `The value of ${key} is too long.`,
      details: { path },
    });
  }
  throw missing(`This kernel knows no setting ${key}.`, { path });
}

/** The kernel writes tabs between numbers. */
function normalize(value: string): string {
  return value.trim().replace(/\s+/g, " ");
}

function capture(spec: SysctlSpec, host: Host): Prior {
  const { key, path } = spec;
  const text = readText(path, host);
  const lines = toLines(text);
  const own = new Set(ownLines(spec, lines));
  const base = { key, path, ...(spec.ensure === "present" && { live: readLive(key, host) }) };
  if (own.size > 0) {
    const kept = keepLines(lines, (line) => own.has(line), host);
    const end = noteEnd(lines, (line) => own.has(line), host);
    const line = kept[0]?.text ?? "";
    return { type: "sysctl", spec: { ...base, ensure: "present", line, kept, ...end } };
  }
  const made = text === null && { remove_empty: true };
  const end = noteEnd(lines, () => false, host);
  return { type: "sysctl", spec: { ...base, ensure: "absent", ...made, ...end } };
}

/** A later version may be the first that sets the running kernel, or that names another file. */
function extendPrior(prior: Prior, spec: SysctlSpec, host: Host): Prior {
  if (prior.type !== "sysctl") return prior;
  const { key, path, ensure } = spec;
  const known = sysctlPriorSchema.parse(prior.spec);
  const lacksLive = ensure === "present" && known.live === undefined;
  const others = known.elsewhere ?? [];
  const isKnownFile = others.length >= mostFiles || [known, ...others].some((file) => file.path === path);
  if (!lacksLive && isKnownFile) return prior;
  const file = keptFileSchema.strip().parse(capture({ ...spec, ensure: "absent" }, host).spec);
  return {
    ...prior,
    spec: {
      ...prior.spec,
      ...(lacksLive && { live: readLive(key, host) }),
      ...(!isKnownFile && { elsewhere: [...others, file].map((each) => toJsonObject(each)) }),
    },
  };
}

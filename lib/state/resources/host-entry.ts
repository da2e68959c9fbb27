/**
 * A name of a host in /etc/hosts. Owns the line that begins with its address and name, never another.
 *
 * One line for each name and kind of address: an IPv4 and an IPv6 address of one name are two resources. A name that is wanted
 * and also stands as an alias on another line is a failure, because the first line would win.
 *
 * @example
 * ```yaml
 * - { type: host_entry, name: db.internal, ip: 10.0.0.5, aliases: [db] }
 * ```
 */
import { z } from "zod";
import { OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { describeChange } from "./shared/describe.ts";
import {
  type Digests,
  keepLines,
  type KeptLine,
  keptLineSchema,
  noDigests,
  restoreLines,
  noteEnd,
  unendedSchema,
} from "./shared/kept-lines.ts";
import { ensureSchema } from "./shared/properties.ts";
import { fileChanges, readText, writeText } from "./shared/text-file.ts";
import { insertLines, type TextLine, toLines, toText } from "./shared/text-lines.ts";

const hostNameSchema = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*$/);

export const hostEntrySchema = z.strictObject({
  /** The first name of its line. */
  name: hostNameSchema,
  ensure: ensureSchema.default("present"),
  /** IPv4 or IPv6 address. */
  ip: z.union([z.ipv4(), z.ipv6()]),
  /** Other names for the same host, in this order. */
  aliases: z.array(hostNameSchema).max(100).default([]),
});

const hostEntryPriorSchema = hostEntrySchema.extend({
  /** As they stood, which may be nothing to declare: an address with its interface, a name with a dot at its end. */
  ip: z.string(),
  aliases: z.array(z.string()).default([]),
  /** The line as it stood. */
  line: z.string().optional(),
  /** The line and its place. */
  kept: z.array(keptLineSchema).optional(),
  /** The file had no line break at its end. */
  unended: unendedSchema.optional(),
  /** The file was made for the entry and goes when nothing is left in it. */
  remove_empty: z.boolean().optional(),
});

/** Properties of a `host_entry`, and those of a captured one. */
export type HostEntrySpec = z.infer<typeof hostEntryPriorSchema>;

const path = "/etc/hosts";

export const hostEntryResourceType = defineResourceType<HostEntrySpec>({
  type: "host_entry",
  summary: "A name of a host in /etc/hosts.",
  schema: hostEntrySchema,
  identity: ({ name, ip }) => (isIpv6(ip) ? `${name} (IPv6)` : name),
  paths: () => [path],
  edits: (spec) => [
    {
      of: path,
      isOneLine: true,
      edit(text) {
        const lines = toLines(text);
        return compare(spec, lines).length === 0 ? text : toText(edit(spec, lines, noDigests));
      },
    },
  ],
  check,
  apply(spec, _changes, host, signal) {
    const edited = edit(spec, toLines(readText(path, host)), host);
    signal.throwIfAborted();
    if (spec.remove_empty === true && edited.length === 0) host.files.removeFile(path);
    else writeText(path, toText(edited), host);
  },
  capture,
  describe: describeChange,
  removing: { priorSchema: hostEntryPriorSchema, partOf: () => path },
});

function check(spec: HostEntrySpec, host: Host): Change[] {
  const text = readText(path, host);
  // A file that somebody took away has no place for what stood in it.
  if (text === null && spec.line !== undefined) return [];
  const lines = toLines(text);
  const changes = compare(spec, lines);
  if (changes.length > 0) return changes;
  const isPrior = spec.ensure === "absent" || spec.kept !== undefined;
  return isPrior ? fileChanges(spec, text, toText(edit(spec, lines, host))) : [];
}

/** What differs in the line of the entry. */
function compare(spec: HostEntrySpec, lines: readonly TextLine[]): Change[] {
  const line = lines[findLine(spec, lines)]?.text;
  if (spec.ensure === "absent")
    return line === undefined ? [] : [{ property: "ensure", before: "present", after: "absent" }];
  const before = line === undefined ? null : parseLine(line);
  const changes: Change[] = before ? [] : [{ property: "ensure", before: "absent", after: "present" }];
  const ip = before?.ip ?? null;
  if (ip !== spec.ip) changes.push({ property: "ip", before: ip, after: spec.ip });
  const aliases = before?.names.slice(1) ?? [];
  if (aliases.join(" ") !== spec.aliases.join(" ")) {
    changes.push({ property: "aliases", before: aliases, after: spec.aliases });
  }
  if (changes.length === 0 && spec.line !== undefined && line !== spec.line) {
    changes.push({ property: "line", before: line ?? null, after: spec.line });
  }
  return changes;
}

function edit(spec: HostEntrySpec, lines: readonly TextLine[], host: Digests): TextLine[] {
  const at = findLine(spec, lines);
  const own = lines[at];
  if (spec.ensure === "absent" || spec.line !== undefined) {
    const { unended, line } = spec;
    const kept = spec.kept ?? (line === undefined ? [] : [keptAtEnd(line, lines)]);
    return restoreLines(lines, { isOwn: (text) => text === own?.text, kept, unended }, host);
  }
  const wanted = wantedLine(spec, own?.text);
  if (!own) return insertLines(lines, lines.length, [wanted]);
  return lines.map((line) => (line === own ? { ...line, text: wanted } : line));
}

/** For what an older agent kept, which knows no place. */
function keptAtEnd(text: string, lines: readonly TextLine[]): KeptLine {
  return { text, end: "\n", place: { at: lines.length, above: [], below: [] } };
}

/** Where the line of an entry is; -1 = there is none. `HOST_ERROR` where it is not the only one that says the name. */
function findLine(spec: HostEntrySpec, lines: readonly TextLine[]): number {
  const saying = [...lines.keys()].filter((at) => {
    const { ip, names } = parseLine(lines[at]?.text ?? "");
    return isIpv6(ip) === isIpv6(spec.ip) && names.some((name) => isSameName(name, spec.name));
  });
  const own = saying.filter((at) => isSameName(parseLine(lines[at]?.text ?? "").names[0], spec.name));
  // What goes, or comes back as it stood, is one line, whatever others say.
  const isAlone = own.length === saying.length || spec.ensure === "absent" || spec.line !== undefined;
  if (own.length <= 1 && isAlone) return own[0] ?? -1;
  throw new OrchestratorError("HOST_ERROR", {
    message: `${spec.name} stands on ${saying.length} line(s) of ${path}, and not as the first name of one.`,
    details: { path, lines: saying.map((at) => at + 1) },
  });
}

/** Who looks a name up does not mind its capital letters. */
function isSameName(one: string | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}

function parseLine(line: string): { ip: string; names: string[]; comment: string } {
  const hash = line.indexOf("#");
  const text = hash === -1 ? line : line.slice(0, hash);
  const [ip = "", ...names] = text.trim().split(/\s+/);
  return { ip, names, comment: hash === -1 ? "" : ` ${line.slice(hash)}` };
}

/** A comment at the end of a line stays there. */
function wantedLine({ ip, name, aliases, line }: HostEntrySpec, present = ""): string {
  return line ?? `${[ip, name, ...aliases].join(" ")}${parseLine(present).comment}`;
}

function isIpv6(ip: string): boolean {
  return ip.includes(":");
}

function capture({ name, ip, ensure }: HostEntrySpec, host: Host): Prior {
  const text = readText(path, host);
  const lines = toLines(text);
  const own = lines[findLine({ name, ip, aliases: [], ensure }, lines)];
  if (!own) {
    const made = text === null && { remove_empty: true };
    const end = noteEnd(lines, () => false, host);
    return { type: "host_entry", spec: { name, ip, ensure: "absent", ...made, ...end } };
  }
  const line = own.text;
  const before = parseLine(line);
  const kept = keepLines(lines, (other) => other === line, host);
  const end = noteEnd(lines, (other) => other === line, host);
  const spec = { name, ip: before.ip, aliases: before.names.slice(1), ensure: "present", line, kept };
  return { type: "host_entry", spec: { ...spec, ...end } };
}

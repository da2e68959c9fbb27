/**
 * A name of a host in /etc/hosts. Owns the line that begins with its address and name, never another.
 *
 * One line for each name and kind of address: an IPv4 and an IPv6 address of one name are two resources. A name that also
 * stands as an alias on another line is a failure, because the first line would win.
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
import { ensureSchema } from "./shared/properties.ts";
import { joinLines, readText, splitLines, writeText } from "./shared/text-file.ts";

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
  /** The line as it stood. */
  line: z
    .string()
    .max(8192)
    .regex(/^[^\n\r]+$/)
    .optional(),
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
  priorSchema: hostEntryPriorSchema,
  identity: ({ name, ip }) => (isIpv6(ip) ? `${name} (IPv6)` : name),
  check,
  apply(spec, _changes, host, signal) {
    const lines = splitLines(readText(path, host));
    const at = findLine(spec, lines);
    // -1 would be the last line, which is somebody else's.
    if (spec.ensure === "absent") lines.splice(at, at === -1 ? 0 : 1);
    else lines.splice(at === -1 ? lines.length : at, 1, wantedLine(spec, lines[at]));
    signal.throwIfAborted();
    if (spec.remove_empty === true && lines.length === 0) host.files.removeFile(path);
    else writeText(path, joinLines(lines), host);
  },
  capture,
  describe: describeChange,
});

function check(spec: HostEntrySpec, host: Host): Change[] {
  const lines = splitLines(readText(path, host));
  const line = lines[findLine(spec, lines)];
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

/** Where the line of an entry is; -1 = there is none. `HOST_ERROR` where it is not the only one that says the name. */
function findLine(spec: HostEntrySpec, lines: readonly string[]): number {
  const saying = [...lines.keys()].filter((at) => {
    const { ip, names } = parseLine(lines[at] ?? "");
    return isIpv6(ip) === isIpv6(spec.ip) && names.includes(spec.name);
  });
  const own = saying.filter((at) => parseLine(lines[at] ?? "").names[0] === spec.name);
  if (own.length <= 1 && (own.length === saying.length || spec.ensure === "absent")) return own[0] ?? -1;
  throw new OrchestratorError("HOST_ERROR", {
    message: `${spec.name} stands on ${saying.length} line(s) of ${path}, and not as the first name of one.`,
    details: { path, lines: saying.map((at) => at + 1) },
  });
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

function capture({ name, ip }: HostEntrySpec, host: Host): Prior {
  const text = readText(path, host);
  const lines = splitLines(text);
  const line = lines[findLine({ name, ip, aliases: [], ensure: "present" }, lines)];
  if (line === undefined) {
    return {
      type: "host_entry",
      spec: { name, ip, ensure: "absent", ...(text === null && { remove_empty: true }) },
    };
  }
  const before = parseLine(line);
  const spec = { name, ip: before.ip, aliases: before.names.slice(1), ensure: "present", line };
  return { type: "host_entry", spec };
}

/**
 * The time zone of the machine: the link `/etc/localtime`, and the name in `/etc/timezone` where that file is kept.
 *
 * Programs that run already may keep the old zone until they are restarted. Never touches the clock.
 *
 * @example
 * ```yaml
 * - { type: timezone, name: Europe/Berlin }
 * ```
 */
import { z } from "zod";
import type { Host } from "../../host/host.ts";
import { canonicalJson } from "../../internal/canonical-json.ts";
import { toShownTarget } from "../../internal/link-target.ts";
import { type JsonObject, toJsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { extendToFile } from "./file/prior.ts";
import { describeChange } from "./shared/describe.ts";
import { captureKept, keptAttributes, keptFileSchema } from "./shared/kept-file.ts";
import { missing, obstacle } from "./shared/obstacle.ts";
import { readText, writeText } from "./shared/text-file.ts";

const linkPath = "/etc/localtime";
const namePath = "/etc/timezone";
const zones = "/usr/share/zoneinfo";

export const timezoneSchema = z.strictObject({
  /** As in the time zone database: "Europe/Berlin", "UTC". */
  name: z
    .string()
    .max(100)
    .regex(/^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9][A-Za-z0-9_+-]*)*$/, "must be the name of a time zone"),
});

const timezonePriorSchema = timezoneSchema.extend({
  /** What stood at both paths; null = nothing. The name beside it is for people. */
  before: z
    .strictObject({
      link: z
        .union([
          z.strictObject({ target: z.string(), uid: z.int(), gid: z.int() }),
          z.strictObject({ content: z.base64(), kept: keptFileSchema }),
        ])
        .nullable(),
      noted: z.string().nullable(),
    })
    .optional(),
});

/** Properties of a `timezone`, and those of a captured one. */
export type TimezoneSpec = z.infer<typeof timezonePriorSchema>;

/** A copy of a zone is much smaller. */
const maxZoneBytes = 262_144;

export const timezoneResourceType = defineResourceType<TimezoneSpec>({
  type: "timezone",
  summary: "The time zone of the machine.",
  schema: timezoneSchema,
  // There is one; a link or file declared at its path is about the same.
  namespace: "path",
  identity: () => linkPath,
  paths: () => [linkPath, namePath],
  edits: ({ name }) => [
    { of: namePath, edit: (text) => (text === null || nameIn(text) === name ? text : `${name}\n`) },
  ],
  check(spec, host) {
    const before = currentZone(host);
    const changes: Change[] = [];
    if (spec.before ? !isLinkAsBefore(spec.before, host) : before !== spec.name)
      changes.push({ property: "name", before, after: spec.before ? zoneOf(spec.before) : spec.name });
    const noted = readText(namePath, host);
    const wanted = spec.before ? spec.before.noted : noted === null ? null : spec.name;
    // Blanks around the name mean nothing, but for what comes back.
    const same = spec.before ? noted === wanted : nameIn(noted) === wanted;
    if (noted !== null && wanted !== null && !same)
      changes.push({ property: "noted_name", before: nameIn(noted), after: nameIn(wanted) });
    return changes;
  },
  apply(spec, changes, host, signal) {
    const { files } = host;
    if (!spec.before && !files.stat(`${zones}/${spec.name}`)) {
      const message = `There is no time zone ${spec.name} below ${zones}; is tzdata installed?`;
      throw missing(message, { zone: spec.name });
    }
    for (const { property } of changes) {
      signal.throwIfAborted();
      if (property === "noted_name") writeText(namePath, spec.before?.noted ?? `${spec.name}\n`, host);
      else if (spec.before) restoreLink(spec.before, host);
      else files.makeSymlink(linkPath, `${zones}/${spec.name}`);
    }
  },
  capture(_spec, host): Prior {
    const name = [currentZone(host), nameIn(readText(namePath, host))].find(
      (found) => timezoneSchema.safeParse({ name: found }).success,
    );
    const before = { link: captureLink(host), noted: readText(namePath, host) };
    return { type: "timezone", spec: { name: name ?? "UTC", before } };
  },
  describe: describeChange,
  removing: {
    priorSchema: timezonePriorSchema,
    extendPrior: (prior, _spec, host, signal) => extendToFile(prior, linkPath, { host, signal }),
  },
});

/** The zone that the link names; null where it is none, or a copy. */
function currentZone({ files }: Host): string | null {
  const stat = files.stat(linkPath);
  if (!stat || stat.kind === "file") return null;
  if (stat.kind !== "symlink") throw obstacle(linkPath, stat);
  return zoneIn(files.readLink(linkPath));
}

function zoneIn(target: string): string | null {
  return /(?:^|\/)zoneinfo\/(.+)$/.exec(toShownTarget(target))?.[1] ?? null;
}

/** The name in what the file says. */
function nameIn(text: string | null): string | null {
  return text?.trim() ?? null;
}

type Before = NonNullable<TimezoneSpec["before"]>;

/** The zone that the link named. */
function zoneOf({ link }: Before): string | null {
  return link && "target" in link ? zoneIn(link.target) : null;
}

function isLinkAsBefore({ link }: Before, host: Host): boolean {
  return textOf(captureLink(host)) === textOf(link && toJsonObject(link));
}

/** As JSON, since a target that is not UTF-8 has no canonical form. */
function textOf(link: JsonObject | null): string {
  return canonicalJson(link && "target" in link ? { ...link, target: JSON.stringify(link["target"]) } : link);
}

/** The link with whose it is, or the copy that stands in its place. */
function captureLink(host: Host): JsonObject | null {
  const { files } = host;
  const stat = files.stat(linkPath);
  if (!stat) return null;
  const { kind, uid, gid } = stat;
  if (kind === "symlink") return { target: files.readLink(linkPath), uid, gid };
  if (kind !== "file" || stat.sizeBytes > maxZoneBytes) throw obstacle(linkPath, stat);
  const content = Buffer.from(files.readFile(linkPath)).toString("base64");
  return { content, kept: captureKept(linkPath, host) };
}

function restoreLink({ link }: Before, host: Host): void {
  const { files } = host;
  if (link === null) return files.removeFile(linkPath);
  if ("target" in link) return files.makeSymlink(linkPath, link.target, { uid: link.uid, gid: link.gid });
  const content = Buffer.from(link.content, "base64");
  files.writeFile(linkPath, content, keptAttributes(linkPath, link.kept, host));
}

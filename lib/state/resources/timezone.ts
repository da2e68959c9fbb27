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
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { describeChange } from "./shared/describe.ts";
import { readText } from "./shared/text-file.ts";
import { missing } from "./shared/missing.ts";
import { obstacle } from "./shared/obstacle.ts";

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

/** Properties of a `timezone`. */
export type TimezoneSpec = z.infer<typeof timezoneSchema>;

export const timezoneResourceType = defineResourceType<TimezoneSpec>({
  type: "timezone",
  summary: "The time zone of the machine.",
  schema: timezoneSchema,
  // There is one; a link or file declared at its path is about the same.
  namespace: "path",
  identity: () => linkPath,
  paths: () => [linkPath, namePath],
  check(spec, host) {
    const before = currentZone(host);
    const changes: Change[] = before === spec.name ? [] : [{ property: "name", before, after: spec.name }];
    const noted = notedZone(host);
    if (noted !== null && noted !== spec.name)
      changes.push({ property: "noted_name", before: noted, after: spec.name });
    return changes;
  },
  apply(spec, changes, host, signal) {
    const { files } = host;
    if (!files.stat(`${zones}/${spec.name}`)) {
      const message = `There is no time zone ${spec.name} below ${zones}; is tzdata installed?`;
      throw missing(message, { zone: spec.name });
    }
    for (const { property } of changes) {
      signal.throwIfAborted();
      if (property === "name") files.makeSymlink(linkPath, `${zones}/${spec.name}`);
      else files.writeFile(namePath, Buffer.from(`${spec.name}\n`), {});
    }
  },
  capture(_spec, host): Prior | null {
    // A copy of a zone's file has no name; what is noted beside it is the best there is.
    const name = currentZone(host) ?? notedZone(host);
    return timezoneSchema.safeParse({ name }).success ? { type: "timezone", spec: { name } } : null;
  },
  describe: describeChange,
});

/** The zone that the link names; null where it is none, or a copy. */
function currentZone({ files }: Host): string | null {
  const stat = files.stat(linkPath);
  if (!stat || stat.kind === "file") return null;
  if (stat.kind !== "symlink") throw obstacle(linkPath, stat);
  const [, name] = /(?:^|\/)zoneinfo\/(.+)$/.exec(files.readLink(linkPath)) ?? [];
  return name ?? null;
}

function notedZone(host: Host): string | null {
  return readText(namePath, host)?.trim() ?? null;
}

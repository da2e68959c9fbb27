/**
 * A group of users. Owns its number and, where declared, who is in it; never files that belong to it.
 *
 * Linux, with the programs of shadow-utils. On removal a group that we made goes; one that was there before gets its
 * number and members back.
 *
 * @example
 * ```yaml
 * - { type: group, name: deploy, gid: 2000, members: [alice] }
 * ```
 */
import { z } from "zod";
import type { Host } from "../../host/host.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import {
  accountIdSchema,
  accountNameSchema,
  findGroup,
  membershipSchema,
  wantedMembers,
} from "./shared/accounts.ts";
import { describeChange } from "./shared/describe.ts";
import { refuseConfined, requireLinux } from "./shared/platform.ts";
import { foreseeGroup } from "./user/foresee.ts";
import { ensureSchema } from "./shared/properties.ts";
import { act } from "./shared/command.ts";

/** Linux takes 128 KiB for one argument of a program, its end included. */
const maxMembersLength = 131_071;

export const groupSchema = z.strictObject({
  name: accountNameSchema,
  /** "absent" fails while it is the primary group of a user. */
  ensure: ensureSchema.default("present"),
  /** Default: the next free one. A change leaves files with the old number. */
  gid: accountIdSchema.optional(),
  /** Users whose supplementary group it is. Default: left as they are. */
  members: z
    .array(accountNameSchema)
    .max(10_000)
    .refine((names) => names.join().length <= maxMembersLength, "are too long together for one argument")
    .optional(),
  /** "minimum": the members are among those of the group. "inclusive": nobody else is. */
  membership: membershipSchema.default("minimum"),
  /** Takes the number of a new group from those for the system. */
  system: z.boolean().default(false),
});

/** Properties of a `group`. */
export type GroupSpec = z.infer<typeof groupSchema>;

export const groupResourceType = defineResourceType<GroupSpec>({
  type: "group",
  summary: "A group of users.",
  schema: groupSchema,
  identity: (spec) => spec.name,
  check,
  apply,
  foresee({ name, ensure, gid, system }, changes, host) {
    const members = changes.find(({ property }) => property === "members")?.after;
    const wanted = { gid, system, members: Array.isArray(members) ? members.map(String) : undefined };
    foreseeGroup(name, ensure === "absent" ? null : wanted, host);
  },
  capture,
  describe: describeChange,
});

function check(spec: GroupSpec, host: Host): Change[] {
  refuseConfined(host, "group");
  requireLinux(host, "group");
  const group = findGroup(host, spec.name);
  if (spec.ensure === "absent")
    return group ? [{ property: "ensure", before: "present", after: "absent" }] : [];
  const changes: Change[] = [];
  if (!group) changes.push({ property: "ensure", before: "absent", after: "present" });
  if (spec.gid !== undefined && spec.gid !== group?.gid) {
    changes.push({ property: "gid", before: group?.gid ?? null, after: spec.gid });
  }
  if (spec.members) {
    const before = [...(group?.members ?? [])].sort();
    const after = wantedMembers(spec.members, before, spec.membership);
    if (before.join() !== after.join()) changes.push({ property: "members", before, after });
  }
  return changes;
}

async function apply(
  spec: GroupSpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const run = (argv: [string, ...string[]]): Promise<unknown> => act({ argv }, { host, signal });
  const { name } = spec;
  if (spec.ensure === "absent") return void (await run(["groupdel", name]));
  const changed = (property: string): Change | undefined =>
    changes.find((change) => change.property === property);
  const gid = spec.gid === undefined ? [] : ["-g", String(spec.gid)];
  if (changed("ensure")) await run(["groupadd", ...(spec.system ? ["-r"] : []), ...gid, name]);
  else if (changed("gid")) await run(["groupmod", ...gid, name]);
  const members = changed("members")?.after;
  if (Array.isArray(members)) await run(["gpasswd", "-M", members.join(","), name]);
}

function capture({ name }: GroupSpec, host: Host): Prior {
  const group = findGroup(host, name);
  if (!group) return { type: "group", spec: { name, ensure: "absent" } };
  const { gid, members } = group;
  return { type: "group", spec: { name, ensure: "present", gid, members, membership: "inclusive" } };
}

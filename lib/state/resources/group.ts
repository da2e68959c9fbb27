/**
 * A group of users. Owns its number and, where declared, who is in it; never files that belong to it.
 *
 * Linux, with the programs of shadow-utils. On removal a group that we made goes; one that was there before gets back
 * what was declared of number and members, and which members /etc/gshadow named.
 *
 * @example
 * ```yaml
 * - { type: group, name: deploy, gid: 2000, members: [alice] }
 * ```
 */
import { z } from "zod";
import type { Host } from "../../host/host.ts";
import { type JsonObject, toJsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import type { TextEdit } from "../text-edits.ts";
import {
  accountIdSchema,
  accountNameSchema,
  findGroup,
  membershipSchema,
  wantedMembers,
} from "./shared/accounts.ts";
import { act } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import {
  findGroupRows,
  type GroupRows,
  groupRowsSchema,
  hasShadowMembers,
  restoreGroupRows,
  restoreShadowMembers,
  setMembers,
  shadowMembers,
} from "./shared/group-rows.ts";
import { addMissing } from "./shared/later-prior.ts";
import { membershipEdit } from "./shared/membership-text.ts";
import { refuseConfined, requireLinux } from "./shared/platform.ts";
import { ensureSchema } from "./shared/properties.ts";
import { foreseeGroup } from "./user/foresee.ts";
import { refuseGroup } from "./user/obstacles.ts";

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

const groupPriorSchema = groupSchema.extend({
  /** As they stood, whatever the machine calls a user. */
  members: z.array(z.string()).optional(),
  /** Those among them who were no users already. */
  gone: z.array(z.string()).optional(),
  /** Its rows as they stood, where it would go with them. */
  rows: groupRowsSchema.optional(),
  /** Nothing is said of what was left alone: a group that is gone by then does not come back. */
  only_if_there: z.boolean().optional(),
  /** The members that /etc/gshadow named, where they would change with the others; null = it had no row. */
  shadow_members: z.array(z.string()).nullable().optional(),
});

/** Properties of a `group`, and those of a captured one. */
export type GroupSpec = z.infer<typeof groupPriorSchema>;

export const groupResourceType = defineResourceType<GroupSpec>({
  type: "group",
  summary: "A group of users.",
  schema: groupSchema,
  identity: (spec) => spec.name,
  edits: (spec) => [editOf(spec)],
  check,
  apply,
  capture,
  describe: describeChange,
  planning: {
    foresee(spec, changes, host) {
      const { name, ensure, gid, system } = spec;
      refuseGroup(spec, changes, host);
      const members = changes.find(({ property }) => property === "members")?.after;
      const wanted = { gid, system, members: Array.isArray(members) ? members.map(String) : undefined };
      foreseeGroup(name, ensure === "absent" ? null : wanted, host);
    },
  },
  removing: {
    priorSchema: groupPriorSchema,
    // A first version may have left alone what goes with the group.
    extendPrior: (prior, spec, host) => addMissing(prior, capture(spec, host)),
  },
});

/** What it says of who is in it; nobody has a group that is not there. */
function editOf({ name, ensure, members = [], membership }: GroupSpec): TextEdit {
  if (ensure === "absent") return membershipEdit(({ group }) => group === name, []);
  const isLeft = (user: string): boolean => membership !== "inclusive" || members.includes(user);
  return membershipEdit(
    ({ group, user, isPrimary }) => group === name && !isPrimary && !isLeft(user),
    members.map((user) => ({ group: name, user, isPrimary: false })),
  );
}

function check(spec: GroupSpec, host: Host): Change[] {
  refuseConfined(host, "group");
  requireLinux(host, "group");
  const group = findGroup(host, spec.name);
  if (spec.ensure === "absent")
    return group ? [{ property: "ensure", before: "present", after: "absent" }] : [];
  if (!group && spec.only_if_there === true) return [];
  const changes: Change[] = [];
  if (!group) changes.push({ property: "ensure", before: "absent", after: "present" });
  if (spec.gid !== undefined && spec.gid !== group?.gid) {
    changes.push({ property: "gid", before: group?.gid ?? null, after: spec.gid });
  }
  const members = declaredMembers(spec, host);
  if (members) {
    const before = [...(group?.members ?? [])].sort();
    const after = wantedMembers(members, before, spec.membership);
    if (before.join() !== after.join()) changes.push({ property: "members", before, after });
  }
  const { shadow_members: after } = spec;
  if (group && after !== undefined && !hasShadowMembers(host, spec.name, after))
    changes.push({ property: "shadow_members", before: shadowMembers(host, spec.name), after });
  return changes;
}

async function apply(
  spec: GroupSpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const run = (argv: [string, ...string[]]): Promise<unknown> => act({ argv }, { host, signal });
  refuseGroup(spec, changes, host);
  const { name } = spec;
  if (spec.ensure === "absent") return void (await run(["groupdel", name]));
  const changed = (property: string): Change | undefined =>
    changes.find((change) => change.property === property);
  const gid = spec.gid === undefined ? [] : ["-g", String(spec.gid)];
  if (changed("ensure")) await run(["groupadd", ...(spec.system ? ["-r"] : []), ...gid, name]);
  else if (changed("gid")) await run(["groupmod", ...gid, name]);
  if (changed("members")) {
    const members = orderedMembers(spec, changes, host);
    const areKnown = members.every((member) => host.users.userId(member) !== null);
    if (areKnown) await run(["gpasswd", "-M", members.join(","), name]);
    else setMembers(host, name, members);
  }
  signal.throwIfAborted();
  if (changed("ensure") && spec.rows) restoreGroupRows(host, name, rowsOf(spec, spec.rows));
  else if (spec.shadow_members !== undefined) restoreShadowMembers(host, name, spec.shadow_members);
}

/** The rows with the members that stood before the first version. */
function rowsOf({ members, shadow_members: shadowed }: GroupSpec, rows: GroupRows): GroupRows {
  const { password, shadow } = rows;
  const own = { password, members: members ?? rows.members };
  return shadow && shadowed !== null
    ? { ...own, shadow: { ...shadow, ...(shadowed && { members: shadowed }) } }
    : own;
}

/** Of those who come back, who is gone by now does not; who was gone when they were noted does, since a name in a row is no user. */
function declaredMembers({ name, members, gone }: GroupSpec, host: Host): readonly string[] | undefined {
  if (!gone) return members;
  const present = findGroup(host, name)?.members ?? [];
  const isLeft = (member: string): boolean =>
    host.users.userId(member) !== null || gone.includes(member) || present.includes(member);
  return members?.filter(isLeft);
}

/** Where the resource says who is in it, in its order: those who come back stand as they stood. */
function orderedMembers(spec: GroupSpec, changes: readonly Change[], host: Host): string[] {
  if (spec.membership === "inclusive") return [...new Set(declaredMembers(spec, host))];
  const after = changes.find(({ property }) => property === "members")?.after;
  return Array.isArray(after) ? after.map(String) : [];
}

/** Only what the resource would change is noted: what it leaves alone must not come back. */
function capture({ name, ensure, gid: number, members: declared }: GroupSpec, host: Host): Prior {
  const group = findGroup(host, name);
  if (!group) return { type: "group", spec: { name, ensure: "absent" } };
  const { gid, members } = group;
  const gone = members.filter((member) => host.users.userId(member) === null);
  const isLeaving = ensure === "absent";
  const prior: JsonObject = { name, ensure: "present", ...(!isLeaving && { only_if_there: true }) };
  if (isLeaving || number !== undefined) prior["gid"] = gid;
  if (isLeaving || declared) Object.assign(prior, { members, gone, membership: "inclusive" });
  const rows = isLeaving ? findGroupRows(host, name) : null;
  if (rows) prior["rows"] = toJsonObject(rows);
  if (rows === null && declared) prior["shadow_members"] = shadowMembers(host, name);
  return { type: "group", spec: prior };
}

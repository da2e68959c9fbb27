/**
 * What the account tables already tell of a change: that its program would refuse it, or do what nobody means. A plan and an apply
 * look here before the programs are run, and say the same.
 */
import { OrchestratorError } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import type { JsonObject } from "../../../json.ts";
import type { Change } from "../../result.ts";
import { findGroup, linesAbout, listUsers } from "../shared/accounts.ts";
import { missing } from "../shared/obstacle.ts";
import { isSystemFolder } from "../shared/system-folders.ts";
import { readText } from "../shared/text-file.ts";
import { createsHome, leavingHome, type UserSpec } from "./properties.ts";

/** The group of a change, as far as it matters here. */
export interface WantedGroup {
  name: string;
  ensure: "present" | "absent";
  gid?: number | undefined;
  /** Given where its members come back. */
  gone?: readonly string[] | undefined;
}

/** A change of a user, and where the home of a new one will be. */
export interface UserChange {
  changes: readonly Change[];
  home: string;
}

/**
 * Refuses a change of a user that can't be made.
 *
 * @throws {OrchestratorError} `HOST_ERROR` where a table has two lines about it, where another user has the number or the home, where a group is not there, where the
 *   home to remove is not the user's alone, or where somebody could lead the programs that make or remove it elsewhere.
 */
export function refuseUser(spec: UserSpec, { changes, home }: UserChange, host: Host): void {
  refuseTwice(spec.name, "/etc/passwd", host);
  const ofShadow = ["password_hash", "locked", "password_ages", "expires"];
  if (spec.ensure === "absent" || changes.some(({ property }) => ofShadow.includes(property)))
    refuseTwice(spec.name, "/etc/shadow", host);
  if (spec.ensure === "absent") return refuseHome(spec, host);
  const after = new Map(changes.map((change) => [change.property, change.after]));
  if (after.has("uid") && spec.uid !== undefined) {
    const owner = host.users.userName(spec.uid);
    if (owner !== null && owner !== spec.name)
      throw refused(`The number ${spec.uid} belongs to the user ${owner}.`, { uid: spec.uid, user: owner });
  }
  const isNew = after.has("ensure");
  if (isNew) refuseForeignHome(spec, home, host);
  if (isNew && createsHome(spec) && spec.home !== undefined) requireOwnWay(spec.home, host);
  if ((isNew || after.has("group")) && spec.group !== undefined && spec.group_gid === undefined)
    requireGroup(spec.group, host);
  const groups = isNew ? wantedGroups(spec, host) : after.get("groups");
  if (!Array.isArray(groups)) return;
  for (const group of groups.map(String)) {
    if (!isBrought(spec, group)) requireGroup(group, host);
    refuseGroupTwice(group, host);
  }
}

/**
 * Refuses a change of a group that can't be made.
 *
 * @throws {OrchestratorError} `HOST_ERROR` where a table has two lines about it, another group has the number, a member is not there, or the group that is to go
 *   is the primary group of a user.
 */
export function refuseGroup(
  { name, ensure, gid, gone }: WantedGroup,
  changes: readonly Change[],
  host: Host,
): void {
  refuseGroupTwice(name, host);
  if (ensure === "absent") {
    const group = findGroup(host, name);
    const user = group && listUsers(host).find((each) => each.gid === group.gid);
    if (user) throw refused(`The group ${name} is the primary group of ${user.name}.`, { user: user.name });
    return;
  }
  const after = new Map(changes.map((change) => [change.property, change.after]));
  if (after.has("gid") && gid !== undefined) {
    const owner = host.users.groupName(gid);
    if (owner !== null && owner !== name)
      throw refused(`The number ${gid} belongs to the group ${owner}.`, { gid, group: owner });
  }
  const members = changes.find(({ property }) => property === "members");
  const stand = new Set(toNames(members?.before));
  // Who stands there was taken for one by somebody else, and so was who comes back.
  for (const member of gone ? [] : toNames(members?.after))
    if (!stand.has(member) && host.users.userId(member) === null)
      throw missing(`There is no user "${member}", who is to be a member.`, { user: member });
}

/** Where the programs are told to split the members of a large group over lines, several are right. */
function refuseGroupTwice(name: string, host: Host): void {
  if (/^[ \t]*MAX_MEMBERS_PER_GROUP[ \t]+0*[1-9]/m.test(readText("/etc/login.defs", host) ?? "")) return;
  for (const path of ["/etc/group", "/etc/gshadow"]) refuseTwice(name, path, host);
}

/** Which of two lines counts is for somebody to say: the programs change neither. */
function refuseTwice(name: string, path: string, host: Host): void {
  const lines = linesAbout(host, path, name);
  if (lines.length < 2) return;
  const message = `${path} has more than one line about "${name}": lines ${lines.join(" and ")}. Leave the one that counts.`;
  throw refused(message, { path, lines });
}

function toNames(members: unknown): string[] {
  return Array.isArray(members) ? members.map(String) : [];
}

/** The supplementary groups that a user is to have: of those that come back, the ones that are still there or come with him. */
export function wantedGroups(spec: UserSpec, { users }: Host): readonly string[] | undefined {
  if (spec.group_gid === undefined && spec.only_if_there !== true) return spec.groups;
  return spec.groups?.filter((group) => isBrought(spec, group) || users.groupId(group) !== null);
}

/** Whether a group is the primary one of a user who comes back, and with him the group where it is gone. */
function isBrought({ group, group_gid }: UserSpec, name: string): boolean {
  return group_gid !== undefined && group === name;
}

function requireGroup(group: string, { users }: Host): void {
  const isThere = /^\d+$/.test(group) ? users.groupName(Number(group)) : users.groupId(group);
  if (isThere === null) throw missing(`There is no group "${group}".`, { group });
}

/** Two users may share a home that stands; what is made for one must not be another's. */
function refuseForeignHome(spec: UserSpec, home: string, host: Host): void {
  if (!createsHome(spec) || isSystemFolder(home)) return;
  const stat = host.files.stat(home);
  const owner = listUsers(host).find((user) => user.name !== spec.name && user.home === home);
  if (!owner || stat?.uid !== owner.uid) return;
  const message = `${home} is the home of ${owner.name}; to share it, give create_home: false.`;
  throw refused(message, { path: home, user: owner.name });
}

function refuseHome(spec: UserSpec, host: Host): void {
  const { name } = spec;
  const users = spec.remove_home ? listUsers(host) : [];
  const home = leavingHome(spec, users.find((user) => user.name === name)?.home);
  if (home === null) return;
  if (isSystemFolder(home))
    throw refused(`The home of ${name} is ${home}, which is never removed.`, { path: home });
  const other = users.find((user) => user.name !== name && `${user.home}/`.startsWith(`${home}/`));
  if (other)
    throw refused(`The home of ${name}, ${home}, holds that of ${other.name}: it is not removed.`, {
      path: home,
      user: other.name,
    });
  requireOwnWay(home, host);
}

/** Making and removing a home goes by names, as root: it could be led anywhere by who can change a folder above it. */
function requireOwnWay(home: string, host: Host): void {
  const uid = host.files.ledBy(home.slice(0, home.lastIndexOf("/")) || "/");
  if (uid === null) return;
  throw new OrchestratorError("HOST_ERROR", {
    message: `The home ${home} is in a folder that somebody else than root can change, and is neither made nor removed there.`,
    details: { path: home, uid },
  });
}

function refused(message: string, details: JsonObject): OrchestratorError {
  return new OrchestratorError("HOST_ERROR", { message, details });
}

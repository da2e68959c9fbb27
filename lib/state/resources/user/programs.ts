/** Making, changing and removing users with the programs of shadow-utils. */
import type { Host } from "../../../host/host.ts";
import type { Change } from "../../result.ts";
import { findGroup, findShadow, findUser, groupsOf } from "../shared/accounts.ts";
import { act } from "../shared/command.ts";
import { isKept, keepGroup, restoreGroupRows, restoreMembershipPlaces } from "../shared/group-rows.ts";
import { wantedGroups } from "./obstacles.ts";
import { bareHash, wantedPassword } from "./password.ts";
import { createsHome, leavingHome, toExpiresDay, type UserSpec } from "./properties.ts";
import { subordinateOptions, subordinatesOf } from "./subordinates.ts";

type Run = (argv: [string, ...string[]]) => Promise<unknown>;

/** Makes the changes of a `user`. */
export async function applyUser(
  spec: UserSpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const run: Run = (argv) => act({ argv }, { host, signal });
  const ensure = changes.find((change) => change.property === "ensure");
  if (spec.ensure === "absent") return removeUser(spec, host, run);
  if (isKept(host, spec.name)) keepGroup(host, spec.name, false);
  if (!ensure && !findUser(host, spec.name)) return;
  const changed = new Set(changes.map(({ property }) => property));
  const makesGroup = (ensure !== undefined || changed.has("group")) && (await bringGroup(spec, host, run));
  if (ensure) await makeUser(spec, host, run);
  else await changeUser(spec, changes, run);
  if (spec.subordinates) {
    const options = subordinateOptions(subordinatesOf(spec.name, host), spec.subordinates);
    if (options.length > 0) await run(["usermod", ...options, spec.name]);
  }
  if (makesGroup && spec.group !== undefined && spec.group_rows)
    restoreGroupRows(host, spec.group, spec.group_rows);
  if (makesGroup && spec.group_place) restoreMembershipPlaces(host, spec.name, [spec.group_place]);
  if (spec.memberships && (ensure || changed.has("groups"))) {
    // Who only leaves groups comes back to none: one that is not among them any more was taken away by somebody else.
    const standing = spec.groups ? null : groupsOf(host, spec.name);
    const places = spec.memberships.filter(({ group }) => standing?.includes(group) !== false);
    restoreMembershipPlaces(host, spec.name, places);
  }
  if (changed.has("password_hash") || changed.has("locked")) await changePassword(spec, host, signal);
  const ages = findShadow(host, spec.name)?.ages;
  if (spec.ages !== undefined && spec.ages !== ages) await setAges(spec.name, spec.ages, run);
}

/** A lock is no new password: the day of the last change stays. */
async function changePassword(spec: UserSpec, host: Host, signal: AbortSignal): Promise<void> {
  const { name } = spec;
  const entry = findShadow(host, name);
  const before = entry?.password ?? "";
  const after = wantedPassword(spec, before);
  if (after === before) return;
  await act({ argv: ["chpasswd", "-e"], stdin: `${name}:${after}\n` }, { host, signal }, { reads: "secret" });
  if (!entry || bareHash(after) !== bareHash(before)) return;
  const [lastChange = ""] = entry.ages.split(":");
  if (findShadow(host, name)?.ages === entry.ages) return;
  await act({ argv: ["chage", "-d", lastChange === "" ? "-1" : lastChange, name] }, { host, signal });
}

const ageFlags = ["-d", "-m", "-M", "-W", "-I"] as const;

/** -1 empties a field. */
async function setAges(name: string, ages: string, run: Run): Promise<void> {
  const values = ages.split(":").map((value) => (value === "" ? "-1" : value));
  await run(["chage", ...ageFlags.flatMap((flag, at) => [flag, values[at] ?? "-1"]), name]);
}

/** Makes the primary group of a user who comes back to it, where it is gone by now. Tells whether it did. */
async function bringGroup({ group, group_gid }: UserSpec, host: Host, run: Run): Promise<boolean> {
  if (group === undefined || group_gid === undefined || groupExists(group, host)) return false;
  await run(["groupadd", "-g", String(group_gid), group]);
  return true;
}

async function makeUser(spec: UserSpec, host: Host, run: Run): Promise<void> {
  const { name, group } = spec;
  const own = findGroup(host, name) ? ["-g", name] : ["-U"];
  await run([
    "useradd",
    ...option("-u", spec.uid),
    ...(group === undefined ? own : ["-g", group]),
    ...option("-G", wantedGroups(spec, host)?.join(",")),
    ...option("-d", spec.home),
    createsHome(spec) ? "-m" : "-M",
    ...option("-s", spec.shell),
    ...option("-c", spec.comment),
    ...option("-e", spec.expires && toExpiresDay(spec.expires)),
    ...(spec.system ? ["-r"] : []),
    name,
  ]);
}

function groupExists(group: string, host: Host): boolean {
  return /^\d+$/.test(group) || findGroup(host, group) !== null;
}

async function changeUser(spec: UserSpec, changes: readonly Change[], run: Run): Promise<void> {
  const options = changes.flatMap(({ property, after }): string[] => {
    if (property === "groups" && Array.isArray(after)) return ["-G", after.join(",")];
    if (property === "expires") return ["-e", toExpiresDay(String(after))];
    const flag = flags[property];
    return flag === undefined ? [] : [flag, String(after)];
  });
  if (options.length > 0) await run(["usermod", ...options, spec.name]);
}

const flags: Readonly<Record<string, string>> = {
  uid: "-u",
  group: "-g",
  home: "-d",
  shell: "-s",
  comment: "-c",
};

/** userdel takes the group of the user's name with it, unless that has a member. */
async function removeUser(spec: UserSpec, host: Host, run: Run): Promise<void> {
  const { name } = spec;
  const user = findUser(host, name);
  const home = leavingHome(spec, user?.home);
  const keeps = isKept(host, name) || (spec.keep_group === true && findGroup(host, name) !== null);
  if (keeps && user) keepGroup(host, name, true);
  try {
    // Where a kill came after it, the group alone is left to do.
    if (user) await run(["userdel", ...(home === null ? [] : ["-r"]), name]);
  } finally {
    if (keeps) keepGroup(host, name, false);
  }
}

function option(flag: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [flag, String(value)];
}

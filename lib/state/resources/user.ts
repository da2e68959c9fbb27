/**
 * A user of the machine: its number, groups, home, shell and password. Never touches what is in a home.
 *
 * Linux, with the programs of shadow-utils. On removal a user that we made goes, its home only with `remove_home`; one that
 * was there before gets its properties back. A password hash goes to the machine through standard input and is in no result.
 *
 * @example
 * ```yaml
 * - { type: user, name: deploy, groups: [docker], shell: /bin/bash, password_hash: "*" }
 * ```
 */
import type { Host } from "../../host/host.ts";
import { type JsonObject, toJsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { hidden } from "../result.ts";
import type { TextEdit } from "../text-edits.ts";
import {
  findShadow,
  findUser,
  groupsOf,
  listGroups,
  type ShadowEntry,
  type UserEntry,
  wantedMembers,
} from "./shared/accounts.ts";
import { describeChange } from "./shared/describe.ts";
import { findGroupRows, isKept, membershipPlaces } from "./shared/group-rows.ts";
import { addMissing } from "./shared/later-prior.ts";
import { membershipEdit } from "./shared/membership-text.ts";
import { refuseConfined, requireLinux } from "./shared/platform.ts";
import { readText } from "./shared/text-file.ts";
import { foreseeUser } from "./user/foresee.ts";
import { refuseUser, wantedGroups } from "./user/obstacles.ts";
import { bareHash, isLocked, wantedPassword } from "./user/password.ts";
import { applyUser } from "./user/programs.ts";
import {
  createsHome,
  fromExpiresDay,
  toExpiresDay,
  userPriorSchema,
  userSchema,
  type UserSpec,
} from "./user/properties.ts";
import { type Subordinates, subordinatesOf } from "./user/subordinates.ts";

export const userResourceType = defineResourceType<UserSpec>({
  type: "user",
  summary: "A user of the machine.",
  schema: userSchema,
  identity: (spec) => spec.name,
  edits: (spec) => [editOf(spec)],
  check,
  async apply(spec, changes, host, signal) {
    refuseUser(spec, { changes, home: homeOf(spec, host) }, host);
    await applyUser(spec, changes, host, signal);
  },
  capture,
  describe: describeChange,
  planning: {
    foresee(spec, changes, host) {
      const change = { changes, home: homeOf(spec, host) };
      refuseUser(spec, change, host);
      foreseeUser(spec, change, host);
    },
  },
  removing: { priorSchema: userPriorSchema, extendPrior },
});

/** What it says of the groups it is in; who is not there is in none. */
function editOf({ name, ensure, group: primary, groups, membership }: UserSpec): TextEdit {
  if (ensure === "absent") return membershipEdit(({ user }) => user === name, []);
  // The number of a group is that of nobody knows which.
  const own = primary === undefined || /^\d+$/.test(primary) ? [] : [primary];
  const isLeft = (group: string): boolean =>
    groups === undefined || membership !== "inclusive" || groups.includes(group);
  return membershipEdit(
    ({ group, user, isPrimary }) => user === name && (isPrimary ? own.length > 0 : !isLeft(group)),
    [
      ...own.map((group) => ({ group, user: name, isPrimary: true })),
      ...(groups ?? []).map((group) => ({ group, user: name, isPrimary: false })),
    ],
  );
}

function check(spec: UserSpec, host: Host): Change[] {
  refuseConfined(host, "user");
  requireLinux(host, "user");
  const user = findUser(host, spec.name);
  const changes: Change[] = isKept(host, spec.name)
    ? [{ property: "group_kept", before: true, after: false }]
    : [];
  if (spec.ensure === "absent")
    return user ? [{ property: "ensure", before: "present", after: "absent" }] : changes;
  if (!user) changes.push({ property: "ensure", before: "absent", after: "present" });
  const compare = (property: string, before: string | number | null, after?: string | number): void => {
    if (after !== undefined && after !== before) changes.push({ property, before, after });
  };
  compare("uid", user?.uid ?? null, spec.uid);
  compare("group", user && primaryGroup(spec, user, host), spec.group);
  const groups = wantedGroups(spec, host);
  if (groups) {
    const before = user ? groupsOf(host, user.name) : [];
    const after = wantedMembers(groups, before, spec.membership);
    if (before.join() !== after.join()) changes.push({ property: "groups", before, after });
  }
  compare("home", user?.home ?? null, spec.home);
  compare("shell", user?.shell ?? null, spec.shell);
  compare("comment", user?.comment ?? null, spec.comment);
  if (spec.subordinates) {
    const print = ({ uids, gids }: Subordinates): string => `uids ${uids.join()}; gids ${gids.join()}`;
    compare("subordinates", user && print(subordinatesOf(spec.name, host)), print(spec.subordinates));
  }
  return asksShadow(spec) ? [...changes, ...compareShadow(spec, user, host)] : changes;
}

/** The primary group as the spec would say it. */
function primaryGroup({ group }: UserSpec, { gid }: UserEntry, host: Host): string {
  return group !== undefined && /^\d+$/.test(group) ? String(gid) : groupName(gid, host);
}

function groupName(gid: number, host: Host): string {
  return listGroups(host).find((entry) => entry.gid === gid)?.name ?? String(gid);
}

function asksPassword({ password_hash, locked, shadow }: UserSpec): boolean {
  return password_hash !== undefined || locked !== undefined || shadow !== undefined;
}

function asksShadow(spec: UserSpec): boolean {
  return asksPassword(spec) || spec.expires !== undefined;
}

/** What differs in the file that only root may read. A hash is never shown. */
function compareShadow(spec: UserSpec, user: UserEntry | null, host: Host): Change[] {
  const changes: Change[] = [];
  const entry = user && findShadow(host, user.name);
  const before = entry?.password ?? "";
  const after = wantedPassword(spec, before);
  if (bareHash(after) !== bareHash(before)) {
    const shown = user ? hidden : null;
    changes.push({ property: "password_hash", before: shown, after: hidden, sensitive: true });
  }
  if (isLocked(after) !== isLocked(before)) {
    changes.push({ property: "locked", before: user && isLocked(before), after: isLocked(after) });
  }
  if (spec.ages !== undefined && entry?.ages !== spec.ages)
    changes.push({ property: "password_ages", before: entry?.ages ?? null, after: spec.ages });
  if (spec.expires === undefined) return changes;
  const expires = user && fromExpiresDay(entry?.expiresDay ?? null);
  if (expires !== spec.expires && (user || toExpiresDay(spec.expires) !== "")) {
    changes.push({ property: "expires", before: expires, after: spec.expires });
  }
  return changes;
}

/** The password is kept only where the resource would change it: an old one must not come back for another reason. */
function capture(spec: UserSpec, host: Host): Prior {
  const { name } = spec;
  const user = findUser(host, name);
  const keepGroup = spec.group !== undefined || listGroups(host).some((group) => group.name === name);
  if (!user) {
    const removeHome = spec.remove_home && createsHome(spec) && host.files.stat(homeOf(spec, host)) === null;
    return {
      type: "user",
      spec: { name, ensure: "absent", keep_group: keepGroup, remove_home: removeHome },
    };
  }
  const { uid, gid, home, shell, comment } = user;
  const isLeaving = spec.ensure === "absent";
  const shadow = asksShadow(spec) || isLeaving ? findShadow(host, name) : null;
  return {
    type: "user",
    spec: {
      name,
      ensure: "present",
      uid,
      group: groupName(gid, host),
      group_gid: gid,
      groups: groupsOf(host, name),
      membership: "inclusive",
      home,
      create_home: false,
      shell,
      comment,
      ...captureGroups(spec, groupName(gid, host), host),
      ...(shadow && capturePassword(spec, shadow)),
      ...(isLeaving && { subordinates: { ...subordinatesOf(name, host) } }),
      ...(shadow && { expires: fromExpiresDay(shadow.expiresDay) }),
    },
  };
}

/** A first version may have left alone what a later one changes. What it locked was not so before. */
function extendPrior(prior: Prior, spec: UserSpec, host: Host): Prior {
  const extended = addMissing(prior, capture(spec, host));
  const { locked, shadow, ...rest } = extended.spec;
  if (typeof locked !== "boolean" || typeof shadow !== "string") return extended;
  const bare = bareHash(shadow);
  return { ...extended, spec: { ...rest, shadow: locked ? `!${bare}` : bare } };
}

/** What the account files say of its groups beside their names. Who goes takes his primary group along where it has his name. */
function captureGroups({ name, ensure, groups }: UserSpec, primary: string, host: Host): JsonObject {
  if (ensure === "present" && groups === undefined) return {};
  const rows = ensure === "absent" && primary === name ? findGroupRows(host, primary) : null;
  const memberships = membershipPlaces(host, name);
  return toJsonObject({ memberships, ...(rows && { group_rows: rows }) });
}

/** The field as it stood with its ages, or what locked it alone where nothing else will be changed. */
function capturePassword(spec: UserSpec, { password, ages }: ShadowEntry): JsonObject {
  if (spec.ensure === "absent" || spec.password_hash !== undefined || spec.shadow !== undefined)
    return { shadow: password, ages };
  if (spec.locked === undefined) return {};
  return bareHash(password) === "" ? { shadow: password } : { locked: isLocked(password) };
}

/** Where the home of a new user will be. */
function homeOf({ name, home }: UserSpec, host: Host): string {
  if (home !== undefined) return home;
  const base = /^HOME=(.+)$/m.exec(readText("/etc/default/useradd", host) ?? "")?.[1];
  return `${base ?? "/home"}/${name}`;
}

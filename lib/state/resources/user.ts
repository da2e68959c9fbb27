/**
 * A user of the machine: its number, groups, home, shell and password. Never touches what is in a home.
 *
 * Linux, with the programs of shadow-utils. On removal a user that we made goes, its home only with `remove_home`; one that
 * was there before gets back what was declared. A password hash goes to the machine through standard input and is in no result.
 *
 * @example
 * ```yaml
 * - { type: user, name: deploy, groups: [docker], shell: /bin/bash, password_hash: "*" }
 * ```
 */
import type { Host } from "../../host/host.ts";
import { type JsonObject, toJsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { StayingThings } from "../resource.ts";
import type { Change } from "../result.ts";
import { hidden } from "../result.ts";
import type { TextEdit } from "../text-edits.ts";
import {
  findShadow,
  findUser,
  groupsOf,
  homeOfNew,
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
  paths: ({ name, ensure }) => (ensure === "present" ? [`~${name}`] : []),
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
  removing: {
    priorSchema: userPriorSchema,
    extendPrior,
    // A home goes where the version that made it and the last one say so.
    asDeclared: (prior, { remove_home }) =>
      remove_home || prior.spec["remove_home"] !== true
        ? prior
        : { ...prior, spec: { ...prior.spec, remove_home } },
    withStaying,
  },
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
  if (!user && spec.only_if_there === true) return changes;
  if (!user) changes.push({ property: "ensure", before: "absent", after: "present" });
  const compare = (property: string, before: string | number | null, after?: string | number): void => {
    if (after !== undefined && after !== before) changes.push({ property, before, after });
  };
  compare("uid", user?.uid ?? null, spec.uid);
  compare("group", user && primaryGroup(spec, user, host), spec.group);
  const groups = wantedGroups(spec, host);
  const left = spec.left_groups ?? [];
  if (groups || left.length > 0) {
    const before = user ? groupsOf(host, user.name) : [];
    const after = (groups ? wantedMembers(groups, before, spec.membership) : before).filter(
      (group) => !left.includes(group),
    );
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
  // The program locks whoever it makes: who comes back without any password is opened again.
  const isOpened = !user && spec.shadow === "";
  if (isLocked(after) !== isLocked(before) || isOpened) {
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

/** Only what the resource would change is noted: what it leaves alone, such as an old password, must not come back. */
function capture(spec: UserSpec, host: Host): Prior {
  const { name } = spec;
  const user = findUser(host, name);
  const keepGroup = spec.group !== undefined || listGroups(host).some((group) => group.name === name);
  if (!user) {
    const home = homeOf(spec, host);
    const removeHome = spec.remove_home && createsHome(spec) && host.files.stat(home) === null;
    const made = removeHome && { made_home: home };
    return {
      type: "user",
      spec: { name, ensure: "absent", keep_group: keepGroup, remove_home: removeHome, ...made },
    };
  }
  const { uid, gid, home, shell, comment } = user;
  const group = groupName(gid, host);
  const isLeaving = spec.ensure === "absent";
  const changes = (property: keyof UserSpec): boolean => isLeaving || spec[property] !== undefined;
  const shadow = asksShadow(spec) || isLeaving ? findShadow(host, name) : null;
  return {
    type: "user",
    spec: {
      name,
      ensure: "present",
      ...(!isLeaving && { only_if_there: true }),
      ...(changes("uid") && { uid }),
      ...(changes("group") && { group, group_gid: gid }),
      ...(changes("groups") && captureMemberships(spec, host)),
      ...(changes("home") && { home }),
      create_home: false,
      ...(changes("shell") && { shell }),
      ...(changes("comment") && { comment }),
      ...captureGroups(spec, group, host),
      ...(shadow && capturePassword(spec, shadow)),
      ...(isLeaving && { subordinates: { ...subordinatesOf(name, host) } }),
      ...(shadow && changes("expires") && { expires: fromExpiresDay(shadow.expiresDay) }),
    },
  };
}

/** Who is to be among others leaves what they were not in; of who is to be in nothing else, all is noted. */
function captureMemberships({ name, groups = [], membership, ensure }: UserSpec, host: Host): JsonObject {
  const before = groupsOf(host, name);
  if (ensure === "absent" || membership === "inclusive") return { groups: before, membership: "inclusive" };
  return { left_groups: groups.filter((group) => !before.includes(group)) };
}

/** A first version may have left alone what a later one changes. What it locked was not so before. */
function extendPrior(prior: Prior, spec: UserSpec, host: Host): Prior {
  if (prior.spec["ensure"] === "absent") return noteHome(prior, spec, host);
  const extended = addGroups(addMissing(...withOneList(prior, capture(spec, host))), spec, host);
  const { locked, shadow, ...rest } = extended.spec;
  if (typeof locked !== "boolean" || typeof shadow !== "string") return extended;
  const bare = bareHash(shadow);
  return { ...extended, spec: { ...rest, shadow: locked ? `!${bare}` : bare } };
}

/** Memberships are noted as what the user was in, or as what it was not in: never both. Who is to be in nothing else has all noted. */
function withOneList(prior: Prior, now: Prior): [Prior, Prior] {
  const { left_groups: left, ...rest } = prior.spec;
  const { left_groups: _, ...found } = now.spec;
  if (Array.isArray(prior.spec["groups"])) return [prior, { ...now, spec: found }];
  const { groups } = found;
  if (!Array.isArray(left) || !Array.isArray(groups)) return [prior, now];
  const before = groups.filter((group) => !left.includes(group));
  return [
    { ...prior, spec: rest },
    { ...now, spec: { ...found, groups: before } },
  ];
}

/** Groups that a later version adds; of a list that was noted whole they are no part. */
function addGroups(prior: Prior, spec: UserSpec, host: Host): Prior {
  const known = prior.spec["left_groups"];
  if (!Array.isArray(known) || !spec.groups || spec.ensure === "absent") return prior;
  const more = spec.groups.filter(
    (group) => !known.includes(group) && !groupsOf(host, spec.name).includes(group),
  );
  return more.length === 0 ? prior : { ...prior, spec: { ...prior.spec, left_groups: [...known, ...more] } };
}

/** Which home was made: earlier versions noted only that one was, and a user who was gone gets another with a later version. */
function noteHome(prior: Prior, spec: UserSpec, host: Host): Prior {
  const { remove_home, made_home } = prior.spec;
  const user = findUser(host, spec.name);
  const now = user ? { remove_home, made_home: made_home ?? user.home } : capture(spec, host).spec;
  if (now["remove_home"] !== true) return prior;
  return { ...prior, spec: toJsonObject({ ...prior.spec, remove_home: true, made_home: now["made_home"] }) };
}

/** What the account files say of its groups beside their names. Who goes takes his primary group along where it has his name. */
function captureGroups({ name, ensure, group, groups }: UserSpec, primary: string, host: Host): JsonObject {
  const memberships = membershipPlaces(host, name);
  if (ensure === "present" && groups === undefined) {
    const place = group === undefined ? undefined : memberships.find((each) => each.group === primary);
    return toJsonObject({ ...(place && { group_place: place }) });
  }
  const rows = ensure === "absent" && primary === name ? findGroupRows(host, primary) : null;
  return toJsonObject({ memberships, ...(rows && { group_rows: rows }) });
}

/** The field as it stood with its ages, or what locked it alone where nothing else will be changed. */
function capturePassword(spec: UserSpec, { password, ages }: ShadowEntry): JsonObject {
  if (spec.ensure === "absent" || spec.password_hash !== undefined || spec.shadow !== undefined)
    return { shadow: password, ages };
  if (spec.locked === undefined) return {};
  return bareHash(password) === "" ? { shadow: password } : { locked: isLocked(password) };
}

/** The group of the user's name, and what is in the home, may be another resource's by now. */
function withStaying(spec: UserSpec, staying: StayingThings): UserSpec {
  const { name, ensure } = spec;
  if (ensure === "present") return spec;
  const keepsGroup = staying.has("group", name);
  const keepsHome = staying.pathsIn(`~${name}`, "later").length > 0;
  return { ...spec, ...(keepsGroup && { keep_group: true }), ...(keepsHome && { remove_home: false }) };
}

/** Where the home of a new user will be. */
function homeOf({ name, home }: UserSpec, host: Host): string {
  return home ?? homeOfNew(name, host);
}

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
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { hidden } from "../state-result.ts";
import {
  findShadow,
  findUser,
  groupsOf,
  listGroups,
  type UserEntry,
  wantedMembers,
} from "./shared/accounts.ts";
import { describeChange } from "./shared/describe.ts";
import { refuseConfined, requireLinux } from "./shared/platform.ts";
import { foreseeUser } from "./user/foresee.ts";
import { applyUser } from "./user/programs.ts";
import { readText } from "./shared/text-file.ts";
import { bareHash, isLocked, wantedPassword } from "./user/password.ts";
import {
  createsHome,
  fromExpiresDay,
  toExpiresDay,
  userPriorSchema,
  userSchema,
  type UserSpec,
} from "./user/properties.ts";

export const userResourceType = defineResourceType<UserSpec>({
  type: "user",
  summary: "A user of the machine.",
  schema: userSchema,
  priorSchema: userPriorSchema,
  identity: (spec) => spec.name,
  check,
  apply: applyUser,
  foresee(spec, changes, host) {
    foreseeUser(spec, { changes, home: homeOf(spec, host) }, host);
  },
  capture,
  describe: describeChange,
});

function check(spec: UserSpec, host: Host): Change[] {
  refuseConfined(host, "user");
  requireLinux(host, "user");
  const user = findUser(host, spec.name);
  if (spec.ensure === "absent")
    return user ? [{ property: "ensure", before: "present", after: "absent" }] : [];
  const changes: Change[] = user ? [] : [{ property: "ensure", before: "absent", after: "present" }];
  const compare = (property: string, before: string | number | null, after?: string | number): void => {
    if (after !== undefined && after !== before) changes.push({ property, before, after });
  };
  compare("uid", user?.uid ?? null, spec.uid);
  compare("group", user && primaryGroup(spec, user, host), spec.group);
  if (spec.groups) {
    const before = user ? groupsOf(host, user.name) : [];
    const after = wantedMembers(spec.groups, before, spec.membership);
    if (before.join() !== after.join()) changes.push({ property: "groups", before, after });
  }
  compare("home", user?.home ?? null, spec.home);
  compare("shell", user?.shell ?? null, spec.shell);
  compare("comment", user?.comment ?? null, spec.comment);
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
  const shadow = asksShadow(spec) || spec.ensure === "absent" ? findShadow(host, name) : null;
  const withPassword = shadow && (asksPassword(spec) || spec.ensure === "absent");
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
      ...(withPassword && { shadow: shadow.password }),
      ...(shadow && { expires: fromExpiresDay(shadow.expiresDay) }),
    },
  };
}

/** Where the home of a new user will be. */
function homeOf({ name, home }: UserSpec, host: Host): string {
  if (home !== undefined) return home;
  const base = /^HOME=(.+)$/m.exec(readText("/etc/default/useradd", host) ?? "")?.[1];
  return `${base ?? "/home"}/${name}`;
}

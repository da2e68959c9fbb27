/**
 * What the rows of a group hold beside its number: passwords, administrators, and the order of its members in /etc/group and
 * /etc/gshadow. The programs of shadow-utils make a group anew without them, and keep both lists the same.
 */
import { z } from "zod";
import type { Host } from "../../../host/host.ts";
import { readTable, type Row } from "./accounts.ts";
import { readText, writeText } from "./text-file.ts";
import { toLines, toText } from "./text-lines.ts";

const groupPath = "/etc/group";
const shadowPath = "/etc/gshadow";

const namesSchema = z.array(z.string());

/** A group as its rows stood; without `shadow` it had no row in /etc/gshadow. */
export const groupRowsSchema = z.strictObject({
  password: z.string(),
  members: namesSchema,
  shadow: z.strictObject({ password: z.string(), admins: namesSchema, members: namesSchema }).optional(),
});

export type GroupRows = z.infer<typeof groupRowsSchema>;

/** Where a user stood in the lists of a group, from 0; absent = he was not in it. */
export const membershipPlaceSchema = z.strictObject({
  group: z.string(),
  member: z.int().min(0).optional(),
  shadow_member: z.int().min(0).optional(),
  admin: z.int().min(0).optional(),
});

export type MembershipPlace = z.infer<typeof membershipPlaceSchema>;

/** The rows of a group; null where there is none. `HOST_ERROR` where the agent may not read /etc/gshadow. */
export function findGroupRows(host: Host, name: string): GroupRows | null {
  const row = findRow(host, groupPath, name);
  if (!row) return null;
  const shadow = findRow(host, shadowPath, name);
  return {
    password: row[1] ?? "",
    members: namesOf(row[3]),
    ...(shadow && {
      shadow: { password: shadow[1] ?? "", admins: namesOf(shadow[2]), members: namesOf(shadow[3]) },
    }),
  };
}

/** The members that /etc/gshadow names, in its order; null where it has no row of the group. */
export function shadowMembers(host: Host, name: string): string[] | null {
  const row = findRow(host, shadowPath, name);
  return row ? namesOf(row[3]) : null;
}

/** Puts the rows of a group that is there as they stood. */
export function restoreGroupRows(host: Host, name: string, { password, members, shadow }: GroupRows): void {
  editRow(host, groupPath, name, ([group = "", , gid = ""]) => [group, password, gid, members.join()]);
  if (!shadow) return editRow(host, shadowPath, name, () => null);
  const { admins, members: shadowed } = shadow;
  editRow(host, shadowPath, name, () => [name, shadow.password, admins.join(), shadowed.join()]);
}

/** Whether /etc/gshadow names these members; null = none, in a row that others have use for or in no row. */
export function hasShadowMembers(host: Host, name: string, members: readonly string[] | null): boolean {
  const row = findRow(host, shadowPath, name);
  if (members !== null) return namesOf(row?.[3]).join() === members.join();
  return row === undefined || (isSetByOthers(row) && namesOf(row[3]).length === 0);
}

/** Whether somebody gave the group a password or administrators; a row that a program makes for its members has neither. */
function isSetByOthers([, password = "", admins = ""]: Row): boolean {
  return admins !== "" || !["", "x", "!", "*"].includes(password);
}

/** Puts the members that /etc/gshadow names as they stood; null = it had no row of the group, which goes unless others use it by now. */
export function restoreShadowMembers(host: Host, name: string, members: readonly string[] | null): void {
  editRow(host, shadowPath, name, (row) => {
    const [group = "", password = "", admins = ""] = row;
    if (members === null && !isSetByOthers(row)) return null;
    return [group, password, admins, (members ?? []).join()];
  });
}

/** Writes who is in a group, in both tables, for where its program takes none but users. */
export function setMembers(host: Host, name: string, members: readonly string[]): void {
  const list = members.join();
  editRow(host, groupPath, name, ([group = "", password = "", gid = ""]) => [group, password, gid, list]);
  editRow(host, shadowPath, name, ([group = "", password = "", admins = ""]) => [
    group,
    password,
    admins,
    list,
  ]);
}

/**
 * Is a member of a group that userdel must not take with its user, and no user himself: whoever finds him knows that a removal
 * was not finished.
 */
const keeper = "fleetwright-removes";

/** Whether a group was kept through the removal of its user, and was not given back. */
export function isKept(host: Host, name: string): boolean {
  return namesOf(findRow(host, groupPath, name)?.[3]).includes(keeper);
}

/** Makes the group of a user stay when he is removed, or gives it back as it stood. */
export function keepGroup(host: Host, name: string, isToStay: boolean): void {
  editRow(host, groupPath, name, ([group = "", password = "", gid = "", list]) => {
    const members = namesOf(list).filter((member) => member !== keeper);
    return [group, password, gid, [...members, ...(isToStay ? [keeper] : [])].join()];
  });
}

/** Where a user stands in every group that names him. */
export function membershipPlaces(host: Host, user: string): MembershipPlace[] {
  const places = new Map<string, MembershipPlace>();
  const note = (
    group: string,
    list: keyof Omit<MembershipPlace, "group">,
    names: readonly string[],
  ): void => {
    const at = names.indexOf(user);
    if (at !== -1) places.set(group, { ...(places.get(group) ?? { group }), [list]: at });
  };
  for (const [group = "", , , members] of readTable(host, groupPath)) note(group, "member", namesOf(members));
  for (const [group = "", , admins, members] of readTable(host, shadowPath)) {
    note(group, "admin", namesOf(admins));
    note(group, "shadow_member", namesOf(members));
  }
  return [...places.values()];
}

/** Puts a user, who is a member again, where he stood in the lists of his groups; those that are gone are left out. */
export function restoreMembershipPlaces(host: Host, user: string, places: readonly MembershipPlace[]): void {
  const put = (list: string | undefined, at: number | undefined): string => {
    const others = namesOf(list).filter((name) => name !== user);
    return (at === undefined ? others : others.toSpliced(at, 0, user)).join();
  };
  for (const { group, member, shadow_member, admin } of places) {
    editRow(host, groupPath, group, ([name = "", password = "", gid = "", members]) => [
      name,
      password,
      gid,
      put(members, member),
    ]);
    editRow(host, shadowPath, group, ([name = "", password = "", admins, members]) => [
      name,
      password,
      put(admins, admin),
      put(members, shadow_member),
    ]);
  }
}

/**
 * Writes one row anew, or takes it away, and leaves every other byte as it is. The locks of shadow-utils can't be taken from here; nothing else of this
 * process runs between the look and the write, which is why it is less time than any of their programs leaves.
 */
function editRow(host: Host, path: string, name: string, edit: (row: Row) => Row | null): void {
  const text = readText(path, host);
  const lines = toLines(text);
  const edited = toText(
    lines.flatMap((line) => {
      const row = line.text.split(":");
      if (row[0] !== name || row.length === 1) return [line];
      const after = edit(row);
      return after ? [{ ...line, text: after.join(":") }] : [];
    }),
  );
  if (text !== null && edited !== text) writeText(path, edited, host);
}

function findRow(host: Host, path: string, name: string): Row | undefined {
  return readTable(host, path).find((row) => row[0] === name);
}

function namesOf(list = ""): string[] {
  return list.split(",").filter((name) => name !== "");
}

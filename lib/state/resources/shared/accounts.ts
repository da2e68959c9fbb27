/** Users and groups as the account files of the machine name them. */
import { z } from "zod";
import type { Host } from "../../../host/host.ts";
import type { MaybeWaiting } from "../../../internal/maybe-waiting.ts";
import { ask, type Machine } from "./command.ts";
import { joinLines, readText, writeText } from "./text-file.ts";

/** A name that every program of the machine takes for a name: never an option, a number or two fields of a table. */
export const accountNameSchema = z
  .string()
  .max(32)
  .regex(/^[A-Za-z_][A-Za-z0-9_.-]*\$?$/, "must be a name of letters, digits, _ . or -");

/** A number of a user or group. The last two mean "none" to the kernel. */
export const accountIdSchema = z.number().int().min(0).max(4_294_967_293);

/** Whether the members that are declared are all ("inclusive") or those that must be among them ("minimum"). */
export const membershipSchema = z.enum(["minimum", "inclusive"]);

/** A line of /etc/passwd. */
export interface UserEntry {
  name: string;
  uid: number;
  gid: number;
  comment: string;
  home: string;
  shell: string;
}

/** A line of /etc/group. */
export interface GroupEntry {
  name: string;
  gid: number;
  members: string[];
}

/** A line of /etc/shadow. */
export interface ShadowEntry {
  /** The hash; a leading "!" locks it. */
  password: string;
  /** Its fields 3 to 7, with the colons between them: the day of the last change, and the ages that it may reach. */
  ages: string;
  /** Day on which the account ends, in days since 1970; null = never. */
  expiresDay: number | null;
}

export function findUser(host: Host, name: string): UserEntry | null {
  return listUsers(host).find((user) => user.name === name) ?? null;
}

/** A user of this machine or, where its files do not name him, of its name service (LDAP and the like); null = neither. */
export function findAccount(name: string, { host, signal }: Machine): MaybeWaiting<UserEntry | null> {
  const user = findUser(host, name);
  if (user || host.isConfined || host.users.userId(name) === null) return user;
  // Ends with 2 where nobody knows him.
  const asking = ask({ argv: ["getent", "passwd", name] }, { host, signal }, [0, 2]);
  return asking.then(({ stdout }) => {
    const fields = stdout.split("\n")[0]?.split(":") ?? [];
    return fields.length > 1 ? toUser(fields) : null;
  });
}

/** Where the home of a new user will be that says none. */
export function homeOfNew(name: string, host: Host): string {
  const base = /^HOME=(.+)$/m.exec(readText("/etc/default/useradd", host) ?? "")?.[1];
  return `${base ?? "/home"}/${name}`;
}

export function listUsers(host: Host): UserEntry[] {
  return readTable(host, "/etc/passwd").map(toUser);
}

function toUser(fields: Row): UserEntry {
  const [name = "", , uid, gid, comment = "", home = "", shell = ""] = fields;
  return { name, uid: Number(uid), gid: Number(gid), comment, home, shell };
}

export function listGroups(host: Host): GroupEntry[] {
  return readTable(host, "/etc/group").map(([name = "", , gid, members = ""]) => ({
    name,
    gid: Number(gid),
    members: members.split(",").filter((member) => member !== ""),
  }));
}

export function findGroup(host: Host, name: string): GroupEntry | null {
  return listGroups(host).find((group) => group.name === name) ?? null;
}

/** Names of the supplementary groups of a user, sorted. */
export function groupsOf(host: Host, user: string): string[] {
  const groups = listGroups(host).filter((group) => group.members.includes(user));
  return groups.map((group) => group.name).sort();
}

/** `HOST_ERROR` where the agent may not read it. */
export function findShadow(host: Host, name: string): ShadowEntry | null {
  const fields = readTable(host, "/etc/shadow").find((entry) => entry[0] === name);
  if (!fields) return null;
  const expires = fields[7] ?? "";
  const ages = Array.from({ length: 5 }, (_, at) => fields[at + 2] ?? "").join(":");
  return { password: fields[1] ?? "", ages, expiresDay: expires === "" ? null : Number(expires) };
}

/** What the members are to be, sorted, given those there are. */
export function wantedMembers(
  declared: readonly string[],
  present: readonly string[],
  membership: z.infer<typeof membershipSchema>,
): string[] {
  return [...new Set(membership === "inclusive" ? declared : [...present, ...declared])].sort();
}

/** The lines of a table that are about one name, counted from 1. */
export function linesAbout(host: Host, path: string, name: string): number[] {
  const lines = (readText(path, host) ?? "").split("\n");
  return lines.flatMap((line, index) => (line.startsWith(`${name}:`) ? [index + 1] : []));
}

/** The fields of a line. */
export type Row = string[];

/** Writes a table anew; what is no entry of it goes. */
export function editTable(host: Host, path: string, edit: (rows: Row[]) => Row[]): void {
  const lines = edit(readTable(host, path)).map((row) => row.join(":"));
  writeText(path, joinLines(lines), host);
}

/** The entries of a table; none where there is no such file. */
export function readTable(host: Host, path: string): Row[] {
  const lines = (readText(path, host) ?? "").split("\n");
  return lines.filter((line) => line.includes(":")).map((line) => line.split(":"));
}

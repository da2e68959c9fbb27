/** Users and groups in the account files of a foreseen machine, as the programs of shadow-utils would write them. */
import type { ForeseenMachine } from "../../resource-type.ts";
import type { Change } from "../../result.ts";
import {
  editTable,
  findGroup,
  findUser,
  groupsOf,
  listUsers,
  readTable,
  type Row,
  type UserEntry,
  wantedMembers,
} from "../shared/accounts.ts";
import { readText } from "../shared/text-file.ts";
import { wantedGroups } from "./obstacles.ts";
import { createsHome, leavingHome, type UserSpec } from "./properties.ts";

const [passwdPath, groupPath, skeleton] = ["/etc/passwd", "/etc/group", "/etc/skel"] as const;

/** Makes the changes of a `user` there; `home` is where that of a new one will be. */
export function foreseeUser(
  spec: UserSpec,
  { changes, home }: { changes: readonly Change[]; home: string },
  host: ForeseenMachine,
): void {
  const { name } = spec;
  if (spec.ensure === "absent") return forgetUser(spec, host);
  const { group, group_gid, system } = spec;
  const changed = new Set(changes.map(({ property }) => property));
  const isToBring = changed.has("ensure") || changed.has("group");
  if (isToBring && group !== undefined && group_gid !== undefined && gidOf(group, host) === undefined)
    foreseeGroup(group, { gid: group_gid, system }, host);
  if (changed.has("ensure")) addUser(spec, home, host);
  const gid = spec.group === undefined ? undefined : gidOf(spec.group, host);
  const fields = [undefined, undefined, spec.uid, gid, spec.comment, spec.home, spec.shell];
  const before = findUser(host, name);
  editTable(host, passwdPath, (rows) =>
    rows.map((row) => (row[0] === name ? row.map((field, at) => String(fields[at] ?? field)) : row)),
  );
  const after = findUser(host, name);
  if (before && after && !changed.has("ensure")) foreseeOwner(before, after, host);
  const wanted = wantedGroups(spec, host);
  if (!wanted || !after) return;
  const groups = new Set(wantedMembers(wanted, groupsOf(host, name), spec.membership));
  setGroups(name, groups, host);
}

/** Makes or changes a group there, or takes it away with `null`. Members that are not given stay. */
export function foreseeGroup(
  name: string,
  wanted: { gid?: number | undefined; members?: readonly string[] | undefined; system: boolean } | null,
  host: ForeseenMachine,
): void {
  if (wanted === null) return editTable(host, groupPath, (rows) => rows.filter((row) => row[0] !== name));
  const { gid, members, system } = wanted;
  const before = findGroup(host, name)?.gid;
  if (before !== undefined && gid !== undefined && gid !== before) foreseePrimary(before, gid, host);
  if (before === undefined) {
    const number = gid ?? freeId(host, groupPath, system);
    editTable(host, groupPath, (rows) => [...rows, [name, "x", String(number), ""]]);
  }
  editTable(host, groupPath, (rows) =>
    rows.map((row) => {
      if (row[0] !== name) return row;
      return [name, row[1] ?? "x", String(gid ?? row[2]), members?.join(",") ?? row[3] ?? ""];
    }),
  );
}

/** As groupmod(8) does it: users whose primary group it is stay in it. */
function foreseePrimary(before: number, after: number, host: ForeseenMachine): void {
  if (!listUsers(host).some(({ gid }) => gid === before)) return;
  editTable(host, passwdPath, (rows) =>
    rows.map((row) => row.map((field, at) => (at === 3 && Number(field) === before ? String(after) : field))),
  );
}

/** As usermod(8) does it: what the user, or the group, has in the home goes with the number, where the home is the user's. */
function foreseeOwner(before: UserEntry, after: UserEntry, host: ForeseenMachine): void {
  if (before.uid === after.uid && before.gid === after.gid) return;
  const { files } = host;
  const stat = after.home.startsWith("/") ? files.stat(after.home) : null;
  // Some versions of it refuse that, others follow the link.
  if (stat?.kind === "symlink")
    host.cannotTell(`The home ${after.home} is a link: usermod may refuse to hand over what it leads to.`);
  if (stat?.kind !== "directory" || (stat.uid !== before.uid && stat.uid !== after.uid)) return;
  files.handOver(after.home, { from: before, to: after });
}

function addUser(spec: UserSpec, home: string, host: ForeseenMachine): void {
  const { name, group, system } = spec;
  if (group === undefined && !findGroup(host, name)) foreseeGroup(name, { system }, host);
  const uid = spec.uid ?? freeId(host, passwdPath, system);
  const gid = gidOf(group ?? name, host) ?? uid;
  const row = [name, "x", String(uid), String(gid), spec.comment ?? "", home, spec.shell ?? "/bin/sh"];
  editTable(host, passwdPath, (rows) => [...rows, row]);
  if (!createsHome(spec) || host.files.stat(home)) return;
  host.files.makeDirectory(home, { mode: homeMode(host), uid, gid });
  if (host.files.stat(skeleton)?.kind === "directory") fillHome(skeleton, home, { host, uid, gid });
}

/** As the settings of useradd(8) say. */
function homeMode(host: ForeseenMachine): number {
  const settings = readText("/etc/login.defs", host) ?? "";
  const valueOf = (name: string): number | null => {
    const [, digits] = new RegExp(`^[ \\t]*${name}[ \\t]+([0-7]{1,4})\\b`, "m").exec(settings) ?? [];
    return digits === undefined ? null : Number.parseInt(digits, 8);
  };
  return valueOf("HOME_MODE") ?? 0o777 & ~(valueOf("UMASK") ?? 0o022);
}

/** What every new home begins with. */
function fillHome(
  from: string,
  home: string,
  { host, uid, gid }: { host: ForeseenMachine; uid: number; gid: number },
): void {
  const { files } = host;
  for (const name of files.list(from)) {
    const [source, path] = [`${from}/${name}`, `${home}/${name}`];
    const { kind, mode } = files.stat(source) ?? { kind: "other", mode: 0 };
    if (kind === "file") files.copyFile(source, path, { mode, uid, gid });
    if (kind === "symlink") files.makeSymlink(path, files.readLink(source));
    if (kind !== "directory") continue;
    files.makeDirectory(path, { mode, uid, gid });
    fillHome(source, path, { host, uid, gid });
  }
}

/** The group with the user's name goes too, unless others are in it. */
function forgetUser(spec: UserSpec, host: ForeseenMachine): void {
  const { name, keep_group } = spec;
  const user = findUser(host, name);
  editTable(host, passwdPath, (rows) => rows.filter((row) => row[0] !== name));
  setGroups(name, new Set(), host);
  const own = findGroup(host, name);
  const goes = keep_group !== true && own !== null && own.gid === user?.gid && own.members.length === 0;
  if (goes) foreseeGroup(name, null, host);
  const home = leavingHome(spec, user?.home);
  if (home !== null) host.files.removeAll(home);
}

function setGroups(user: string, groups: ReadonlySet<string>, host: ForeseenMachine): void {
  editTable(host, groupPath, (rows) =>
    rows.map(([name = "", password = "", gid = "", list = ""]) => {
      const members = list.split(",").filter((member) => member !== "");
      if (members.includes(user) === groups.has(name)) return [name, password, gid, list];
      const others = members.filter((member) => member !== user);
      return [name, password, gid, [...others, ...(groups.has(name) ? [user] : [])].join(",")];
    }),
  );
}

function gidOf(group: string, host: ForeseenMachine): number | undefined {
  return /^\d+$/.test(group) ? Number(group) : findGroup(host, group)?.gid;
}

/** A number that nobody has: which one the machine takes is its affair. */
function freeId(host: ForeseenMachine, path: string, system: boolean): number {
  const taken = new Set(readTable(host, path).map((row: Row) => Number(row[2])));
  let id = system ? 100 : 1000;
  while (taken.has(id)) id += 1;
  return id;
}

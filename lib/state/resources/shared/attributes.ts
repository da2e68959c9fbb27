/** Mode, owner and group: the same for files and folders. */
import type { FileAttributes, FileStat, Host } from "../../../host/host.ts";
import type { Change } from "../../result.ts";
import { missing } from "./missing.ts";
import { accountSchema, modeSchema } from "./properties.ts";

/** The properties in a schema. */
export const attributeShape = {
  mode: modeSchema.optional(),
  owner: accountSchema.optional(),
  group: accountSchema.optional(),
};

const attributeNames = ["mode", "owner", "group"] as const;

/** The properties, as a module writes them. */
export interface AttributeProperties {
  mode?: string | undefined;
  owner?: string | undefined;
  group?: string | undefined;
}

/** What differs between what is declared and what stands. What is not declared never differs. */
export function compareAttributes(spec: AttributeProperties, stat: FileStat, host: Host): Change[] {
  const changes: Change[] = [];
  if (spec.mode !== undefined && Number.parseInt(spec.mode, 8) !== stat.mode) {
    changes.push({ property: "mode", before: printMode(stat.mode), after: spec.mode });
  }
  if (spec.owner !== undefined && findUser(spec.owner, host) !== stat.uid) {
    changes.push({ property: "owner", before: printUser(stat.uid, host), after: spec.owner });
  }
  if (spec.group !== undefined && findGroup(spec.group, host) !== stat.gid) {
    changes.push({ property: "group", before: printGroup(stat.gid, host), after: spec.group });
  }
  return changes;
}

/** The changes of what does not stand there yet. */
export function newAttributes(spec: AttributeProperties): Change[] {
  const changes: Change[] = [];
  for (const property of attributeNames) {
    const after = spec[property];
    if (after !== undefined) changes.push({ property, before: null, after });
  }
  return changes;
}

/** What is declared, in the machine's numbers. `HOST_ERROR` for an account that does not exist. */
export function toFileAttributes(spec: AttributeProperties, host: Host): FileAttributes {
  const attributes: FileAttributes = {};
  if (spec.mode !== undefined) attributes.mode = Number.parseInt(spec.mode, 8);
  if (spec.owner !== undefined) attributes.uid = required(findUser(spec.owner, host), "user", spec.owner);
  if (spec.group !== undefined) attributes.gid = required(findGroup(spec.group, host), "group", spec.group);
  return attributes;
}

/** What stands, as a module would write it. */
export function captureAttributes(
  stat: FileStat,
  host: Host,
): { mode: string; owner: string; group: string } {
  const [owner, group] = [printUser(stat.uid, host), printGroup(stat.gid, host)];
  return {
    mode: printMode(stat.mode),
    owner: isAccount(owner) ? owner : String(stat.uid),
    group: isAccount(group) ? group : String(stat.gid),
  };
}

/** A directory service may have names that no module can write, such as those with a domain behind them. */
const isAccount = (name: string): boolean => accountSchema.safeParse(name).success;

/** Permission bits as a module writes them. */
export function printMode(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

function printUser(uid: number, host: Host): string {
  return host.users.userName(uid) ?? String(uid);
}

function printGroup(gid: number, host: Host): string {
  return host.users.groupName(gid) ?? String(gid);
}

function findUser(account: string, host: Host): number | null {
  return /^\d+$/.test(account) ? Number(account) : host.users.userId(account);
}

function findGroup(account: string, host: Host): number | null {
  return /^\d+$/.test(account) ? Number(account) : host.users.groupId(account);
}

function required(id: number | null, kind: string, name: string): number {
  if (id !== null) return id;
  throw missing(`There is no ${kind} "${name}".`, { [kind]: name });
}

/** Mode, owner and group: the same for files and folders. */
import { z } from "zod";
import type { FileAttributes, FileStat, Host } from "../../../host/host.ts";
import type { Change } from "../../result.ts";
import { missing } from "./obstacle.ts";
import { accountSchema, modeSchema } from "./properties.ts";

/** The properties in a schema. */
export const attributeShape = {
  mode: modeSchema.optional(),
  owner: accountSchema.optional(),
  group: accountSchema.optional(),
};

/** The numbers of a captured owner and group, for when their names are nobody's any more. */
export const ownerNumbersShape = {
  uid: z.int().min(0).optional(),
  gid: z.int().min(0).optional(),
};

const attributeNames = ["mode", "owner", "group"] as const;

/** The properties, as a module writes them. */
export interface AttributeProperties {
  mode?: string | undefined;
  owner?: string | undefined;
  group?: string | undefined;
  /** What they are where there is no such name; of what was captured alone. */
  uid?: number | undefined;
  gid?: number | undefined;
}

/** What differs between what is declared and what stands. What is not declared never differs. */
export function compareAttributes(spec: AttributeProperties, stat: FileStat, host: Host): Change[] {
  const changes: Change[] = [];
  if (spec.mode !== undefined && Number.parseInt(spec.mode, 8) !== stat.mode) {
    changes.push({ property: "mode", before: printMode(stat.mode), after: spec.mode });
  }
  if (spec.owner !== undefined && findUser(spec, host) !== stat.uid) {
    changes.push({ property: "owner", before: printUser(stat.uid, host), after: spec.owner });
  }
  if (spec.group !== undefined && findGroup(spec, host) !== stat.gid) {
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
  if (spec.owner !== undefined) attributes.uid = required(findUser(spec, host), "user", spec.owner);
  if (spec.group !== undefined) attributes.gid = required(findGroup(spec, host), "group", spec.group);
  return attributes;
}

/** What stands, as a module would write it. */
export function captureAttributes(
  { mode, uid, gid }: FileStat,
  host: Host,
): { mode: string; owner: string; group: string; uid?: number; gid?: number } {
  const [owner, group] = [host.users.userName(uid), host.users.groupName(gid)];
  return {
    mode: printMode(mode),
    ...(isAccount(owner) ? { owner, uid } : { owner: String(uid) }),
    ...(isAccount(group) ? { group, gid } : { group: String(gid) }),
  };
}

/** What stands of what is declared. The set-id bits of a file go with its owner, and its mode comes back with him. */
export function captureDeclared(
  { mode, owner, group }: AttributeProperties,
  stat: FileStat,
  host: Host,
): AttributeProperties {
  const all: AttributeProperties = captureAttributes(stat, host);
  const moves = owner !== undefined || group !== undefined;
  const losesBits = moves && stat.kind === "file" && (stat.mode & 0o6000) !== 0;
  const captured: AttributeProperties = {};
  if (mode !== undefined || losesBits) captured.mode = all.mode;
  if (owner !== undefined)
    Object.assign(captured, { owner: all.owner }, all.uid !== undefined && { uid: all.uid });
  if (group !== undefined)
    Object.assign(captured, { group: all.group }, all.gid !== undefined && { gid: all.gid });
  return captured;
}

/** A directory service may have names that no module can write, such as those with a domain behind them. */
function isAccount(name: string | null): name is string {
  return accountSchema.safeParse(name).success;
}

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

function findUser({ owner = "", uid }: AttributeProperties, host: Host): number | null {
  return /^\d+$/.test(owner) ? Number(owner) : (host.users.userId(owner) ?? uid ?? null);
}

function findGroup({ group = "", gid }: AttributeProperties, host: Host): number | null {
  return /^\d+$/.test(group) ? Number(group) : (host.users.groupId(group) ?? gid ?? null);
}

function required(id: number | null, kind: string, name: string): number {
  if (id !== null) return id;
  throw missing(`There is no ${kind} "${name}".`, { [kind]: name });
}

/** Users and groups of a machine as it will be. */
import type { Host, HostUsers } from "../../host/host.ts";
import type { ForeseenFiles } from "./foreseen-files.ts";
import type { ForeseenNode, ForeseenTree } from "./foreseen-tree.ts";

const accountFiles = { user: "/etc/passwd", group: "/etc/group" } as const;

type Kind = keyof typeof accountFiles;

/**
 * Accounts from the account files where these differ, which on a confined host are not those of its machine. Who stands in neither
 * the file as it will be nor the one there is, is one of the machine's name service.
 */
export function foreseenUsers(files: ForeseenFiles, below: Host, tree: ForeseenTree): HostUsers {
  const { users, isConfined } = below;
  // A table of ten thousand users is not taken apart again for each of thousands of files.
  const taken = new Map<string, { node: ForeseenNode; ids: Map<string, number> }>();
  const present = new Map<Kind, Map<string, number>>();
  const table = (kind: Kind): Map<string, number> | null => {
    const path = accountFiles[kind];
    if (!tree.isChanged || isConfined) return null;
    const { node } = tree.find(path);
    if (node?.kind !== "file") return null;
    const known = taken.get(path);
    if (known?.node === node) return known.ids;
    const ids = toIds(files.readFile(path));
    taken.set(path, { node, ids });
    return ids;
  };
  /** Null where there is no such file now: then the one that is foreseen is all there is. */
  const idsNow = (kind: Kind): Map<string, number> | null => {
    const path = accountFiles[kind];
    const known = present.get(kind);
    if (known || below.files.stat(path)?.kind !== "file") return known ?? null;
    const ids = toIds(below.files.readFile(path));
    present.set(kind, ids);
    return ids;
  };
  const idOf = (kind: Kind, name: string): number | null => {
    const ask = (): number | null => (kind === "user" ? users.userId(name) : users.groupId(name));
    const ids = table(kind);
    if (!ids) return ask();
    const now = idsNow(kind);
    return ids.get(name) ?? (now && !now.has(name) ? ask() : null);
  };
  const nameOf = (kind: Kind, id: number): string | null => {
    const ask = (): string | null => (kind === "user" ? users.userName(id) : users.groupName(id));
    const ids = table(kind);
    if (!ids) return ask();
    const now = idsNow(kind);
    return nameIn(ids, id) ?? (now && nameIn(now, id) === null ? ask() : null);
  };
  return {
    userId: (name) => idOf("user", name),
    groupId: (name) => idOf("group", name),
    userName: (uid) => nameOf("user", uid),
    groupName: (gid) => nameOf("group", gid),
  };
}

function toIds(file: Uint8Array): Map<string, number> {
  const lines = new TextDecoder().decode(file).split("\n");
  const entries = lines.map((line) => line.split(":")).filter((fields) => fields.length > 2);
  return new Map(entries.map(([name = "", , id]) => [name, Number(id)]));
}

function nameIn(ids: ReadonlyMap<string, number>, id: number): string | null {
  for (const [name, each] of ids) if (each === id) return name;
  return null;
}

/** Users and groups of a machine as it will be. */
import type { Host, HostUsers } from "../../host/host.ts";
import type { ForeseenFiles } from "./foreseen-files.ts";
import type { ForeseenNode, ForeseenTree } from "./foreseen-tree.ts";

const accountFiles = { user: "/etc/passwd", group: "/etc/group" } as const;

/** Accounts from the account files where these differ, which on a confined host are not those of its machine. */
export function foreseenUsers(files: ForeseenFiles, below: Host, tree: ForeseenTree): HostUsers {
  const { users, isConfined } = below;
  // A table of ten thousand users is not taken apart again for each of thousands of files.
  const taken = new Map<string, { node: ForeseenNode; ids: Map<string, number> }>();
  const table = (kind: keyof typeof accountFiles): Map<string, number> | null => {
    const path = accountFiles[kind];
    if (!tree.isChanged || isConfined) return null;
    const { node } = tree.find(path);
    if (node?.kind !== "file") return null;
    const known = taken.get(path);
    if (known?.node === node) return known.ids;
    const lines = new TextDecoder().decode(files.readFile(path)).split("\n");
    const entries = lines.map((line) => line.split(":")).filter((fields) => fields.length > 2);
    const ids = new Map(entries.map(([name = "", , id]) => [name, Number(id)]));
    taken.set(path, { node, ids });
    return ids;
  };
  const nameIn = (ids: ReadonlyMap<string, number>, id: number): string | null => {
    for (const [name, each] of ids) if (each === id) return name;
    return null;
  };
  const idOf = (kind: keyof typeof accountFiles, name: string, known: (name: string) => number | null) => {
    const ids = table(kind);
    return ids ? (ids.get(name) ?? null) : known(name);
  };
  const nameOf = (kind: keyof typeof accountFiles, id: number, known: (id: number) => string | null) => {
    const ids = table(kind);
    return ids ? nameIn(ids, id) : known(id);
  };
  return {
    userId: (name) => idOf("user", name, (each) => users.userId(each)),
    groupId: (name) => idOf("group", name, (each) => users.groupId(each)),
    userName: (uid) => nameOf("user", uid, (each) => users.userName(each)),
    groupName: (gid) => nameOf("group", gid, (each) => users.groupName(each)),
  };
}

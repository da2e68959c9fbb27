/** The things of a small machine that the agent and somebody else change, and what can be done to each. */
import type { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";

/** One thing: what can be wanted of it, what somebody else may do to it, and how it stands. */
export interface Thing {
  name: string;
  /** What names it in the applied set. */
  identity: string;
  /** Ways in which it can be wanted. */
  wishes: readonly JsonObject[];
  /** What somebody else does to it; refused where something is in the way. */
  edits: readonly ((host: MemoryHost) => void)[];
  /** All of it that may be changed. */
  look(host: MemoryHost): unknown;
  /** Puts it back as it was looked at. */
  put(host: MemoryHost, seen: unknown): void;
  /** Programs change it, which tell nothing of what they did: somebody else keeps away while one runs. */
  byProgram?: true;
}

interface SeenPath {
  kind: string;
  mode: number;
  uid: number;
  is: unknown;
}

function lookAt({ files }: MemoryHost, path: string): SeenPath | null {
  const stat = files.stat(path);
  if (!stat) return null;
  const { kind, mode, uid } = stat;
  const text = (): string => Buffer.from(files.readFile(path)).toString();
  const is = kind === "file" ? text() : kind === "symlink" ? files.readLink(path) : files.list(path);
  return { kind, mode, uid, is };
}

function clear({ files }: MemoryHost, path: string): void {
  const kind = files.stat(path)?.kind;
  if (kind === "directory") {
    for (const name of files.list(path)) files.removeFile(`${path}/${name}`);
    files.removeDirectory(path);
  } else if (kind) files.removeFile(path);
}

function put(host: MemoryHost, path: string, seen: SeenPath | null): void {
  const { files } = host;
  clear(host, path);
  if (!seen) return;
  const { kind, mode, uid, is } = seen;
  if (kind === "symlink") files.makeSymlink(path, String(is));
  else if (kind === "file") files.writeFile(path, Buffer.from(String(is)), { mode, uid });
  else {
    files.makeDirectory(path, { mode, uid });
    for (const name of is as string[]) files.writeFile(`${path}/${name}`, Buffer.from(""), {});
  }
}

const write =
  (path: string, text: string, attributes: { mode: number; uid: number }) =>
  (host: MemoryHost): void => {
    if (host.files.stat(path)?.kind === "symlink") host.files.removeFile(path);
    host.files.writeFile(path, Buffer.from(text), attributes);
  };

function pathThing(path: string): Thing {
  const base = { path, on_failure: "continue" };
  const file = { ...base, id: path, type: "file", force: true };
  return {
    name: path,
    identity: `path:${path}`,
    wishes: [
      { ...file, content: "one\n" },
      { ...file, content: "two\n", mode: "0600", owner: "web" },
      { ...file, content: "judged\n", validate: ["judge", path, "%"] },
      { ...file, content: "again\n", retry: { attempts: 3, delay_seconds: 0 } },
      { ...file, ensure: "absent" },
      { ...base, id: path, type: "symlink", target: "elsewhere", force: true },
    ],
    edits: [
      write(path, "theirs\n", { mode: 0o644, uid: 0 }),
      write(path, "other\n", { mode: 0o640, uid: 33 }),
      write(path, "one\n", { mode: 0o644, uid: 0 }),
      (host) => host.files.makeSymlink(path, "theirs"),
      (host) => clear(host, path),
    ],
    look: (host) => lookAt(host, path),
    put: (host, seen) => put(host, path, seen as SeenPath | null),
  };
}

function folderThing(path: string): Thing {
  const wish = { id: path, type: "directory", path, on_failure: "continue" };
  return {
    name: path,
    identity: `path:${path}`,
    wishes: [
      { ...wish, mode: "0750" },
      { ...wish, mode: "0700", owner: "web" },
      { ...wish, ensure: "absent" },
    ],
    edits: [
      (host) => host.files.makeDirectory(path, { mode: 0o755 }),
      (host) => host.files.setAttributes(path, { mode: 0o711 }),
      (host) => host.files.writeFile(`${path}/inner`, Buffer.from(""), {}),
      (host) => clear(host, path),
    ],
    look: (host) => lookAt(host, path),
    put: (host, seen) => put(host, path, seen as SeenPath | null),
  };
}

/** A part of a text. The wishes name the part alone; somebody else writes the whole text anew. */
function partThing(path: string, wish: JsonObject, parts: readonly string[]): Thing {
  const isLine = wish["type"] === "line";
  const set = (part: string) => write(path, `first\n${part}last\n`, { mode: 0o644, uid: 0 });
  const base = { id: path, path, on_failure: "continue", create: true, ...wish };
  return {
    name: path,
    identity: isLine ? `line:${path}: k=*` : `block:${path}: b`,
    wishes: parts.map((part) => (isLine ? { ...base, line: part } : { ...base, content: `${part}\n` })),
    edits: [
      set(""),
      ...[...parts, "k=9"].map((part) => set(isLine ? `${part}\n` : `# BEGIN b\n${part}\n# END b\n`)),
      (host) => clear(host, path),
    ],
    look: (host) => lookAt(host, path),
    put: (host, seen) => put(host, path, seen as SeenPath | null),
  };
}

function run(host: MemoryHost, ...argv: [string, ...string[]]): void {
  // The models of these programs answer before anybody waits.
  void host.run({ argv }, new AbortController().signal);
}

function rowOf(host: MemoryHost, table: string, name: string): string | null {
  const rows = Buffer.from(host.files.readFile(table)).toString().split("\n");
  return rows.find((row) => row.startsWith(`${name}:`)) ?? null;
}

function putRow(host: MemoryHost, table: string, { name, row }: { name: string; row: string | null }): void {
  const rows = Buffer.from(host.files.readFile(table)).toString().split("\n").filter(Boolean);
  const kept = rows.filter((each) => !each.startsWith(`${name}:`));
  host.files.writeFile(table, Buffer.from(`${[...kept, ...(row === null ? [] : [row])].join("\n")}\n`), {});
}

const group: Thing = {
  name: "group",
  identity: "group:ops",
  wishes: [
    { id: "group", type: "group", name: "ops", gid: 2000, on_failure: "continue" },
    { id: "group", type: "group", name: "ops", gid: 2001, members: ["root"], on_failure: "continue" },
  ],
  edits: [
    (host) => run(host, "groupadd", "-g", "2005", "ops"),
    (host) => run(host, "groupmod", "-g", "2006", "ops"),
    (host) => run(host, "groupdel", "ops"),
  ],
  look: (host) => rowOf(host, "/etc/group", "ops"),
  put: (host, row) => putRow(host, "/etc/group", { name: "ops", row: row as string | null }),
  byProgram: true,
};

const user: Thing = {
  name: "user",
  identity: "user:bob",
  wishes: [
    { id: "user", type: "user", name: "bob", group: "users", shell: "/bin/one", on_failure: "continue" },
    { id: "user", type: "user", name: "bob", group: "users", shell: "/bin/two", on_failure: "continue" },
  ],
  edits: [
    (host) => run(host, "useradd", "-M", "-g", "users", "bob"),
    (host) => run(host, "usermod", "-s", "/bin/theirs", "bob"),
    (host) => run(host, "userdel", "bob"),
  ],
  look: (host) => rowOf(host, "/etc/passwd", "bob"),
  put: (host, row) => putRow(host, "/etc/passwd", { name: "bob", row: row as string | null }),
  byProgram: true,
};

/** Every thing of the machine. None has a part in another. */
export const things: readonly Thing[] = [
  pathThing("/w/a"),
  pathThing("/w/b"),
  folderThing("/w/d"),
  partThing("/w/line", { type: "line", match: "k=*" }, ["k=1", "k=2"]),
  partThing("/w/block", { type: "block", name: "b" }, ["x=1", "x=2"]),
  group,
  user,
];

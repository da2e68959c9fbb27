/**
 * A checkout that was cut by a kill, a power loss or a full disk. The files that it had written look changed to git, and those of a first
 * one strange. What the commits hold tells them from what somebody else has put there.
 */
import { createHash } from "node:crypto";
import type { HostCommand, HostFiles } from "../../../host/host.ts";
import { ask, attempt, type Machine } from "../shared/command.ts";
import { refuse, type SharedPlace } from "./folder.ts";
import {
  askInClone,
  changeClone,
  commandFor,
  type GitPlace,
  hasCommit,
  headOf,
  isWholeHash,
} from "./program.ts";

const note = "fleetwright.checkout";
const unborn = "none";

/** Commits that the files of a clone may be of. */
export interface Checkout {
  /** What was checked out before; null: nothing. */
  from: string | null;
  /** What was to be since, the last one last. */
  to: readonly string[];
}

/** Says on disk what is about to be checked out, before the first file changes. It stays until all files are written. */
export async function noteCheckout(place: GitPlace, { from, to }: Checkout, machine: Machine): Promise<void> {
  await changeClone(place, ["config", note, [from ?? unborn, ...to].join(" ")], machine);
  // A system that can't sync one disk need not.
  await machine.host.run({ argv: ["sync", "-f", ".git"], cwd: place.path }, machine.signal);
}

/** Takes the note away. */
export async function forgetCheckout(place: GitPlace, machine: Machine): Promise<void> {
  // 5: there is none.
  const command = { ...commandFor(place, ["config", "--unset-all", note]), cwd: place.path };
  await attempt({ ...command, onOutput: () => {} }, { ...machine, staysInRoot: true }, [0, 5]);
}

/** The checkout that was not ended; null where there is none, or where somebody has checked out something else since. */
export async function interruptedCheckout(
  place: GitPlace,
  head: string | null,
  machine: Machine,
): Promise<Checkout | null> {
  const { stdout } = await askInClone(place, ["config", "--get", note], { ...machine, codes: [0, 1] });
  const [from = "", ...noted] = stdout.trim().split(" ");
  if (![from, ...noted].includes(head ?? unborn)) return null;
  const [known, ...to] = await Promise.all(
    [from, ...noted].map((commit) => knownCommit(place, commit, machine)),
  );
  const there = to.filter((commit) => commit !== null);
  return there.length === 0 ? null : { from: known ?? null, to: there };
}

async function knownCommit(place: GitPlace, commit: string, machine: Machine): Promise<string | null> {
  return isWholeHash(commit) && (await hasCommit(place, commit, machine)) ? commit : null;
}

/** Why a clone is left alone. */
export const holdsChanges = "holds changed files, which only force overwrites";

/** Refuses what somebody else has put into an interrupted checkout, as far as the wanted commit is known. */
export async function requireOwn(
  place: GitPlace,
  checkout: Checkout & { wanted: string | null },
  machine: Machine,
): Promise<void> {
  const { inTheWay } = await foreignPaths(place, checkout, machine);
  if (inTheWay > 0) throw refuse(place.path, holdsChanges);
}

/** What somebody else has put into a clone whose checkout was interrupted. */
export interface ForeignPaths {
  /** Changed, or new where the wanted commit has something: only force overwrites it. */
  inTheWay: number;
  /** New, and in nobody's way. */
  beside: number;
}

/**
 * Tells what of a clone comes from none of the commits, and is not a file that was cut while it was written. What was deleted can't be told from
 * what git took away; it is nobody's. What others declare is left out.
 */
export async function foreignPaths(
  place: SharedPlace,
  { from, to, wanted }: Checkout & { wanted: string | null },
  machine: Machine,
): Promise<ForeignPaths> {
  const paths = await changedPaths(place, machine);
  const commits = from === null ? to : [from, ...to];
  const entries = await entriesOf(place, commits, new Set(paths.map(({ path }) => path)), machine);
  const strange = paths.filter(({ path, isUntracked }) => isUntracked && !entries.has(path));
  const changed = paths.filter((each) => !strange.includes(each));
  const colliding = await countColliding(
    place,
    strange.map(({ path }) => path),
    wanted,
    machine,
  );
  const found = { inTheWay: colliding, beside: strange.length - colliding };
  const files: string[] = [];
  for (const { path } of changed) {
    const known = entries.get(path) ?? [];
    const submodules = known.filter(isSubmodule).map(({ id }) => id);
    if (submodules.length === 0) files.push(path);
    else {
      const { inTheWay, beside } = await foreignInSubmodule(place, path, submodules, machine);
      found.inTheWay += inTheWay;
      found.beside += beside;
    }
  }
  found.inTheWay += await countForeign(place, files, entries, machine);
  return found;
}

/** What is at a path in the tree of a commit. */
interface TreeEntry {
  mode: string;
  id: string;
}

/** By path, what is there in the commits. */
type Entries = ReadonlyMap<string, readonly TreeEntry[]>;

const isFile = ({ mode }: TreeEntry): boolean => mode.startsWith("10");
const isLink = ({ mode }: TreeEntry): boolean => mode.startsWith("12");
const isSubmodule = ({ mode }: TreeEntry): boolean => mode.startsWith("16");

/** What git calls changed or does not know, without what is no longer there. */
async function changedPaths(
  { others = [], ...place }: SharedPlace,
  machine: Machine,
): Promise<{ path: string; isUntracked: boolean }[]> {
  const args = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
  const { stdout } = await askInClone(place, [...args, "--ignore-submodules=none"], machine);
  return stdout
    .split("\0")
    .filter((line) => line !== "" && !isDeletion(line.slice(0, 2)))
    .map((line) => ({ path: line.slice(3).replace(/\/$/, ""), isUntracked: line.startsWith("??") }))
    .filter((each) => !others.some((other) => `${place.path}/${each.path}/`.startsWith(`${other}/`)));
}

/** What stands in its place is told by itself. */
function isDeletion(code: string): boolean {
  return code === "D " || code.endsWith("D");
}

async function entriesOf(
  place: GitPlace,
  commits: readonly string[],
  paths: ReadonlySet<string>,
  machine: Machine,
): Promise<Entries> {
  const entries = new Map<string, TreeEntry[]>();
  if (paths.size === 0) return entries;
  for (const commit of commits) {
    for (const { path, ...entry } of await treeOf(place, commit, machine))
      if (paths.has(path)) entries.set(path, [...(entries.get(path) ?? []), entry]);
  }
  return entries;
}

async function treeOf(
  place: GitPlace,
  commit: string,
  machine: Machine,
): Promise<(TreeEntry & { path: string })[]> {
  const { stdout } = await askInClone(place, ["ls-tree", "-r", "-z", "--full-tree", commit], machine);
  const lines = stdout.matchAll(/(\d+) \S+ ([0-9a-f]+)\t([^\0]*)\0/g);
  return [...lines].map(([, mode = "", id = "", path = ""]) => ({ mode, id, path }));
}

/** A checkout is followed by that of the submodules, whose commits it says. */
async function foreignInSubmodule(
  place: GitPlace,
  path: string,
  ids: readonly string[],
  machine: Machine,
): Promise<ForeignPaths> {
  const inside = { ...place, path: `${place.path}/${path}` };
  if (machine.host.files.stat(inside.path)?.kind !== "directory") return { inTheWay: 1, beside: 0 };
  if (!machine.host.files.stat(`${inside.path}/.git`)) return { inTheWay: 0, beside: 0 };
  const known = await Promise.all(ids.map((id) => knownCommit(inside, id, machine)));
  const to = known.filter((id) => id !== null);
  const from = await headOf(inside, machine);
  return foreignPaths(inside, { from, to, wanted: to.at(-1) ?? null }, machine);
}

async function countForeign(
  place: GitPlace,
  paths: readonly string[],
  entries: Entries,
  machine: Machine,
): Promise<number> {
  const { files } = machine.host;
  const written = paths.filter((path) => {
    const stat = files.stat(`${place.path}/${path}`);
    return stat?.kind === "file" && stat.sizeBytes > 0;
  });
  const ids = await contentIds(place, written, machine);
  let foreign = 0;
  for (const path of paths) {
    const known = entries.get(path) ?? [];
    if (isOneOf(known, { at: `${place.path}/${path}`, id: ids.get(path) }, files)) continue;
    if (!ids.has(path) || !(await isBeginning(place, path, known, machine))) foreign += 1;
  }
  return foreign;
}

/** Whether one of the entries stands there. An empty file is one that nothing was written into. */
function isOneOf(
  known: readonly TreeEntry[],
  { at, id }: { at: string; id: string | undefined },
  files: HostFiles,
): boolean {
  const kind = files.stat(at)?.kind;
  if (kind === "symlink")
    return known.some((entry) => isLink(entry) && linkId(files.readLink(at), entry) === entry.id);
  return kind === "file" && known.some((entry) => isFile(entry) && (id === undefined || id === entry.id));
}

/** The id that git gives a link: a hash of its target, of the kind that the repository uses. */
function linkId(target: string, { id }: TreeEntry): string {
  const bytes = Buffer.from(target);
  const hash = createHash(id.length === 40 ? "sha1" : "sha256");
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/** What git would call the content of each file, if it were added. */
async function contentIds(
  place: GitPlace,
  paths: readonly string[],
  machine: Machine,
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (let at = 0; at < paths.length; at += 200) {
    const some = paths.slice(at, at + 200);
    const lines = (await askInClone(place, ["hash-object", "--", ...some], machine)).stdout.split("\n");
    for (const [index, path] of some.entries()) ids.set(path, lines[index] ?? "");
  }
  return ids;
}

const comparing =
  'test "$(git cat-file --filters --path="$1" "$2" | head -c "$3" | git hash-object --stdin)" = ' +
  '"$(git hash-object --no-filters -- "$1")"';

/** Whether a file is the first part of one of its contents: it was cut while it was written. */
async function isBeginning(
  place: GitPlace,
  path: string,
  known: readonly TreeEntry[],
  machine: Machine,
): Promise<boolean> {
  const size = machine.host.files.stat(`${place.path}/${path}`)?.sizeBytes ?? 0;
  for (const { id } of known.filter(isFile)) {
    const argv: HostCommand["argv"] = ["sh", "-c", comparing, "sh", path, id, String(size)];
    const command = { ...commandFor(place, []), argv, cwd: place.path };
    if ((await ask(command, { ...machine, staysInRoot: true }, [0, 1])).exitCode === 0) return true;
  }
  return false;
}

/** How many of what git does not know stand where a commit has something, be it a folder, or within what is a file there. */
async function countColliding(
  place: GitPlace,
  paths: readonly string[],
  commit: string | null,
  machine: Machine,
): Promise<number> {
  if (paths.length === 0 || commit === null) return 0;
  const wanted = new Set((await treeOf(place, commit, machine)).map(({ path }) => path));
  const folders = new Set([...wanted].flatMap(foldersAbove));
  return paths.filter(
    (path) => wanted.has(path) || folders.has(path) || foldersAbove(path).some((above) => wanted.has(above)),
  ).length;
}

function foldersAbove(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/**
 * A checkout that was cut by a kill, a power loss or a full disk. The files that it had written look changed to git, and those of a first
 * one strange. They are told by their content, which the repository has, and taken away, so that git finds nothing in its way that is its own.
 */
import type { HostCommand } from "../../../host/host.ts";
import { act, attempt, type Machine } from "../shared/command.ts";
import {
  atOnce,
  contentIds,
  isBeginning,
  isKind,
  isLinkOf,
  linkMode,
  type TreeEntry,
} from "./file-contents.ts";
import { refuse, type SharedPlace } from "./folder.ts";
import {
  askInClone,
  changeClone,
  commandFor,
  type GitPlace,
  hasCommit,
  isWholeHash,
  writeFiles,
} from "./program.ts";

/** Where it is noted in the configuration of the clone. */
export const checkoutNote = "fleetwright.checkout";
const unborn = "none";

/** Commits that are kept of those which were tried one after another: the note is the clone's, and so its user's. */
const mostNoted = 4;

/** A checkout that was begun. */
export interface Checkout {
  /** What was checked out before; null: nothing. */
  from: string | null;
  /** What was to be since, the last one last. */
  to: readonly string[];
}

/** Says on disk what is about to be checked out, before the first file changes. It stays until all files are written. */
export async function noteCheckout(place: GitPlace, { from, to }: Checkout, machine: Machine): Promise<void> {
  const value = [from ?? unborn, ...to.slice(-mostNoted)].join(" ");
  await changeClone(place, ["config", "--replace-all", checkoutNote, value], machine);
  // A system that can't sync one disk need not.
  await machine.host.run({ argv: ["sync", "-f", ".git"], cwd: place.path }, machine.signal);
}

/** Takes the note away. */
export async function forgetCheckout(place: GitPlace, machine: Machine): Promise<void> {
  // 5: there is none.
  const command = { ...commandFor(place, ["config", "--unset-all", checkoutNote]), cwd: place.path };
  await attempt({ ...command, onOutput: () => {} }, { ...machine, staysInRoot: true }, [0, 5]);
}

/** The checkout that was not ended; null where there is none, or where somebody has checked out something else since. */
export async function interruptedCheckout(
  place: GitPlace,
  { head, noted = "" }: { head: string | null; noted: string | undefined },
  machine: Machine,
): Promise<Checkout | null> {
  const [from = "", ...to] = noted.split(" ").slice(0, mostNoted + 1);
  const isKnown = (from === unborn || isWholeHash(from)) && to.length > 0 && to.every(isWholeHash);
  if (!isKnown || ![from, ...to].includes(head ?? unborn)) return null;
  for (const commit of [from, ...to])
    if (commit !== unborn && !(await hasCommit(place, commit, machine))) return null;
  return { from: from === unborn ? null : from, to };
}

/** What is left of a checkout. */
export interface Remains {
  /** Files that it has written, whole or in part, and that git takes for somebody's. */
  written: readonly string[];
  /** How many other files git calls changed. */
  changed: number;
  /** How many others it does not know. */
  unknown: number;
  /** Whether the index is of another commit than HEAD. */
  isStaged: boolean;
  /** Whether a submodule has files that are not as its commit says. */
  isDirtyInside: boolean;
}

/** Tells what a checkout has left from what is somebody's. What is missing of its paths is nobody's: git takes away before it writes. What others declare is left out. */
export async function remainsOf(place: SharedPlace, checkout: Checkout, machine: Machine): Promise<Remains> {
  const entries = await entriesOf(place, checkout, machine);
  const found = { written: [] as string[], changed: 0, unknown: 0, isStaged: false, isDirtyInside: false };
  const candidates: Strange[] = [];
  for (const strange of await strangePaths(place, machine)) {
    const entry = entries.get(strange.path);
    const isStagedByIt = entry?.to.some(({ id }) => id === strange.stagedId) ?? false;
    found.isStaged ||= isStagedByIt || (entry !== undefined && strange.is === "staged");
    found.isDirtyInside ||= strange.isDirtyInside;
    const isOfIt = entry !== undefined && (strange.stagedId === null || isStagedByIt);
    if (isOfIt && (strange.is === "missing" || strange.is === "staged")) continue;
    if (isOfIt && strange.is !== "other") candidates.push(strange);
    else if (strange.is === "unknown") found.unknown += 1;
    else found.changed += 1;
  }
  const written = new Set(await writtenOf(place, candidates, entries, machine));
  for (const { path, is } of candidates) {
    if (written.has(path)) found.written.push(path);
    else if (is === "unknown") found.unknown += 1;
    else found.changed += 1;
  }
  return found;
}

/** Why a clone is left alone. */
export const holdsChanges = "holds changed files, which only force overwrites";

/** Takes away what an interrupted checkout has left in the way of the next one. What is somebody's is git's to refuse. */
export async function clearRemains(
  place: GitPlace & { force: boolean },
  { interrupted, isMoved }: { interrupted: Checkout; isMoved: boolean },
  machine: Machine,
): Promise<void> {
  const { written, changed, isStaged } = await remainsOf(place, interrupted, machine);
  if (changed > 0 && isMoved && !place.force) throw refuse(place.path, holdsChanges);
  await clearWritten(place, written, machine);
  const staged = isStaged && !place.force && (await stagedCommit(place, interrupted, machine));
  // Only HEAD is left to move.
  if (staged) await writeFiles(place, ["checkout", "--quiet", "--detach", staged], machine);
}

/** The commit whose index git has written, when it was cut before it moved HEAD; null where the index is of none. */
async function stagedCommit(
  place: GitPlace,
  { from, to }: Checkout,
  machine: Machine,
): Promise<string | null> {
  for (const commit of [...to, ...(from === null ? [] : [from])].reverse()) {
    const args = ["diff-index", "--cached", "--quiet", commit];
    if ((await askInClone(place, args, { ...machine, codes: [0, 1] })).exitCode === 0) return commit;
  }
  return null;
}

/** Takes away what a checkout has written, as the user whose clone it is. */
async function clearWritten(
  { path, user }: GitPlace,
  written: readonly string[],
  machine: Machine,
): Promise<void> {
  for (let at = 0; at < written.length; at += atOnce) {
    const paths = written.slice(at, at + atOnce).map((each) => `./${each}`);
    const argv: HostCommand["argv"] = ["rm", "-f", "--", ...paths];
    await act({ argv, cwd: path, ...(user !== undefined && { user }) }, { ...machine, staysInRoot: true });
  }
}

/** Writes what is missing of a checkout's paths, once HEAD is where it is to be: git leaves alone what it finds deleted. */
export async function restoreMissing(place: GitPlace, checkout: Checkout, machine: Machine): Promise<void> {
  const entries = await entriesOf(place, checkout, machine);
  const strange = await strangePaths(place, machine);
  const missing = strange.filter(({ path, is }) => is === "missing" && entries.has(path));
  for (let at = 0; at < missing.length; at += atOnce) {
    const paths = missing.slice(at, at + atOnce).map(({ path }) => path);
    await writeFiles(place, ["checkout-index", "--quiet", "--index", "--", ...paths], machine);
  }
}

/** By path, what a checkout may have written there, and what stood there before it. */
type Entries = ReadonlyMap<string, { to: readonly TreeEntry[]; from: TreeEntry | null }>;

/** The paths that a checkout changes. */
async function entriesOf(place: GitPlace, { from, to }: Checkout, machine: Machine): Promise<Entries> {
  const entries = new Map<string, { to: TreeEntry[]; from: TreeEntry | null }>();
  for (const commit of to) {
    for (const { path, before, after } of await changesOf(place, from, commit, machine)) {
      const known = entries.get(path) ?? { to: [], from: before };
      entries.set(path, known);
      if (after) known.to.push(after);
    }
  }
  // Back to where it came from.
  if (from !== null && to.includes(from))
    for (const entry of entries.values()) if (entry.from) entry.to.push(entry.from);
  return entries;
}

async function changesOf(
  place: GitPlace,
  from: string | null,
  to: string,
  machine: Machine,
): Promise<{ path: string; before: TreeEntry | null; after: TreeEntry | null }[]> {
  if (from === null) {
    const { stdout } = await askInClone(place, ["ls-tree", "-r", "-z", "--full-tree", to], machine);
    const lines = stdout.matchAll(/(\d+) \S+ ([0-9a-f]+)\t([^\0]*)\0/g);
    return Array.from(lines, ([, mode = "", id = "", path = ""]) => ({
      path,
      before: null,
      after: { mode, id },
    }));
  }
  const { stdout } = await askInClone(place, ["diff-tree", "-r", "-z", "--no-renames", from, to], machine);
  const lines = stdout.matchAll(/:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) [A-Z]\0([^\0]*)\0/g);
  return Array.from(lines, ([, mode = "", newMode = "", id = "", newId = "", path = ""]) => ({
    path,
    before: toEntry(mode, id),
    after: toEntry(newMode, newId),
  }));
}

function toEntry(mode: string, id: string): TreeEntry | null {
  return /^0+$/.test(mode) ? null : { mode, id };
}

/** A path that is not as git knows it. "other": in no way that an interrupted checkout leaves. */
interface Strange {
  path: string;
  is: "missing" | "changed" | "staged" | "unknown" | "other";
  /** What the index has there, where HEAD has something else or nothing. */
  stagedId: string | null;
  /** Of a submodule: whether its files are not as its commit has them. */
  isDirtyInside: boolean;
}

async function strangePaths({ others = [], ...place }: SharedPlace, machine: Machine): Promise<Strange[]> {
  const args = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"];
  const { stdout } = await askInClone(place, [...args, "--ignore-submodules=none"], machine);
  return stdout
    .split("\0")
    .filter((line) => line !== "")
    .map((line): Strange => {
      const none = { stagedId: null, isDirtyInside: false };
      if (line.startsWith("? ")) return { ...none, path: line.slice(2), is: "unknown" };
      const [kind, code = "", submodule = "", ...rest] = line.split(" ");
      // Behind three modes and two ids. Of one that is unmerged it does not matter where it is.
      const path = rest.slice(5).join(" ");
      const isDirtyInside = submodule.startsWith("S") && submodule[2] === "M";
      if (kind !== "1" || submodule.startsWith("S")) return { ...none, path, is: "other", isDirtyInside };
      const isStaged = !code.startsWith(".") && !code.startsWith("D");
      return { ...none, path, is: stateOf(code), stagedId: isStaged ? (rest[4] ?? null) : null };
    })
    .filter((each) => !others.some((other) => `${place.path}/${each.path}/`.startsWith(`${other}/`)));
}

/** How a path stands by git's two letters for it: the one of the index, and the one of its file. */
function stateOf(code: string): Strange["is"] {
  if (code.endsWith("D")) return "missing";
  if (code.endsWith("M") || code.endsWith("T")) return "changed";
  return code.endsWith(".") ? "staged" : "other";
}

/** Which of these paths hold what a checkout wrote there, or the first part of it. */
async function writtenOf(
  place: GitPlace,
  candidates: readonly Strange[],
  entries: Entries,
  machine: Machine,
): Promise<string[]> {
  const { files } = machine.host;
  const paths = candidates.map(({ path }) => path);
  const filled = paths.filter((path) => {
    const stat = files.stat(`${place.path}/${path}`);
    return stat?.kind === "file" && stat.sizeBytes > 0;
  });
  const ids = await contentIds(place, filled, machine);
  const written: string[] = [];
  for (const { path, is } of candidates) {
    const { to = [], from = null } = entries.get(path) ?? {};
    // A file that was to be taken away, and could not be.
    const known = is === "unknown" && from ? [...to, from] : to;
    const ofKind = known.filter((entry) => isKind(entry, `${place.path}/${path}`, files));
    const id = ids.get(path);
    const isLink = ofKind.some(({ mode }) => mode === linkMode);
    const isWhole = !isLink && ofKind.some((entry) => id === undefined || id === entry.id);
    const isPart = isLink ? isLinkOf : isBeginning;
    if (isWhole || (ofKind.length > 0 && (await isPart(place, path, ofKind, machine)))) written.push(path);
  }
  return written;
}

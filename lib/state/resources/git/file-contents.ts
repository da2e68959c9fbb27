/** Which content of the repository a file of a clone holds. */
import type { HostCommand, HostFiles } from "../../../host/host.ts";
import { ask, type Machine } from "../shared/command.ts";
import { askInClone, commandFor, type GitPlace } from "./program.ts";

/** Paths of one command. */
export const atOnce = 200;

/** Of a symbolic link, in the tree of a commit. */
export const linkMode = "120000";

/** What is at a path in the tree of a commit. */
export interface TreeEntry {
  mode: string;
  id: string;
}

/** Whether what stands there is of the kind and the mode of an entry. */
export function isKind({ mode }: TreeEntry, at: string, files: HostFiles): boolean {
  const stat = files.stat(at);
  if (stat?.kind === "symlink") return mode === linkMode;
  return stat?.kind === "file" && mode === ((stat.mode & 0o100) === 0 ? "100644" : "100755");
}

/** Whether a link leads where one of the entries has it lead. */
export async function isLinkOf(
  place: GitPlace,
  path: string,
  known: readonly TreeEntry[],
  machine: Machine,
): Promise<boolean> {
  const target = machine.host.files.readLink(`${place.path}/${path}`);
  for (const { id } of known)
    if ((await askInClone(place, ["cat-file", "blob", id], machine)).stdout === target) return true;
  return false;
}

/** What git would call the content of each file, if it were added. */
export async function contentIds(
  place: GitPlace,
  paths: readonly string[],
  machine: Machine,
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (let at = 0; at < paths.length; at += atOnce) {
    const some = paths.slice(at, at + atOnce);
    const lines = (await askInClone(place, ["hash-object", "--", ...some], machine)).stdout.split("\n");
    for (const [index, path] of some.entries()) ids.set(path, lines[index] ?? "");
  }
  return ids;
}

const comparing =
  'test "$(git cat-file --filters --path="$1" "$2" | head -c "$3" | git hash-object --stdin)" = ' +
  '"$(git hash-object --no-filters -- "$1")"';

/** Whether a file is the first part of one of its contents: it was cut while it was written. */
export async function isBeginning(
  place: GitPlace,
  path: string,
  known: readonly TreeEntry[],
  machine: Machine,
): Promise<boolean> {
  const size = machine.host.files.stat(`${place.path}/${path}`)?.sizeBytes ?? 0;
  for (const { id } of known) {
    const argv: HostCommand["argv"] = ["sh", "-c", comparing, "sh", path, id, String(size)];
    const command = { ...commandFor(place, []), argv, cwd: place.path };
    if ((await ask(command, { ...machine, staysInRoot: true }, [0, 1])).exitCode === 0) return true;
  }
  return false;
}

/**
 * A program that judges a content which is only foreseen: it gets a copy in a folder where nobody but the host can put anything,
 * and the folder is gone when it has ended. Nothing else on the machine is written.
 */
import type { Host, HostCommand, HostCommandResult, HostFiles } from "../../host/host.ts";

/** Neighbours of a file that are to be found beside its copy; of more, none is. */
const mostNeighbours = 1000;

/**
 * Has a command judge copies of what it `opens`. Null where the host has no such folder.
 *
 * @param read - The content that is foreseen at a path.
 */
export async function judgeCopies(
  command: HostCommand,
  { below, read }: { below: Host; read: (path: string) => Uint8Array },
  signal: AbortSignal,
): Promise<HostCommandResult | null> {
  const folder = below.workFolder?.();
  const { files } = below;
  if (folder === undefined || files.ledBy(folder) !== null) return null;
  const opens: Record<string, string> = {};
  files.makeDirectory(folder, { mode: 0o700 });
  try {
    for (const [word, path] of Object.entries(command.opens ?? {})) {
      const slash = path.lastIndexOf("/");
      const copy = `${folder}${path.slice(slash)}`;
      files.writeFile(copy, read(path), { mode: 0o600 });
      showNeighbours(path.slice(0, slash), folder, below);
      opens[word] = copy;
    }
    return await below.run({ ...command, opens, asks: true }, signal);
  } finally {
    removeAll(folder, files);
    await below.barrier();
  }
}

/**
 * What the content names relative to its own place is found beside the copy, too; but not where an apply hides the folder, since
 * somebody else can change it.
 */
function showNeighbours(from: string, to: string, { files, isConfined }: Host): void {
  // To the machine itself the path of a confined host is another one.
  const neighbourhood = from === "" ? "/" : from;
  if (isConfined || files.stat(neighbourhood)?.kind !== "directory") return;
  if (files.ledBy(neighbourhood) !== null) return;
  const names = files.list(neighbourhood);
  if (names.length > mostNeighbours) return;
  for (const name of names)
    if (!files.stat(`${to}/${name}`)) files.makeSymlink(`${to}/${name}`, `${from}/${name}`);
}

function removeAll(path: string, files: HostFiles): void {
  const kind = files.stat(path)?.kind;
  if (kind === undefined) return;
  if (kind !== "directory") return files.removeFile(path);
  for (const name of files.list(path)) removeAll(`${path}/${name}`, files);
  files.removeDirectory(path);
}

/** What of a command may name an account, a path or a file. */
export function wordsOf({ argv, user, cwd, opens = {}, stdin }: HostCommand): string[] {
  const text = [...argv, user, cwd, ...Object.values(opens), stdin].join(" ");
  // "./srv" is how programs that begin in the root folder are told of "/srv".
  const words = text.split(/[^\w./@+-]+/).map((word) => word.replace(/^\.(?=\/)|(?<=.)\/+$/g, ""));
  return [...new Set(words)].filter((word) => word !== "");
}

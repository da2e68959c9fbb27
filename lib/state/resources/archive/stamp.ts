/** What was extracted into a folder, written down in it: what a check compares with and all that a removal takes away. */
import { z } from "zod";
import { andThen, type MaybeWaiting } from "../../../internal/maybe-waiting.ts";
import { OrchestratorError } from "../../../errors.ts";
import type { HostFiles } from "../../../host/host.ts";
import type { Machine } from "../shared/command.ts";
import type { ListedEntry } from "./list.ts";
import { sha256Schema } from "../shared/properties.ts";

/** Name of the stamp, in the folder. */
export const stampName = ".fleetwright-archive";

// Whoever may write into the folder may write the stamp: it is trusted as little as an archive.
const nameSchema = z
  .string()
  .min(1)
  .max(4096)
  .refine((name) => name.split("/").every((part) => part !== "" && part !== "." && part !== ".."));

const stampSchema = z.strictObject({
  /** Of the archive. */
  sha256: sha256Schema,
  strip_components: z.number(),
  /** False while it is being extracted: what is named may be there or not. */
  complete: z.boolean(),
  entries: z.array(
    z.strictObject({
      name: nameSchema,
      kind: z.enum(["file", "folder", "link"]),
      /** SHA-256 of a file, target of a link. */
      content: z.string().nullable(),
    }),
  ),
});

/** What was extracted. Folders are those that were not there before. */
export type Stamp = z.infer<typeof stampSchema>;
export type StampEntry = Stamp["entries"][number];

/** Reads the stamp; null where there is none. `HOST_ERROR` where it can't be read as one. */
export function readStamp(files: HostFiles, folder: string): Stamp | null {
  const path = `${folder}/${stampName}`;
  if (files.stat(path)?.kind !== "file") return null;
  try {
    return stampSchema.parse(JSON.parse(Buffer.from(files.readFile(path)).toString()));
  } catch (cause) {
    const message = `${path} is not what was written there.`;
    throw new OrchestratorError("HOST_ERROR", { message, details: { path }, cause });
  }
}

/** Writes the stamp, for its owner alone. */
export function writeStamp(files: HostFiles, folder: string, stamp: Stamp): void {
  files.writeFile(`${folder}/${stampName}`, Buffer.from(JSON.stringify(stamp)), { mode: 0o600 });
}

/** What stands of an entry, as the stamp writes it; null where something else stands, or nothing. */
export function contentOf(
  files: HostFiles,
  { path, kind }: { path: string; kind: ListedEntry["kind"] },
  { signal }: Machine,
): MaybeWaiting<string | null> {
  const stat = files.stat(path);
  if (kind === "folder") return stat?.kind === "directory" ? "" : null;
  if (kind === "link") return stat?.kind === "symlink" ? files.readLink(path) : null;
  if (stat?.kind !== "file") return null;
  return andThen(files.hashFile(path, signal), ({ sha256 }) => sha256);
}

/** Goes through many entries without holding up the process. */
export async function eachEntry<T>(
  entries: Iterable<T>,
  { signal }: Machine,
  use: (entry: T) => MaybeWaiting<void>,
): Promise<void> {
  let count = 0;
  for (const entry of entries) {
    signal.throwIfAborted();
    const using = use(entry);
    if (using instanceof Promise) await using;
    count += 1;
    if (count % 32 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Takes entries away, files before the folders that hold them; a folder that holds more stays. */
export async function removeEntries(
  folder: string,
  entries: readonly StampEntry[],
  machine: Machine,
): Promise<void> {
  const files = machine.host.files.below(folder);
  const deepestFirst = entries.toSorted((a, b) => b.name.split("/").length - a.name.split("/").length);
  await eachEntry(deepestFirst, machine, ({ name, kind }) => {
    const path = `${folder}/${name}`;
    const stat = files.stat(path);
    if (kind !== "folder") {
      if (stat?.kind === "file" || stat?.kind === "symlink") files.removeFile(path);
    } else if (stat?.kind === "directory" && files.list(path).length === 0) files.removeDirectory(path);
  });
}

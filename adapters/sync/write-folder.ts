/** Writes the files of a fleet folder: each appears whole, for its owner alone, and none through a link. */
import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { FolderFile } from "fleetwright";
import { codeOf } from "../client/system-error.ts";
import { isEntryFile } from "./entry-files.ts";
import { makeFolders } from "./make-folders.ts";
import { FolderError, readFolder } from "./read-folder.ts";

/** What became of a folder that was written into: paths below it. */
export interface WrittenFolder {
  /** Files of an export before this one that nothing takes the place of: they are gone. */
  removed: string[];
  /** Other files that are read with the folder, as they were. */
  kept: string[];
}

/**
 * Writes files into a folder, which is made where it is not there, of mode 0700; files are 0600.
 *
 * @param overwrite - Whether a folder that is not empty is written into: files of the same names are replaced, those of entries that an
 * export names and this one does not have any more are removed, all others stay.
 * @throws {FolderError}
 */
export async function writeFolder(
  folder: string,
  files: readonly FolderFile[],
  { overwrite }: { overwrite: boolean },
): Promise<WrittenFolder> {
  try {
    makeFolders(folder, 0o700);
    if (!overwrite && (await readdir(folder)).length > 0)
      throw new FolderError(`${folder} is not empty. --overwrite writes into it all the same.`);
    for (const { path, text } of files) await writeWhole(folder, path, text);
    return await clear(folder, new Set(files.map(({ path }) => path)));
  } catch (error) {
    if (error instanceof FolderError) throw error;
    throw new FolderError(`${folder} can't be written (${codeOf(error)}).`);
  }
}

/** Removes what an export before has left: what is declared there a second time would make the folder one that nobody can apply. */
async function clear(folder: string, written: ReadonlySet<string>): Promise<WrittenFolder> {
  const { files } = await readFolder(folder);
  const others = files.map(({ path }) => path).filter((path) => !written.has(path));
  const removed = others.filter(isEntryFile);
  for (const path of removed) await rm(join(folder, path));
  return { removed, kept: others.filter((path) => !isEntryFile(path)) };
}

async function writeWhole(folder: string, path: string, text: string): Promise<void> {
  // Names come from the server, which may be a false one.
  if (!isInside(path))
    throw new FolderError(`${JSON.stringify(path)} is no name of a file in a fleet folder.`);
  const target = join(folder, path);
  const holder = dirname(target);
  if (holder !== folder) await makePart(holder);
  const aside = join(holder, `.${randomBytes(8).toString("hex")}.part`);
  const file = await open(aside, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
    // A link of that name is replaced, not followed.
    await rename(aside, target);
  } finally {
    // Synced already, or refused: the close says no more.
    await file.close().catch(() => {});
    await rm(aside, { force: true });
  }
}

/** Whether it names a file in the folder, or in a folder of that. */
function isInside(path: string): boolean {
  const parts = path.split("/");
  return parts.length <= 2 && parts.every((part) => /^[^./\\\0][^/\\\0]*$/.test(part));
}

async function makePart(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
  if (!(await lstat(folder)).isDirectory()) throw new FolderError(`${folder} is no folder of its own.`);
}

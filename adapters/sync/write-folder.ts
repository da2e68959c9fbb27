/** Writes the files of a fleet folder: each appears whole, for its owner alone, and none through a link. */
import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { FolderFile } from "fleetwright";
import { codeOf, FolderError } from "./read-folder.ts";

/**
 * Writes files into a folder, which is made where it is not there, of mode 0700; files are 0600.
 *
 * @param overwrite - Whether a folder that is not empty is written into: files of the same names are replaced, all others stay.
 * @throws {FolderError}
 */
export async function writeFolder(
  folder: string,
  files: readonly FolderFile[],
  { overwrite }: { overwrite: boolean },
): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (!overwrite && (await readdir(folder)).length > 0)
      throw new FolderError(`${folder} is not empty. --overwrite writes into it all the same.`);
    for (const { path, text } of files) await writeWhole(folder, path, text);
  } catch (error) {
    if (error instanceof FolderError) throw error;
    throw new FolderError(`${folder} can't be written (${codeOf(error)}).`);
  }
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
    await file.close();
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

/** Files that appear under their name when they are whole and on disk, and never take the place of another. */
import { link, open, rm } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "../../client/system-error.ts";
import { UsageError } from "../failure.ts";

/**
 * Makes a file of mode 0600. Nothing is left of one that fails.
 *
 * @param fill - Writes what is to be in it.
 * @returns What `fill` returned, once the file and its name are on disk.
 */
export async function makeFile<Result>(
  path: string,
  fill: (target: FileHandle) => Promise<Result>,
): Promise<Result> {
  const aside = `${path}.${process.pid}.part`;
  const target = await open(aside, "wx", 0o600).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  try {
    const result = await fill(target);
    await target.sync();
    await link(aside, path).catch((error: unknown) => {
      throw unwritable(path, error);
    });
    await syncFolder(dirname(path)).catch(async (error: unknown) => {
      await rm(path, { force: true });
      throw error;
    });
    return result;
  } finally {
    await target.close();
    await rm(aside, { force: true });
  }
}

function unwritable(path: string, error: unknown): UsageError {
  return new UsageError(`${path} can't be written (${codeOf(error)}).`);
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Files that hold secrets: mode 0600, replaced as a whole. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { writeWhole } from "../client/write-whole.ts";

/**
 * Writes a file so that who reads it finds the old text or the new one, also after a crash. On disk when it returns; where it
 * throws, nothing is left beside the old one.
 *
 * @param aside - What it is called until it is whole. Default `<path>.part`, for files that one process writes.
 */
export function replacePrivateFile(path: string, text: string, aside = `${path}.part`): void {
  rmSync(aside, { force: true });
  try {
    writeDurably(aside, text);
    renameSync(aside, path);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeWhole(file, text);
  } finally {
    closeSync(file);
  }
}

/** Files that hold secrets: mode 0600, replaced as a whole. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Writes a file so that who reads it finds the old text or the new one, also after a crash. On disk when it returns.
 *
 * @param aside - What it is called until it is whole. Default `<path>.part`, for files that one process writes.
 */
export function replacePrivateFile(path: string, text: string, aside = `${path}.part`): void {
  rmSync(aside, { force: true });
  writeDurably(aside, text);
  renameSync(aside, path);
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
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

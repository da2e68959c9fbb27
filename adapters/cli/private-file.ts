/** Files that hold secrets: mode 0600, replaced as a whole. */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
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

/**
 * Reads a file of the program's own as text. One that only looks like it, such as a pipe to which nobody writes, would be waited for for ever;
 * files that people name may be pipes.
 */
export function readOwnFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    requireFile(file);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** Throws where what is open is neither a file nor a folder; reading that has an error of its own. */
export function requireFile(file: number): void {
  const stat = fstatSync(file);
  if (stat.isFile() || stat.isDirectory()) return;
  throw Object.assign(new Error("It is no regular file."), { code: "no regular file" });
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeWhole(file, text);
  } finally {
    closeSync(file);
  }
}

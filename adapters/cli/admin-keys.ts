/** Keys that the owner of a data folder puts there. */
import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AdminKey } from "fleetwright";
import { OrchestratorError } from "fleetwright/errors";
import { codeOf } from "../client/system-error.ts";
import { UsageError } from "./failure.ts";
import { readOwnFile, requireFile } from "./private-file.ts";

/** File in the data folder with a public key a line, and a name behind it; each is made Admin at the start. */
const adminKeysFile = "admin-keys";

/**
 * Adds a key to those of a data folder. It is on disk when this returns.
 *
 * @throws {UsageError} Where it can't be written.
 */
export function addAdminKey(dataDir: string, { public_key, username }: AdminKey): void {
  const path = join(dataDir, adminKeysFile);
  const line = username === undefined ? public_key : `${public_key} ${username}`;
  try {
    const file = openSync(path, "a+", 0o600);
    try {
      requireFile(file);
      appendLine(file, line);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw new UsageError(`${path} can't be written (${codeOf(error)}).`);
  }
}

function appendLine(file: number, line: string): void {
  const before = readFileSync(file);
  try {
    // Whoever wrote the last line may not have ended it.
    const isEnded = before.length === 0 || before.at(-1) === 10;
    writeFileSync(file, `${isEnded ? "" : "\n"}${line}\n`);
    fsyncSync(file);
  } catch (error) {
    ftruncateSync(file, before.length);
    throw error;
  }
}

/**
 * Reads the keys that the owner of a data folder put there. Lines that begin with `#` are comments.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` where the file can't be read.
 */
export function readAdminKeys(dataDir: string): AdminKey[] {
  const path = join(dataDir, adminKeysFile);
  try {
    const lines = readOwnFile(path).split("\n");
    return lines
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => {
        const [public_key = "", username] = line.split(/\s+/);
        return { public_key, ...(username !== undefined && { username }) };
      });
  } catch (cause) {
    // A data folder that is a file, the storage tells of.
    if (["ENOENT", "ENOTDIR"].includes(codeOf(cause))) return [];
    throw new OrchestratorError("CONFIGURATION_INVALID", {
      message: `${path} can't be read (${codeOf(cause)}).`,
      cause,
    });
  }
}

/** Keys that the owner of a data folder puts there. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AdminKey } from "fleetwright";
import { OrchestratorError } from "fleetwright/errors";
import { codeOf } from "../client/system-error.ts";

/** File in the data folder with a public key a line, and a name behind it; each is made Admin at the start. `fleetwright init` writes it. */
export const adminKeysFile = "admin-keys";

/**
 * Reads the keys that the owner of a data folder put there. Lines that begin with `#` are comments.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` where the file can't be read.
 */
export function readAdminKeys(dataDir: string): AdminKey[] {
  const path = join(dataDir, adminKeysFile);
  try {
    const lines = readFileSync(path, "utf8").split("\n");
    return lines
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => {
        const [public_key = "", username] = line.split(/\s+/);
        return { public_key, ...(username !== undefined && { username }) };
      });
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return [];
    throw new OrchestratorError("CONFIGURATION_INVALID", {
      message: `${path} can't be read (${codeOf(cause)}).`,
      cause,
    });
  }
}

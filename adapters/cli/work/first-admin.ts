/** How the first Admin of a server comes to be: by a key in the data folder, which is the owner's. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemCaller } from "fleetwright";
import type { Orchestrator } from "fleetwright";
import { createKeyFile, readSigner } from "../../client/node-signer.ts";

/**
 * Makes an Admin where there is none, with a new key pair in the data folder.
 *
 * @returns Where that key lies; null where the Admins have keys of their own.
 */
export async function ensureFirstAdmin(orchestrator: Orchestrator, dataDir: string): Promise<string | null> {
  const path = join(dataDir, "admin-key");
  if (await hasAdmin(orchestrator)) return existsSync(path) ? path : null;
  // A key may be there already: a start that was cut off in between, or data that was thrown away.
  const { publicKey } = existsSync(path) ? readSigner(path) : createKeyFile(path);
  await orchestrator.operators.add(systemCaller, { username: "admin", public_key: publicKey, role: "Admin" });
  return path;
}

async function hasAdmin(orchestrator: Orchestrator): Promise<boolean> {
  let cursor: string | undefined;
  do {
    const page = await orchestrator.operators.list(systemCaller, { limit: 500, ...(cursor && { cursor }) });
    if (page.items.some(({ role }) => role === "Admin")) return true;
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return false;
}

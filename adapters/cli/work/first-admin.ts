/** How the first Admin of a server comes to be: by a key in the data folder, which is the owner's. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemCaller } from "fleetwright";
import type { Operator, Orchestrator } from "fleetwright";
import { createKeyFile, readSigner } from "../../client/node-signer.ts";

/**
 * Makes an Admin where there is none, with a new key pair in the data folder.
 *
 * @returns Where the key of an Admin lies; null where the Admins have keys of their own.
 */
export async function ensureFirstAdmin(orchestrator: Orchestrator, dataDir: string): Promise<string | null> {
  const path = join(dataDir, "admin-key");
  const known = publicKeyAt(path);
  let hasAdmin = false;
  for await (const { public_key } of admins(orchestrator)) {
    hasAdmin = true;
    if (public_key === known) return path;
  }
  if (hasAdmin) return null;
  // A key may be there already: a start that was cut off in between, or data that was thrown away.
  const { publicKey } = existsSync(path) ? readSigner(path) : createKeyFile(path);
  await orchestrator.operators.add(systemCaller, { username: "admin", public_key: publicKey, role: "Admin" });
  return path;
}

/** The public key of what lies there; null where that is no key which can be read. */
function publicKeyAt(path: string): string | null {
  try {
    return readSigner(path).publicKey;
  } catch {
    return null;
  }
}

async function* admins({ operators }: Orchestrator): AsyncGenerator<Operator> {
  let cursor: string | undefined;
  do {
    const page = await operators.list(systemCaller, { limit: 500, ...(cursor && { cursor }) });
    yield* page.items.filter(({ role }) => role === "Admin");
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

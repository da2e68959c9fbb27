/** Whose the backups of tests are. */
import { createReadStream } from "node:fs";
import { toHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { verifyBackup } from "../../lib/storage/file/restore.ts";

/** Signs backups of a storage that has no orchestrator. */
export const backupSigner = nodeCrypto.createSigner(new Uint8Array(32).fill(7));

/** What a restore of them is told. */
export const backupOrigin = { orchestratorKey: toHex(backupSigner.publicKey) };

/** The key of a backup that the test itself had made. */
export async function originOf(file: string): Promise<{ orchestratorKey: string }> {
  const { orchestrator_key } = await verifyBackup(createReadStream(file) as AsyncIterable<Uint8Array>);
  if (orchestrator_key === null) throw new Error(`${file} is not signed.`);
  return { orchestratorKey: orchestrator_key };
}

import type { Context } from "../context.ts";
import { toHex } from "../crypto/encoding.ts";

const pieceBytes = 1_048_576;

/** SHA-256 over the SHA-256 of each MiB of a recording, hex, and its size; null where there is none. */
export async function hashRecording(
  { storage, crypto }: Pick<Context, "storage" | "crypto">,
  blob: string,
): Promise<{ hash: string; bytes: number } | null> {
  const hashes: Uint8Array[] = [];
  for (let from = 0; ; from += pieceBytes) {
    const piece = await storage.readBlob(blob, { from, to: from + pieceBytes });
    if (piece === null) return null;
    if (piece.length > 0) hashes.push(crypto.sha256(piece));
    if (piece.length < pieceBytes)
      return { hash: toHex(crypto.sha256(Buffer.concat(hashes))), bytes: from + piece.length };
  }
}

import { hash } from "node:crypto";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { JsonObject } from "../internal/json.ts";

/** What stands for the hash before the first entry of a chained log. */
export const zeroHash = "0".repeat(64);

/** Hex SHA-256 of a chained log's entry: over the previous hash (as hex text) followed by the entry's canonical JSON. */
export function chainHash(
  previousHash: string,
  entry: { sequence: number; at: number; value: Readonly<JsonObject> },
): string {
  const { sequence, at, value } = entry;
  return hash("sha256", previousHash + canonicalJson({ sequence, at, value }), "hex");
}

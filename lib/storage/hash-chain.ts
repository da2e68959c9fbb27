import { hash } from "node:crypto";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { JsonObject } from "../json.ts";

/** What stands for the hash before the first entry of a chained log. */
export const zeroHash = "0".repeat(64);

/** Hex SHA-256 of a chained log's entry: over the previous hash (as hex text) followed by the entry's canonical JSON. */
export function chainHash(
  previousHash: string,
  entry: { sequence: number; at: number; value: Readonly<JsonObject> },
): string {
  const { sequence, at, value } = entry;
  return chainHashOf(previousHash, { sequence, at, canonical: canonicalJson(value) });
}

/** {@link chainHash} of an entry whose value is canonical JSON already. */
export function chainHashOf(
  previousHash: string,
  { sequence, at, canonical }: { sequence: number; at: number; canonical: string },
): string {
  // The canonical order of the names: "at", "sequence", "value".
  const text = `{"at":${canonicalJson(at)},"sequence":${canonicalJson(sequence)},"value":${canonical}}`;
  return hash("sha256", previousHash + text, "hex");
}

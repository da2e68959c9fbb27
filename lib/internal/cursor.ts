import { OrchestratorError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { canonicalJson } from "./canonical-json.ts";

const halfCharacters = /\p{Surrogate}/gu;

/** Turns a storage position into an opaque cursor that only the same filter of the same list accepts. */
export function encodeCursor(list: string, filter: JsonObject, position: string | number): string {
  return btoa(encodeURIComponent(canonicalJson([list, fingerprint(filter), position])))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** Reads a cursor back; `CURSOR_INVALID` where it was made by another list or filter, or by hand. */
export function decodeCursor(list: string, filter: JsonObject, cursor: string): string | number {
  const parts = readCursor(cursor);
  const position: unknown = parts?.[2];
  const fits = parts?.[0] === list && parts[1] === fingerprint(filter);
  if (!fits || (typeof position !== "string" && typeof position !== "number")) {
    throw new OrchestratorError("CURSOR_INVALID", {
      issues: [{ path: ["cursor"], message: "belongs to another list or filter" }],
    });
  }
  return position;
}

function readCursor(cursor: string): unknown[] | null {
  try {
    const parts: unknown = JSON.parse(
      decodeURIComponent(atob(cursor.replaceAll("-", "+").replaceAll("_", "/"))),
    );
    return Array.isArray(parts) ? parts : null;
  } catch {
    return null;
  }
}

/** How many fingerprints are remembered: those of lists that somebody looks at again and again. */
const mostFingerprints = 256;
const fingerprints = new BoundedCache<string>({ entries: mostFingerprints });

/** A short name of a filter. Working one out costs as much as the rest of a short list. */
function fingerprint(filter: JsonObject): string {
  const text = JSON.stringify(filter);
  const known = fingerprints.get(text);
  if (known !== undefined) return known;
  // A filter may hold any text: half a character, which has no canonical form, counts as U+FFFD.
  const wellFormed = JSON.parse(text, (_key, value: Json) =>
    typeof value === "string" ? value.replaceAll(halfCharacters, "\ufffd") : value,
  ) as JsonObject;
  const made = fnv(canonicalJson(wellFormed));
  fingerprints.set(text, made);
  return made;
}

/** FNV-1a. It guards against mistakes, not against forgery. */
function fnv(text: string): string {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(16);
}

import { OrchestratorError } from "../errors.ts";
import { canonicalJson } from "./canonical-json.ts";
import type { Json, JsonObject } from "./json.ts";

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

/** What is found for an empty object below; most lists have no filter. */
const noFilter = "5465b825";

/** A short name of a filter: FNV-1a over its canonical JSON. It guards against mistakes, not against forgery. */
function fingerprint(filter: JsonObject): string {
  if (Object.keys(filter).length === 0) return noFilter;
  let hash = 0x811c9dc5;
  // A filter may hold any text: half a character, which has no canonical form, counts as U+FFFD.
  const wellFormed = JSON.parse(JSON.stringify(filter), (_key, value: Json) =>
    typeof value === "string" ? value.replaceAll(halfCharacters, "\ufffd") : value,
  ) as JsonObject;
  for (const char of canonicalJson(wellFormed)) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  }
  return (hash >>> 0).toString(16);
}

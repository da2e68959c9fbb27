import { OrchestratorError } from "../errors.ts";
import type { Json } from "../json.ts";
import type { OrderValue } from "./order.ts";
import type { ListQuery } from "./storage.ts";

/** Where a page ended: the order that was asked for and the last entry given. */
export interface CursorPlace {
  index: string;
  order: "asc" | "desc";
  /** Values of the index fields, then the key. */
  entry: readonly OrderValue[];
}

/** Writes a place as an opaque text that is safe in a URL. */
export function writeCursor({ index, order, entry }: CursorPlace): string {
  // A missing field has no JSON: an empty list stands for it, a list of one for a value.
  const values = entry.map((value) => (value === undefined ? [] : [value as Json]));
  return Buffer.from(JSON.stringify([index, order, values])).toString("base64url");
}

/**
 * Reads the entry of a cursor back, for the same order as it was made for.
 *
 * @throws {OrchestratorError} `CURSOR_INVALID` when it was not made by {@link writeCursor} for this index and order.
 */
export function readCursor(cursor: string, query: ListQuery): OrderValue[] {
  const [index, order, values] = parse(cursor);
  if (index !== (query.index ?? "") || order !== (query.order ?? "asc") || !Array.isArray(values)) {
    throw new OrchestratorError("CURSOR_INVALID");
  }
  const entry = values.map((value) => {
    if (!Array.isArray(value) || value.length > 1) throw new OrchestratorError("CURSOR_INVALID");
    return value[0] as OrderValue;
  });
  if (typeof entry.at(-1) !== "string") throw new OrchestratorError("CURSOR_INVALID");
  return entry;
}

function parse(cursor: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    if (Array.isArray(parsed)) return parsed;
  } catch (cause) {
    throw new OrchestratorError("CURSOR_INVALID", { cause });
  }
  throw new OrchestratorError("CURSOR_INVALID");
}

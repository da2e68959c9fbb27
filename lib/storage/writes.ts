/**
 * What a commit asks for (`Write`), made safe to keep, and what it does once its revisions and sequences are known (`Effect`).
 */
import { OrchestratorError } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { JsonObject } from "../json.ts";
import { deepFreeze } from "./deep-freeze.ts";
import type { LogEntry, StorageSchema, Write } from "./storage.ts";
import type { StoredText } from "./stored-text.ts";

/** A value of our own, its JSON text, and the text that a hash is made over where one is made. */
export interface OwnedValue {
  value: Readonly<JsonObject>;
  text: string;
  canonical: string | null;
}

/** A write whose value no longer belongs to the caller. */
export type PreparedWrite =
  | { kind: "put"; collection: string; key: string; text: string; expected: number | undefined }
  | { kind: "delete"; collection: string; key: string; expected: number | undefined }
  | { kind: "append"; log: string; at: number; owned: OwnedValue }
  | { kind: "dropBlob"; id: string };

/** What a commit or trim does to the data, with nothing left to decide: it can be replayed. */
export type Effect =
  | { kind: "put"; collection: string; document: StoredText }
  | { kind: "delete"; collection: string; key: string }
  | { kind: "append"; log: string; entry: LogEntry; text: string }
  | { kind: "trim"; log: string; base: { sequence: number; hash: string | null } }
  | { kind: "dropBlob"; id: string }
  | { kind: "keepBlob"; id: string };

/**
 * Takes writes over from a caller, who may change its objects afterwards.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` for a collection or log that is not in the schema, or a value that is not JSON.
 */
export function prepareWrites(schema: StorageSchema, writes: readonly Write[]): PreparedWrite[] {
  /** What goes into two logs is made ours once. */
  const owned = new Map<JsonObject, OwnedValue>();
  return writes.map((write): PreparedWrite => {
    if (write.kind === "append") {
      const definition = Object.hasOwn(schema.logs, write.log) ? schema.logs[write.log] : undefined;
      if (definition === undefined) throw refused(`There is no log "${write.log}".`);
      if (!Number.isFinite(write.at)) throw refused("The time of a log entry must be a number.");
      const known = owned.get(write.value);
      const isEnough = known !== undefined && (known.canonical !== null || !definition.chained);
      const value = isEnough ? known : own(write.value, definition.chained);
      owned.set(write.value, value);
      const { log, at } = write;
      return { kind: "append", log, at, owned: definition.chained ? value : { ...value, canonical: null } };
    }
    if (write.kind === "dropBlob") return { kind: "dropBlob", id: write.id };
    const { collection, key, expected } = write;
    if (!Object.hasOwn(schema.collections, collection))
      throw refused(`There is no collection "${collection}".`);
    if (typeof key !== "string") throw refused("A key must be a text.");
    if (write.kind === "delete") return { kind: "delete", collection, key, expected };
    return { kind: "put", collection, key, expected, text: textOf(write.value) };
  });
}

/** The length of an effect's JSON, about. */
export function sizeOf(effect: Effect): number {
  if (effect.kind === "put") return effect.document.valueText.length;
  return effect.kind === "append" ? effect.text.length : 0;
}

function own(value: JsonObject, isHashed: boolean): OwnedValue {
  const text = textOf(value);
  const copy = JSON.parse(text) as JsonObject;
  try {
    // What a hash is made over must have one form only (no lone surrogates).
    return { value: deepFreeze(copy), text, canonical: isHashed ? canonicalJson(copy) : null };
  } catch (cause) {
    throw notJson(cause);
  }
}

/** Nothing is parsed that nobody may ever read: what JSON.stringify writes is JSON, whatever it was given. */
function textOf(value: JsonObject): string {
  let text: unknown;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw notJson(cause);
  }
  if (typeof text !== "string" || !text.startsWith("{")) throw refused("The value must be a JSON object.");
  return text;
}

function notJson(cause: unknown): OrchestratorError {
  const message = "The value can't be written as JSON.";
  return new OrchestratorError("VALIDATION_FAILED", { message, cause });
}

function refused(message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message });
}

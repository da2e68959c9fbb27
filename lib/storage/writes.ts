/**
 * What a commit asks for (`Write`), made safe to keep, and what it does once its revisions and sequences are known (`Effect`).
 */
import { OrchestratorError } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { JsonObject } from "../internal/json.ts";
import type { LogEntry, StorageSchema, StoredDocument, Write } from "./storage.ts";

/** A value of our own, and its JSON text. */
export interface OwnedValue {
  value: Readonly<JsonObject>;
  text: string;
}

/** A write whose value no longer belongs to the caller. */
export type PreparedWrite =
  | { kind: "put"; collection: string; key: string; owned: OwnedValue; expected: number | undefined }
  | { kind: "delete"; collection: string; key: string; expected: number | undefined }
  | { kind: "append"; log: string; chained: boolean; at: number; owned: OwnedValue };

/** What a commit or trim does to the data, with nothing left to decide: it can be replayed. */
export type Effect =
  | { kind: "put"; collection: string; document: StoredDocument; text: string }
  | { kind: "delete"; collection: string; key: string }
  | { kind: "append"; log: string; entry: LogEntry; text: string }
  | { kind: "trim"; log: string; base: { sequence: number; hash: string | null } };

/**
 * Takes writes over from a caller, who may change its objects afterwards.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` for a collection or log that is not in the schema, or a value that is not JSON.
 */
export function prepareWrites(schema: StorageSchema, writes: readonly Write[]): PreparedWrite[] {
  return writes.map((write): PreparedWrite => {
    if (write.kind === "append") {
      const definition = Object.hasOwn(schema.logs, write.log) ? schema.logs[write.log] : undefined;
      if (definition === undefined) throw refused(`There is no log "${write.log}".`);
      if (!Number.isFinite(write.at)) throw refused("The time of a log entry must be a number.");
      const { chained } = definition;
      return { kind: "append", log: write.log, chained, at: write.at, owned: own(write.value, chained) };
    }
    const { collection, key, expected } = write;
    if (!Object.hasOwn(schema.collections, collection))
      throw refused(`There is no collection "${collection}".`);
    if (typeof key !== "string") throw refused("A key must be a text.");
    if (write.kind === "delete") return { kind: "delete", collection, key, expected };
    return { kind: "put", collection, key, expected, owned: own(write.value, false) };
  });
}

/** Makes a value and all in it unchangeable. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

function own(value: JsonObject, mustBeCanonical: boolean): OwnedValue {
  try {
    const text = JSON.stringify(value);
    const copy = JSON.parse(text) as unknown;
    if (typeof copy === "object" && copy !== null && !Array.isArray(copy)) {
      // What a hash is made over must have one form only (no lone surrogates).
      if (mustBeCanonical) canonicalJson(copy as JsonObject);
      return { value: deepFreeze(copy as JsonObject), text };
    }
  } catch (cause) {
    throw new OrchestratorError("VALIDATION_FAILED", {
      message: "The value can't be written as JSON.",
      cause,
    });
  }
  throw refused("The value must be a JSON object.");
}

function refused(message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message });
}

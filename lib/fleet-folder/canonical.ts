/** Fields in the form in which the server keeps them, so that two ways to write one thing are no difference. */
import { nodeCrypto } from "../crypto/node-crypto.ts";
import { parsePublicKey } from "../crypto/parse-public-key.ts";
import { isOrchestratorError, type ErrorCode } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import { parseReferences, printReferences } from "../module-format/module-reference.ts";
import { toKeptSelector } from "../selectors/print.ts";
import type { Refusal } from "./folder-faults.ts";

/** Brings the fields of an entry that its schema took into their canonical form; tells what can't be read. */
export function toCanonical(values: JsonObject): { values: JsonObject; faults: Refusal[] } {
  const faults: Refusal[] = [];
  const entries = Object.entries(values).map(([field, value]): [string, Json] => {
    const read = Object.hasOwn(readers, field) ? readers[field]!(value) : value;
    if (!(read instanceof Unreadable)) return [field, read];
    faults.push({ code: read.code, path: [field], message: read.message });
    return [field, value];
  });
  return { values: Object.fromEntries(entries), faults };
}

class Unreadable {
  readonly code: ErrorCode;
  readonly message: string;
  constructor(code: ErrorCode, message: string) {
    this.code = code;
    this.message = message;
  }
}

const readers: Readonly<Record<string, (value: Json) => Json | Unreadable>> = {
  selector: (value) => readSelector(String(value)),
  starts_at: (value) => toUtc(String(value)),
  ends_at: (value) => toUtc(String(value)),
  public_key: (value) => readKey(String(value)),
  modules: (value) => {
    const { names, pins } = parseReferences(value as string[]);
    return printReferences(names, pins);
  },
};

function readSelector(text: string): string | Unreadable {
  try {
    return toKeptSelector(text);
  } catch (error) {
    if (!isOrchestratorError(error, "SELECTOR_INVALID")) throw error;
    return new Unreadable(error.code, error.message);
  }
}

/** As an operator is added: what would be refused is better told before the operator's old key is taken away. */
function readKey(text: string): string | Unreadable {
  try {
    return parsePublicKey(text, nodeCrypto).hex;
  } catch (error) {
    if (!isOrchestratorError(error, "KEY_REFUSED")) throw error;
    return new Unreadable(error.code, `The public key ${error.issues[0]!.message}.`);
  }
}

function toUtc(text: string): string {
  return new Date(text).toISOString();
}

import type { JsonObject } from "../json.ts";
import { deepFreeze } from "./deep-freeze.ts";
import type { StoredDocument } from "./storage.ts";

/** A document as the JSON that it is stored as, parsed when somebody first asks for it. */
export class StoredText {
  readonly key: string;
  readonly revision: number;
  /** The JSON of the value alone. */
  readonly valueText: string;
  #document: StoredDocument | null = null;

  constructor(key: string, revision: number, valueText: string) {
    this.key = key;
    this.revision = revision;
    this.valueText = valueText;
  }

  /** The document, the same for everybody. */
  parse(): StoredDocument {
    return (this.#document ??= this.#parse());
  }

  #parse(): StoredDocument {
    const value = JSON.parse(this.valueText) as JsonObject;
    return Object.freeze({ key: this.key, revision: this.revision, value: deepFreeze(value) });
  }
}

const revisionStart = `","revision":`;
const valueStart = `,"value":`;
const digitAt = (text: string, at: number): number => text.charCodeAt(at) - 0x30;

/**
 * Reads `start`, then a key, and `","revision":<number>,"value":<JSON>}` from a text, up to `end`; null where it is of
 * another form or the key has escapes. The value is not looked at.
 */
export function readStoredText(
  text: string,
  { start, at, end }: { start: string; at: number; end: number },
): StoredText | null {
  const keyAt = at + start.length;
  const keyEnd = text.indexOf('"', keyAt);
  if (!text.startsWith(start, at) || !text.startsWith(revisionStart, keyEnd)) return null;
  const key = text.slice(keyAt, keyEnd);
  if (key.includes("\\")) return null;
  let revision = 0;
  let next = keyEnd + revisionStart.length;
  for (let digit = digitAt(text, next); digit >= 0 && digit <= 9; digit = digitAt(text, ++next)) {
    revision = revision * 10 + digit;
  }
  if (!text.startsWith(valueStart, next) || !text.startsWith("}", end - 1)) return null;
  return new StoredText(key, revision, text.slice(next + valueStart.length, end - 1));
}

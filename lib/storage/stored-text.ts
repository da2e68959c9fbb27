import type { JsonObject } from "../internal/json.ts";
import type { StoredDocument } from "./storage.ts";
import { deepFreeze } from "./writes.ts";

/** A document that nobody has asked for since the start: still the JSON that it is stored as. */
export class StoredText {
  readonly key: string;
  readonly revision: number;
  /** `{"key":...,"revision":...,"value":...}` */
  readonly text: string;

  constructor(key: string, revision: number, text: string) {
    this.key = key;
    this.revision = revision;
    this.text = text;
  }

  parse(): StoredDocument {
    const { key, revision, value } = JSON.parse(this.text) as StoredDocument<JsonObject>;
    return deepFreeze({ key, revision, value });
  }
}

import type { JsonObject } from "../../internal/json.ts";
import { deepFreeze, type Effect } from "../writes.ts";

/** An effect as it stands in the journal. */
type StoredEffect =
  | { put: string; key: string; revision: number; value: JsonObject }
  | { delete: string; key: string }
  | { append: string; sequence: number; at: number; hash: string | null; value: JsonObject }
  | { trim: string; sequence: number; hash: string | null };

/** Writes effects as the text of one journal record. The text of values is reused. */
export function effectsToText(effects: readonly Effect[]): string {
  return `[${effects.map(effectToText).join(",")}]`;
}

/** Reads effects back from the text of a journal record. */
export function effectsFromText(text: string): Effect[] {
  return (JSON.parse(text) as StoredEffect[]).map(effectFromStored);
}

function effectToText(effect: Effect): string {
  switch (effect.kind) {
    case "put": {
      const { key, revision } = effect.document;
      const { collection, text } = effect;
      return `{"put":${JSON.stringify(collection)},"key":${JSON.stringify(key)},"revision":${revision},"value":${text}}`;
    }
    case "delete":
      return JSON.stringify({ delete: effect.collection, key: effect.key });
    case "append": {
      const { sequence, at, hash } = effect.entry;
      return `${JSON.stringify({ append: effect.log, sequence, at, hash }).slice(0, -1)},"value":${effect.text}}`;
    }
    case "trim":
      return JSON.stringify({ trim: effect.log, ...effect.base });
  }
}

function effectFromStored(stored: StoredEffect): Effect {
  if ("put" in stored) {
    const { key, revision, value } = stored;
    const document = deepFreeze({ key, revision, value });
    return { kind: "put", collection: stored.put, document, text: "" };
  }
  if ("delete" in stored) return { kind: "delete", collection: stored.delete, key: stored.key };
  if ("append" in stored) {
    const { sequence, at, value, hash } = stored;
    return { kind: "append", log: stored.append, entry: deepFreeze({ sequence, at, value, hash }), text: "" };
  }
  return { kind: "trim", log: stored.trim, base: { sequence: stored.sequence, hash: stored.hash } };
}

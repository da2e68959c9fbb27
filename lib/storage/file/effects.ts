/**
 * Effects as the text of a journal record: a JSON list whose members begin after a tab, which JSON itself never holds. So a
 * record can be taken apart without parsing the documents in it. A list without tabs, as it was written before, is read too.
 */
import type { JsonObject } from "../../json.ts";
import { deepFreeze } from "../deep-freeze.ts";
import { readStoredText, StoredText } from "../stored-text.ts";
import type { Effect } from "../writes.ts";

/** An effect as it stands in the journal. */
type StoredEffect =
  | { put: string; key: string; revision: number; value: JsonObject }
  | { delete: string; key: string }
  | { append: string; sequence: number; at: number; hash: string | null; value: JsonObject }
  | { trim: string; sequence: number; hash: string | null }
  | { dropBlob: string }
  | { keepBlob: string };

const putStart = `{"put":"`;
const keyStart = `","key":"`;

/** Writes effects as the text of one journal record. The text of values is reused. */
export function effectsToText(effects: readonly Effect[]): string {
  let text = "";
  for (const effect of effects) text += `${text === "" ? "[" : ","}\t${effectToText(effect)}`;
  return text === "" ? "[]" : `${text}]`;
}

/** Reads effects back from the text of a journal record. */
export function effectsFromText(text: string): Effect[] {
  if (!text.startsWith("[\t") || !text.endsWith("]"))
    return (JSON.parse(text) as StoredEffect[]).map(effectFromStored);
  const effects: Effect[] = [];
  for (let at = 2; at < text.length;) {
    const next = text.indexOf("\t", at);
    // A "," or, after the last, a "]" follows.
    const end = (next === -1 ? text.length : next) - 1;
    effects.push(putFromText(text, at, end) ?? effectFromStored(JSON.parse(text.slice(at, end))));
    at = end + 2;
  }
  return effects;
}

function effectToText(effect: Effect): string {
  switch (effect.kind) {
    case "put": {
      const { key, revision, valueText } = effect.document;
      return `{"put":${JSON.stringify(effect.collection)},"key":${JSON.stringify(key)},"revision":${revision},"value":${valueText}}`;
    }
    case "delete":
      return JSON.stringify({ delete: effect.collection, key: effect.key });
    case "append": {
      const { sequence, at, hash } = effect.entry;
      return `${JSON.stringify({ append: effect.log, sequence, at, hash }).slice(0, -1)},"value":${effect.text}}`;
    }
    case "trim":
      return JSON.stringify({ trim: effect.log, ...effect.base });
    case "dropBlob":
    case "keepBlob":
      return JSON.stringify({ [effect.kind]: effect.id });
  }
}

/** Null where it is anything else, or its names have escapes. */
function putFromText(text: string, at: number, end: number): Effect | null {
  if (!text.startsWith(putStart, at)) return null;
  const nameEnd = text.indexOf('"', at + putStart.length);
  const collection = text.slice(at + putStart.length, nameEnd);
  const document = readStoredText(text, { start: keyStart, at: nameEnd, end });
  return document === null || collection.includes("\\") ? null : { kind: "put", collection, document };
}

function effectFromStored(stored: StoredEffect): Effect {
  if ("put" in stored) {
    const document = new StoredText(stored.key, stored.revision, JSON.stringify(stored.value));
    return { kind: "put", collection: stored.put, document };
  }
  if ("delete" in stored) return { kind: "delete", collection: stored.delete, key: stored.key };
  if ("append" in stored) {
    const { sequence, at, value, hash } = stored;
    return { kind: "append", log: stored.append, entry: deepFreeze({ sequence, at, value, hash }), text: "" };
  }
  if ("dropBlob" in stored) return { kind: "dropBlob", id: stored.dropBlob };
  if ("keepBlob" in stored) return { kind: "keepBlob", id: stored.keepBlob };
  return { kind: "trim", log: stored.trim, base: { sequence: stored.sequence, hash: stored.hash } };
}

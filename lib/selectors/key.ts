import type { SelectorKey } from "./selector.ts";

/** What a tag key looks like. */
export const tagKeyPattern = /^[A-Za-z_][A-Za-z0-9_./-]{0,62}$/;
/** What an attribute looks like, without `attr.`. */
export const attributeKeyPattern = /^[a-z][A-Za-z0-9_.-]{0,99}$/;

/** Words that mean something else where a key is expected. */
const grammarWords = new Set(["and", "or", "not", "in", "notin"]);
const attributePrefix = "attr.";

/** Whether a word is one of the grammar's own. */
export function isGrammarWord(word: string): boolean {
  return grammarWords.has(word);
}

/** Reads a key; null where it is none. A quoted key is always a tag key. */
export function parseKey(text: string, quoted: boolean): SelectorKey | null {
  if (!quoted) {
    if (text === "name" || text === "node_id") return { source: text, name: text };
    if (text.startsWith(attributePrefix)) {
      const name = text.slice(attributePrefix.length);
      return attributeKeyPattern.test(name) ? { source: "attribute", name } : null;
    }
    if (isGrammarWord(text)) return null;
  }
  return tagKeyPattern.test(text) ? { source: "tag", name: text } : null;
}

/** Writes a key so that {@link parseKey} reads it back. */
export function printKey(key: SelectorKey): string {
  if (key.source === "attribute") return attributePrefix + key.name;
  if (key.source !== "tag") return key.source;
  const read = parseKey(key.name, false);
  return read?.source === "tag" ? key.name : `"${key.name}"`;
}

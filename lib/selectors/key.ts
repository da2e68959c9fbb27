import type { SelectorKey } from "./selector.ts";

/** What a tag key looks like. */
export const tagKeyPattern = /^[A-Za-z_][A-Za-z0-9_./-]{0,62}$/;
/** What an attribute looks like, without `attr.`. */
export const attributeKeyPattern = /^[a-z][A-Za-z0-9_.-]{0,99}$/;

/** Words that mean something else where a key is expected. */
const grammarWords = new Set(["and", "or", "not", "in", "notin"]);
const attributePrefix = "attr.";
const paramPrefix = "param.";
/** What a param is called, without `param.`. */
const paramKeyPattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Where keys stand: in a selector of agents, or in the condition of a resource, which knows the params of its module, too. */
export type KeyPlace = "selector" | "condition";

/** Whether a word is one of the grammar's own. */
export function isGrammarWord(word: string): boolean {
  return grammarWords.has(word);
}

/** Reads a key; null where it is none. A quoted key is always a tag key. */
export function parseKey(text: string, quoted: boolean, place: KeyPlace = "selector"): SelectorKey | null {
  if (!quoted) {
    if (text === "name" || text === "node_id") return { source: text, name: text };
    if (findPrefixFault(text, place) !== null) return null;
    if (text.startsWith(paramPrefix)) {
      const name = text.slice(paramPrefix.length);
      return paramKeyPattern.test(name) ? { source: "param", name } : null;
    }
    if (text.startsWith(attributePrefix)) {
      const name = text.slice(attributePrefix.length);
      return attributeKeyPattern.test(name) ? { source: "attribute", name } : null;
    }
    if (isGrammarWord(text)) return null;
  }
  return tagKeyPattern.test(text) ? { source: "tag", name: text } : null;
}

/**
 * Why a key can't begin as it does; null where it can. A selector of agents takes any other word with a dot for a tag key. A
 * condition does not: there `attrs.os` or `params.tls` would hold nowhere, and nobody would hear of it.
 */
export function findPrefixFault(text: string, place: KeyPlace): string | null {
  const quote = "quote it to mean a tag";
  if (place === "selector") {
    if (!text.startsWith(paramPrefix)) return null;
    return `${JSON.stringify(text)}: an agent has no params, only the "when" of a resource knows them; ${quote}`;
  }
  const [prefix] = /^[A-Za-z_][A-Za-z0-9_-]*\.(?!.*\/)/.exec(text) ?? [];
  if (prefix === undefined || prefix === attributePrefix || prefix === paramPrefix) return null;
  return `unknown prefix "${prefix}" of ${JSON.stringify(text)}: there are "attr." and "param."; ${quote}`;
}

/** Writes a key so that {@link parseKey} reads it back. */
export function printKey(key: SelectorKey): string {
  if (key.source === "attribute") return attributePrefix + key.name;
  if (key.source === "param") return paramPrefix + key.name;
  if (key.source !== "tag") return key.source;
  const read = parseKey(key.name, false, "selector");
  return read?.source === "tag" ? key.name : `"${key.name}"`;
}

import type { Json } from "../json.ts";

/**
 * Writes JSON in the one canonical form of RFC 8785, so that equal values have equal bytes: for hashes and signatures.
 *
 * Members are ordered by the UTF-16 units of their names; numbers and strings are written as JSON.stringify writes them,
 * which is the form that the RFC prescribes. Members that are `undefined` are left out, as JSON.stringify does.
 *
 * @throws {TypeError} for what JSON can't carry: NaN, the infinities, a lone surrogate, functions, bigints, `undefined` in a list.
 */
export function canonicalJson(value: Json): string {
  switch (typeof value) {
    case "string":
      return canonicalString(value);
    case "number":
      if (!Number.isFinite(value)) throw new TypeError("A number must be finite to be written as JSON.");
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? canonicalList(value) : canonicalObject(value);
    default:
      throw new TypeError(`A ${typeof value} can't be written as JSON.`);
  }
}

/** The canonical texts of lists that are written again and again. */
const lasting = new WeakMap<readonly Json[], string>();

/**
 * Writes a list once and for all: {@link canonicalJson} takes the text from here from then on, also where the list stands
 * in another value. Neither the list, which is frozen, nor anything in it may change afterwards.
 */
export function keepCanonical(list: readonly Json[]): string {
  const text = canonicalJson(list as Json);
  lasting.set(Object.freeze(list), text);
  return text;
}

/** Half of a surrogate pair without its other half: with the `u` flag, whole pairs are read as one character. */
const loneSurrogate = /\p{Surrogate}/u;

/** Whether a text is well-formed Unicode, as all that is hashed must be. */
export function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text);
}

/** The beginning of a text, so many units at most, which ends in no half of a character: that could be neither hashed nor signed. */
export function startOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}

/** What JSON writes as it is, as most texts are: quotes around it are all that is missing. */
const plainText = /^[ !#-[\]-~]*$/;

function canonicalString(text: string): string {
  if (plainText.test(text)) return `"${text}"`;
  // A lone surrogate has no UTF-8 form: two different texts would end as the same bytes.
  if (!isWellFormed(text)) throw new TypeError("A text must be well-formed Unicode to be written as JSON.");
  return JSON.stringify(text);
}

function canonicalList(list: readonly Json[]): string {
  return lasting.get(list) ?? `[${list.map(canonicalJson).join(",")}]`;
}

function canonicalObject(object: { [key: string]: Json }): string {
  let members = "";
  // The default order of sort is by UTF-16 units, as the RFC asks.
  for (const name of Object.keys(object).sort()) {
    const value = object[name];
    if (value === undefined) continue;
    members += `${members === "" ? "" : ","}${canonicalString(name)}:${canonicalJson(value)}`;
  }
  return `{${members}}`;
}

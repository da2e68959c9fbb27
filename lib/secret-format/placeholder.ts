/**
 * What stands in a resource in the place of a secret until the agent puts the value there:
 *
 *   $secret$db-password@3$text$9a41…$
 *
 * name, version, form and a tag. The tag is made with a key of the orchestrator: what an agent or an operator writes into an attribute
 * or a param is never taken for one. It looks like a hash of crypt(3), so that it may stand where only such a hash can.
 */
import type { Crypto } from "../crypto/crypto.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { secretMark } from "../internal/secret-mark.ts";
import type { Json, JsonObject } from "../json.ts";
import type { SecretForm } from "./forms.ts";

/** Which value, and in which form it stands there. */
export interface SecretReference {
  name: string;
  version: number;
  form: SecretForm;
}

/** A placeholder that was found in a resource. */
export interface FoundPlaceholder extends SecretReference {
  /** As it stands there. */
  text: string;
}

const pattern =
  /\$secret\$([a-z0-9][a-z0-9._-]{0,63})@([1-9]\d{0,8})\$(text|json|shell|base64|url)\$[0-9a-f]{32}\$/g;

/** Writes a placeholder, with its tag. */
export function toPlaceholder(reference: SecretReference, { crypto, key }: TagKey): string {
  const { name, version, form } = reference;
  const head = `${secretMark}${name}@${version}$${form}$`;
  return `${head}${toHex(crypto.hmac(key, toUtf8(head))).slice(0, 32)}$`;
}

/** What placeholders are tagged with. */
export interface TagKey {
  crypto: Pick<Crypto, "hmac">;
  /** 32 bytes. */
  key: Uint8Array;
}

/** Every different placeholder in some values, those of others included. */
export function findPlaceholders(values: Iterable<Json>): FoundPlaceholder[] {
  const found = new Map<string, FoundPlaceholder>();
  for (const value of values)
    for (const text of textsOf(value)) {
      if (!text.includes(secretMark)) continue;
      for (const [placeholder, name, version, form] of text.matchAll(pattern))
        found.set(placeholder, {
          text: placeholder,
          name: name!,
          version: Number(version),
          form: form as SecretForm,
        });
    }
  return [...found.values()];
}

/** Puts values in the place of placeholders; what has none stays the same object. */
export function fillPlaceholders(spec: JsonObject, values: ReadonlyMap<string, string>): JsonObject {
  return fill(spec, values) as JsonObject;
}

function fill(value: Json, values: ReadonlyMap<string, string>): Json {
  if (typeof value === "string") {
    if (!value.includes(secretMark)) return value;
    return value.replaceAll(pattern, (placeholder) => values.get(placeholder) ?? placeholder);
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((each) => fill(each, values));
    return items.every((each, at) => each === value[at]) ? value : items;
  }
  let changed = false;
  const entries = Object.entries(value).map(([name, each]): [string, Json] => {
    const filled = fill(each, values);
    changed ||= filled !== each;
    return [name, filled];
  });
  return changed ? Object.fromEntries(entries) : value;
}

function* textsOf(value: Json): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null)
    for (const each of Array.isArray(value) ? value : Object.values(value)) yield* textsOf(each);
}

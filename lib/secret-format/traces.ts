/** The texts by which a secret is known again in what programs print and errors quote. */
import { toBase64, toHex, toUtf8 } from "../crypto/encoding.ts";
import { asText } from "./forms.ts";

/** Shorter values are not looked for: they stand in any text, and what is left out around them would tell them. */
export const shortestTrace = 4;
/** Shorter lines of a value are not looked for by themselves. */
const shortestLine = 8;
/** A longer text is looked for in pieces of this length, so that looking costs the same whatever the value. */
const pieceLength = 512;

/**
 * Every text that gives a value away: the value, its lines, and as it is written in JSON, URLs, XML and shells; each of them also as hex,
 * and as base64 wherever it begins in what was encoded. Line breaks are left out: programs wrap lines where they like.
 */
export function tracesOf(value: Uint8Array): Set<string> {
  const traces = new Set<string>();
  if (value.length < shortestTrace) return traces;
  const written = new Set(writings(value));
  // What stands in a file in such a form may be encoded with the file.
  const encoded = [value, ...[...written].map(toUtf8)].flatMap((bytes) => [...encodings(bytes)]);
  for (const text of [...encoded, ...written]) {
    const bare = text.replaceAll(/[\r\n]/g, "");
    if (bare.length >= shortestTrace) for (const piece of piecesOf(bare)) traces.add(piece);
  }
  return traces;
}

function* encodings(value: Uint8Array): Generator<string> {
  yield toHex(value);
  yield toHex(value).toUpperCase();
  const whole = toBase64(value);
  for (const form of [whole, ...[0, 1, 2].map((offset) => base64Within(value, offset))]) {
    yield form;
    yield form.replaceAll("+", "-").replaceAll("/", "_");
  }
}

/** The characters of base64 that the value alone decides, where so many bytes of others stand before it. */
function base64Within(value: Uint8Array, offset: number): string {
  const padded = new Uint8Array(offset + value.length);
  padded.set(value, offset);
  const from = Math.ceil((offset * 8) / 6);
  return toBase64(padded).slice(from, Math.floor((padded.length * 8) / 6));
}

function* writings(value: Uint8Array): Generator<string> {
  const text = asText(value);
  if (text === null) {
    // What is left of it where somebody reads it as text.
    yield new TextDecoder().decode(value);
    return;
  }
  yield* writingsOf(text);
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  if (lines.length > 1) yield* lines.filter((line) => line.length >= shortestLine);
  // Programs cut off what is blank around a value that they read, the line end of a file above all.
  const trimmed = text.trim();
  if (trimmed !== text && trimmed.length >= shortestTrace) yield* writingsOf(trimmed);
}

function* writingsOf(text: string): Generator<string> {
  yield text;
  const json = JSON.stringify(text).slice(1, -1);
  yield json;
  yield json.replaceAll("/", "\\/");
  yield json.replaceAll(/[^ -~]/g, (unit) => unicodeEscape(unit));
  yield json.replaceAll(/[^ -~]/g, (unit) => unicodeEscape(unit).toUpperCase().replace("U", "u"));
  // As Go writes it, and others that mind what ends up in HTML.
  yield json.replaceAll(/[<>&\u2028\u2029]/g, (unit) => unicodeEscape(unit));
  // As Python, Ruby and $'...' of shells quote.
  yield json.replaceAll('\\"', '"').replaceAll("'", "\\'");
  yield text.replaceAll("'", `'\\''`);
  yield text.replaceAll("'", `'"'"'`);
  // As YAML and SQL quote, and CSV.
  yield text.replaceAll("'", "''");
  yield text.replaceAll('"', '""');
  yield text.replaceAll(/[^A-Za-z0-9_@%+=:,./-]/g, "\\$&");
  yield text.replaceAll(/["$`\\]/g, "\\$&");
  const url = encodeURIComponent(text);
  const strict = url.replaceAll(/[!'()*]/g, (unit) => `%${unit.charCodeAt(0).toString(16).toUpperCase()}`);
  for (const form of [url, strict]) {
    yield form;
    yield form.replaceAll("%20", "+");
    yield form.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
    yield form.replaceAll("%20", "+").replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  }
  yield encodeURI(text);
  const xml = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  yield xml;
  yield xml.replaceAll('"', "&quot;");
  for (const quote of ["&quot;", "&#34;"])
    for (const apostrophe of ["&#39;", "&#x27;", "&apos;"])
      yield xml.replaceAll('"', quote).replaceAll("'", apostrophe);
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function* piecesOf(text: string): Generator<string> {
  if (text.length <= pieceLength) return void (yield text);
  for (let at = 0; at + pieceLength <= text.length; at += pieceLength) yield text.slice(at, at + pieceLength);
  yield text.slice(-pieceLength);
}

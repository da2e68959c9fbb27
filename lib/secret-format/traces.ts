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
 * Every text that gives a value away: the value, its lines, and as it is written in JSON, URLs, XML, YAML, SQL, Python and shells; each of them also as hex,
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
  yield* jsonOf(text);
  yield* pythonOf(text);
  yield* yamlOf(text);
  yield* shellOf(text);
  yield* databaseOf(text);
  yield* urlOf(text);
  yield* markupOf(text);
}

function* jsonOf(text: string): Generator<string> {
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replaceAll(/[^ -~]/g, (unit) => unicodeEscape(unit));
  yield json;
  yield json.replaceAll("/", "\\/");
  yield ascii;
  // As PHP writes it.
  yield ascii.replaceAll("/", "\\/");
  yield json.replaceAll(/[^ -~]/g, upperEscape);
  // As Go writes it, and others that mind what ends up in HTML.
  yield json.replaceAll(/[<>&\u2028\u2029]/g, (unit) => unicodeEscape(unit));
  yield json.replaceAll(/[<>&='\u2028\u2029]/g, (unit) => unicodeEscape(unit));
  yield json.replaceAll('\\"', '"').replaceAll(/["'`<>&+]|[^ -~]/g, upperEscape);
  // As Ruby quotes, and others that take either quote.
  yield json.replaceAll('\\"', '"').replaceAll("'", "\\'");
}

/** How `repr`, `ascii` and bytes are shown. */
function* pythonOf(text: string): Generator<string> {
  const escaped = text.replaceAll(/[\\\n\r\t]/g, (unit) => named[unit]!);
  // The quotes around it are those that it doesn't have.
  for (const quoted of [escaped, escaped.replaceAll("'", "\\'")]) {
    yield quoted.replaceAll(unprintable, (point) => pointEscape(point));
    yield quoted.replaceAll(/[^ -~]/gu, (point) => pointEscape(point));
    yield quoted.replaceAll(/[^ -~]/gu, (point) => byteEscapes(point, (byte) => `\\x${hex(byte, 2)}`));
  }
}

function* yamlOf(text: string): Generator<string> {
  yield text.replaceAll("'", "''");
  const escape = (point: string): string => yamlNamed[point] ?? named[point] ?? pointEscape(point, "upper");
  yield text.replaceAll(/[^ -~]|["\\]/gu, escape);
  yield text.replaceAll(/[^ -~\u00A0-\u2027\u202A-\uD7FF\uE000-\uFEFE\uFF00-\uFFFD]|["\\]/gu, escape);
}

function* shellOf(text: string): Generator<string> {
  yield text.replaceAll("'", `'\\''`);
  yield text.replaceAll(/'+/g, (quotes) => quotes.replaceAll("'", `'"'"'`));
  yield text.replaceAll(/'+/g, `'"$&"'`);
  yield text.replaceAll(/["$`\\]/g, "\\$&");
  for (const pattern of [/[^A-Za-z0-9_@%+=:,./-]/g, /[ \t\n'"\\|&;()<>!{}*[?\]^$`,]/g]) {
    const escaped = text.replaceAll(pattern, "\\$&");
    yield escaped;
    // As it is where nothing stands before it.
    yield escaped.replace(/^[~#]/, "\\$&");
  }
  // As $'...' has it, in a locale that knows all characters and in one that knows ASCII.
  const octal = (point: string): string =>
    byteEscapes(point, (byte) => `\\${byte.toString(8).padStart(3, "0")}`);
  const escape = (point: string): string => shellNamed[point] ?? named[point] ?? octal(point);
  yield text.replaceAll(/[^\P{C}]|[\u2028\u2029'\\]/gu, escape);
  yield text.replaceAll(/[^ -~]|['\\]/gu, escape);
}

/** SQL as standards, PostgreSQL and MySQL have it; and CSV. */
function* databaseOf(text: string): Generator<string> {
  yield text.replaceAll('"', '""');
  yield text.replaceAll("\\", "\\\\").replaceAll("'", "''");
  const mysql = text
    .replaceAll(/[\\'"]/g, "\\$&")
    .replaceAll(/[\n\r]/g, (unit) => named[unit]!)
    .replaceAll("\0", "\\0")
    .replaceAll("\u001a", "\\Z");
  yield mysql;
  yield mysql.replaceAll(/[\b\t]/g, (unit) => named[unit]!);
}

function* urlOf(text: string): Generator<string> {
  const url = encodeURIComponent(text);
  const strict = url.replaceAll(/[!'()*]/g, percent);
  const form = url.replaceAll(/[!'()~]/g, percent);
  // What stands for itself in paths and in front of a host differs from language to language.
  const forms = [url, strict, form, ...["/", "$&+=:@", "$&+,;="].map((left) => without(strict, left))];
  for (const each of [...forms, without(url, "/"), encodeURI(text)]) {
    const lower = each.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
    yield each;
    yield each.replaceAll("%20", "+");
    yield lower;
    yield lower.replaceAll("%20", "+");
  }
}

function* markupOf(text: string): Generator<string> {
  const open = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const xml = open.replaceAll(">", "&gt;");
  yield xml;
  yield xml.replaceAll('"', "&quot;");
  for (const quote of ["&quot;", "&#34;"])
    for (const apostrophe of ["&#39;", "&#x27;", "&apos;", "&#039;"])
      yield xml.replaceAll('"', quote).replaceAll("'", apostrophe);
  // What an attribute may not hold as it is, and what ASCII lacks.
  for (const each of [xml, xml.replaceAll('"', "&quot;"), open.replaceAll('"', "&quot;")])
    for (const reference of [decimalReference, pythonReference, hexReference]) {
      yield each.replaceAll(/[\t\n\r]/g, reference);
      yield each.replaceAll(/[^\0-~]/gu, reference);
      yield each.replaceAll(/[\t\n\r]|[^\0-~]/gu, reference);
    }
}

/** What most languages call them. */
const named: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\u0007": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
};
const shellNamed: Readonly<Record<string, string>> = { "\u001b": "\\E", "'": "\\'" };
const yamlNamed: Readonly<Record<string, string>> = {
  "\0": "\\0",
  "\u001b": "\\e",
  '"': '\\"',
  "\u0085": "\\N",
  "\u00A0": "\\_",
  "\u2028": "\\L",
  "\u2029": "\\P",
};
/** What Python shows by its number. */
const unprintable = /(?! )[\p{C}\p{Z}]/gu;

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}

function unicodeEscape(unit: string): string {
  return `\\u${hex(unit.charCodeAt(0), 4)}`;
}

function upperEscape(unit: string): string {
  return `\\u${hex(unit.charCodeAt(0), 4).toUpperCase()}`;
}

/** A code point by its number, as short as it can be written. */
function pointEscape(point: string, letters: "lower" | "upper" = "lower"): string {
  const code = point.codePointAt(0)!;
  const [letter, digits] = code <= 0xff ? ["x", 2] : code <= 0xffff ? ["u", 4] : ["U", 8];
  const number = hex(code, digits as number);
  return `\\${letter}${letters === "upper" ? number.toUpperCase() : number}`;
}

function byteEscapes(point: string, write: (byte: number) => string): string {
  return Array.from(toUtf8(point), write).join("");
}

function percent(unit: string): string {
  return `%${hex(unit.charCodeAt(0), 2).toUpperCase()}`;
}

/** A text for a URL, of which some characters are written as they are. */
function without(url: string, left: string): string {
  return url.replaceAll(/%[0-9A-F]{2}/g, (code) => {
    const unit = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return left.includes(unit) ? unit : code;
  });
}

function decimalReference(point: string): string {
  return `&#${point.codePointAt(0)!};`;
}

/** ElementTree writes two digits for a tab. */
function pythonReference(point: string): string {
  return `&#${String(point.codePointAt(0)!).padStart(2, "0")};`;
}

function hexReference(point: string): string {
  return `&#x${point.codePointAt(0)!.toString(16).toUpperCase()};`;
}

function* piecesOf(text: string): Generator<string> {
  if (text.length <= pieceLength) return void (yield text);
  for (let at = 0; at + pieceLength <= text.length; at += pieceLength) yield text.slice(at, at + pieceLength);
  yield text.slice(-pieceLength);
}

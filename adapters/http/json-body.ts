/** Reads a JSON body strictly: an object, in UTF-8, of bounded depth, without a key twice or one that could reach a prototype. */
import { OrchestratorError } from "fleetwright";

/** How deep a body may nest. Nothing that the API takes comes near; a deeper one only costs whoever walks it. */
export const maxBodyDepth = 64;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses a body.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` when it is not such an object.
 */
export function parseJsonBody(bytes: Uint8Array): Record<string, unknown> {
  const value = parseStrictJson(toText(bytes));
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refused("The body must be a JSON object.");
  }
  return value as Record<string, unknown>;
}

/**
 * Parses JSON of bounded depth that names no field twice: of two members of one name JSON.parse keeps the last, others the first, and
 * whoever looked at the body before may have seen another.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` for any other text.
 */
export function parseStrictJson(text: string): unknown {
  const value = parse(text);
  const keys = typeof value === "object" && value !== null ? countKeys(value) : 0;
  if (keys !== countMembers(text)) throw refused("The body names a field twice.");
  return value;
}

/**
 * Checks the media type of a request that has a body: JSON (`application/json`, or a type that ends in `+json`) in UTF-8.
 *
 * @throws {OrchestratorError} `UNSUPPORTED_MEDIA_TYPE` when it is another, or missing.
 */
export function checkMediaType(contentType: string | undefined): void {
  // The one that nearly every client sends.
  if (contentType === "application/json") return;
  const [type = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  const isJson = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json$/.test(type.trim());
  const charset = parameters.map((part) => part.trim()).find((part) => part.startsWith("charset="));
  const isUtf8 = charset === undefined || /^charset="?utf-8"?$/.test(charset);
  if (!isJson || !isUtf8) throw new OrchestratorError("UNSUPPORTED_MEDIA_TYPE");
}

/**
 * Reads UTF-8.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` where it is none.
 */
export function toText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw refused("The body is not UTF-8.", cause);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw refused(`The body is not JSON${placeOf(cause, text)}.`, cause);
  }
}

/** Where a text stops being JSON, as far as the parser says so: of some faults it quotes the text in place of a position. */
function placeOf(cause: unknown, text: string): string {
  const told = cause instanceof Error ? cause.message : "";
  const isCut = told === "Unexpected end of JSON input";
  const [, position = isCut ? text.length : undefined] =
    / (?:in|after) JSON at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(told) ?? [];
  if (position === undefined) return "";
  const before = text.slice(0, Number(position)).split("\n");
  return ` at line ${before.length}, column ${before.at(-1)!.length + 1}`;
}

/** Counts the keys of all objects, and refuses what no body may have. Walks without recursion, so that depth costs no stack. */
function countKeys(root: object): number {
  let count = 0;
  let level: object[] = [root];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > maxBodyDepth) throw refused(`The body nests deeper than ${maxBodyDepth} levels.`);
    const below: object[] = [];
    for (const node of level) {
      if (Object.hasOwn(node, "__proto__")) throw refused('The key "__proto__" is not allowed.');
      const children = Object.values(node);
      if (!Array.isArray(node)) count += children.length;
      for (const child of children) if (typeof child === "object" && child !== null) below.push(child);
    }
    level = below;
  }
  return count;
}

const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;

/** Counts the members of all objects of a text that is JSON: each has one colon outside of strings. */
function countMembers(text: string): number {
  let count = 0;
  let isString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === quote) isString = !isString;
    else if (!isString) count += character === colon ? 1 : 0;
    else if (character === backslash) at += 1;
  }
  return count;
}

function refused(message: string, cause?: unknown): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message, cause });
}

/**
 * One pass over the text of a message before anything parses it: counts what is in it, and reads what it is about. What passes costs the
 * parser and the schemas a bounded time. It allocates nothing for what is in the text, and leaves grammar to the parser.
 */
import { OrchestratorError } from "../errors.ts";
import { maxContainerMembers, maxJsonDepth } from "./limits.ts";

/** What a message says first, read without parsing it. Not checked against any schema. */
export interface MessageHead {
  /** Null where it names none. */
  type: string | null;
  /** The operation that it is about; null where it names none. */
  operationId: string | null;
}

/** What a text consists of. */
export interface ScannedText {
  head: MessageHead;
  /** Values in it, lists and objects included; of a text that is no JSON, a number near it. */
  nodes: number;
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openObject, closeObject, openList, closeList] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Bytes of a string that are looked at one by one before the rest is searched: most strings are shorter. */
const walkedBytes = 48;
/** Longest text of the head, bytes: a UUID is 36. */
const maxHeadText = 64;

/**
 * Scans a text in UTF-8. Cost: linear, some nanoseconds a byte, whatever is in it.
 *
 * @throws {OrchestratorError} `PROTOCOL_ERROR` for more than `maxNodes` values, more than {@link maxJsonDepth} levels, a list or object
 * with more than {@link maxContainerMembers} members, or an escape of half of a surrogate pair.
 */
export function scanText(text: Uint8Array, maxNodes: number): ScannedText {
  const members = new Int32Array(maxJsonDepth + 1);
  const head = new HeadReader(text);
  let depth = 0;
  let nodes = 1;
  for (let index = 0; index < text.length; index += 1) {
    switch (text[index]) {
      case quote: {
        const end = endOfString(text, index);
        if (depth === 1) head.string(index + 1, end);
        index = end;
        break;
      }
      case colon:
        if (depth === 1) head.colon();
        break;
      case comma:
        if (depth === 1) head.comma();
        nodes += 1;
        members[depth]! += 1;
        if (nodes > maxNodes || members[depth]! >= maxContainerMembers) throw tooMuch("values");
        break;
      case openObject:
      case openList:
        nodes += 1;
        depth += 1;
        if (depth > maxJsonDepth || nodes > maxNodes) throw tooMuch("levels or values");
        members[depth] = 0;
        break;
      case closeObject:
      case closeList:
        // More closed than opened is no JSON, which the parser says.
        if (depth > 0) depth -= 1;
        break;
    }
  }
  return { head: head.head, nodes };
}

/**
 * The place of the quote that ends a string, or the end of the text. Long stretches without a quote are searched by the runtime, which is ten
 * times as fast; each byte once, however many escapes there are.
 */
function endOfString(text: Uint8Array, start: number): number {
  let index = start + 1;
  let walkTo = index + walkedBytes;
  let quoteAt = -1;
  while (index < text.length) {
    const byte = text[index];
    if (byte === quote) return index;
    if (byte === backslash) {
      index += escapeLength(text, index);
      walkTo = index + walkedBytes;
      continue;
    }
    index += 1;
    if (index < walkTo) continue;
    if (quoteAt < index) quoteAt = placeOf(quote, text, index);
    index += placeOf(backslash, text.subarray(index, quoteAt), 0);
    walkTo = index + walkedBytes;
  }
  return text.length;
}

/** The next place of a byte, or the end. */
function placeOf(byte: number, text: Uint8Array, from: number): number {
  const place = text.indexOf(byte, from);
  return place < 0 ? text.length : place;
}

/**
 * The bytes of an escape. Half of a surrogate pair has no UTF-8 form: it could be neither hashed nor signed later on.
 */
function escapeLength(text: Uint8Array, at: number): number {
  const unit = unitAt(text, at);
  if (unit < 0xd800 || unit > 0xdfff) return 2;
  const next = unit < 0xdc00 ? unitAt(text, at + 6) : 0;
  if (next >= 0xdc00 && next <= 0xdfff) return 12;
  throw new OrchestratorError("PROTOCOL_ERROR", { message: "The peer sent text that is not well-formed." });
}

/** The UTF-16 unit that an escape stands for; -1 where there is no such escape. */
function unitAt(text: Uint8Array, at: number): number {
  if (text[at] !== backslash || text[at + 1] !== 0x75 || at + 6 > text.length) return -1;
  let unit = 0;
  for (let index = at + 2; index < at + 6; index += 1) {
    const digit = hexDigit(text[index]!);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** Reads members of the outermost object; told twice, the last counts, as it does for the parser. */
class HeadReader {
  readonly head: MessageHead = { type: null, operationId: null };
  readonly #text: Uint8Array;
  #last = "";
  #name: string | null = null;

  constructor(text: Uint8Array) {
    this.#text = text;
  }

  string(start: number, end: number): void {
    this.#last = end - start > maxHeadText ? "" : String.fromCharCode(...this.#text.subarray(start, end));
    if (this.#name === "type") this.head.type = this.#last;
    if (this.#name === "operation_id") this.head.operationId = this.#last;
  }

  colon(): void {
    this.#name = this.#last;
  }

  comma(): void {
    this.#name = null;
    this.#last = "";
  }
}

function tooMuch(what: string): OrchestratorError {
  return new OrchestratorError("PROTOCOL_ERROR", {
    message: `The peer sent a message with too many ${what}.`,
  });
}

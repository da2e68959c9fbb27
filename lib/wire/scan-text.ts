/**
 * One pass over the text of a message before anything parses it: counts what is in it, reads what it is about, and finds where a long one
 * can be cut. What passes costs the parser and the schemas a bounded time. It allocates nothing for what is in the text, and leaves
 * grammar to the parser.
 */
import { OrchestratorError } from "../errors.ts";
import { maxContainerMembers, maxJsonDepth, maxUncutBytes } from "./limits.ts";
import { HeadReader, type MessageHead } from "./message-head.ts";
import { levelWords, type TextCut } from "./text-cut.ts";

/** What a text consists of. */
export interface ScannedText {
  head: MessageHead;
  /** Values in it, lists and objects included; of a text that is no JSON, a number near it. */
  nodes: number;
}

/** How a text is scanned. */
export interface ScanOptions {
  maxNodes: number;
  /** Bytes between two cuts, at least. Absent: none are looked for. */
  cutBytes?: number;
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openObject, closeObject, openList, closeList] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Bytes of a string that are looked at one by one before the rest is searched: most strings are shorter. */
const walkedBytes = 48;
/** The longest that is looked at as one: the escapes of a surrogate pair. */
const longestEscape = 12;

/**
 * Scans a text in UTF-8. Cost: linear, some nanoseconds a byte, whatever is in it.
 *
 * @throws {OrchestratorError} `PROTOCOL_ERROR` for more than `maxNodes` values, more than {@link maxJsonDepth} levels, a list or object
 * with more than {@link maxContainerMembers} members, or an escape of half of a surrogate pair.
 */
export function scanText(text: Uint8Array, maxNodes: number): ScannedText {
  const scanner = new TextScanner({ maxNodes });
  scanner.scan(text, true);
  return scanner;
}

/** Scans a text that comes in pieces. */
export class TextScanner implements ScannedText {
  /** Where the text can be cut, in its order. */
  readonly cuts: TextCut[] = [];
  nodes = 1;
  readonly #maxNodes: number;
  readonly #cutBytes: number;
  readonly #reader = new HeadReader();
  /** Of each level: its members, and the three that {@link TextCut.levels} has. */
  readonly #levels = new Int32Array(levelWords * (maxJsonDepth + 1));
  #depth = 0;
  #at = 0;
  /** Where the string began that the scan is in; -1 outside of strings. */
  #string = -1;
  #lastCut = 0;
  #cutAt: number;

  constructor({ maxNodes, cutBytes = Infinity }: ScanOptions) {
    this.#maxNodes = maxNodes;
    this.#cutBytes = cutBytes;
    this.#cutAt = cutBytes;
  }

  get head(): MessageHead {
    return this.#reader.head;
  }

  /**
   * Goes on where it stopped; errors as {@link scanText}, and `PROTOCOL_ERROR` for more than {@link maxUncutBytes} without a cut.
   *
   * @param text - All of the text that is there so far.
   */
  scan(text: Uint8Array, isWhole: boolean): void {
    if (this.#string >= 0) {
      if (!this.#passString(text, isWhole)) return;
      this.#at += 1;
    }
    this.#walk(text, isWhole);
    if (isWhole) this.#checkUncut(text.length);
  }

  #walk(text: Uint8Array, isWhole: boolean): void {
    const [levels, reader] = [this.#levels, this.#reader];
    let [depth, nodes, index] = [this.#depth, this.nodes, this.#at];
    for (; index < text.length; index += 1) {
      switch (text[index]) {
        case quote:
          this.#depth = depth;
          this.#string = index;
          this.#at = index + 1;
          if (!this.#passString(text, isWhole)) {
            this.nodes = nodes;
            return;
          }
          index = this.#at;
          break;
        case colon:
          if (depth === 1) reader.colon();
          levels[depth * levelWords + 3] = index;
          break;
        case comma: {
          if (depth === 1) reader.comma();
          const level = depth * levelWords;
          nodes += 1;
          levels[level]! += 1;
          if (nodes > this.#maxNodes || levels[level]! >= maxContainerMembers) throw tooMuch("values");
          if (index >= this.#cutAt) this.#cut(index, depth, false);
          levels[level + 2] = index + 1;
          break;
        }
        case openObject:
        case openList: {
          nodes += 1;
          depth += 1;
          if (depth > maxJsonDepth || nodes > this.#maxNodes) throw tooMuch("levels or values");
          const level = depth * levelWords;
          levels[level] = 0;
          levels[level + 1] = index;
          levels[level + 2] = index + 1;
          levels[level + 3] = 0;
          break;
        }
        case closeObject:
        case closeList:
          // More closed than opened is no JSON, which the parser says.
          if (depth > 0) depth -= 1;
          break;
      }
    }
    [this.#depth, this.nodes, this.#at] = [depth, nodes, index];
  }

  /**
   * Goes to the quote that ends the string, or to the end of the whole text; false where that is still to come. Long stretches without a
   * quote are searched by the runtime, which is ten times as fast; each byte once, however many escapes there are.
   */
  #passString(text: Uint8Array, isWhole: boolean): boolean {
    let index = this.#at;
    let walkTo = index + walkedBytes;
    let quoteAt = -1;
    while (index < text.length) {
      const byte = text[index];
      if (byte === quote) return this.#endString(text, index);
      if (byte === backslash) {
        if (index + longestEscape > text.length && !isWhole) break;
        index += escapeLength(text, index);
        walkTo = index + walkedBytes;
        if (index >= this.#cutAt) this.#cutString(text, index);
        continue;
      }
      index += 1;
      if (index < walkTo) continue;
      if (quoteAt < index) quoteAt = placeOf(quote, text, index);
      const from = index;
      index += placeOf(backslash, text.subarray(index, quoteAt), 0);
      for (let near = Math.max(from, this.#cutAt); near < index; near = this.#cutAt)
        if (!this.#cutString(text, near)) break;
      walkTo = index + walkedBytes;
    }
    if (isWhole) return this.#endString(text, text.length);
    this.#at = index;
    return false;
  }

  #endString(text: Uint8Array, end: number): true {
    if (this.#depth === 1) this.#reader.string(text, this.#string + 1, end);
    this.#string = -1;
    this.#at = end;
    return true;
  }

  /** Cuts the string that the scan is in; false for the name of a member, which is left whole: what comes after it is cut instead. */
  #cutString(text: Uint8Array, near: number): boolean {
    const levels = this.#levels;
    const level = this.#depth * levelWords;
    const [openedAt, memberAt, colonAt] = [levels[level + 1]!, levels[level + 2]!, levels[level + 3]!];
    if (text[openedAt] === openObject && colonAt < memberAt) {
      this.#checkUncut(near);
      return false;
    }
    this.#cut(startOfCharacter(text, near), this.#depth, true);
    this.#cutAt = near + this.#cutBytes;
    return true;
  }

  #cut(at: number, depth: number, isInString: boolean): void {
    this.#checkUncut(at);
    if (depth > 0) {
      this.cuts.push({ at, isInString, levels: this.#levels.slice(levelWords, (depth + 1) * levelWords) });
      this.#lastCut = at;
    }
    this.#cutAt = at + this.#cutBytes;
  }

  #checkUncut(at: number): void {
    if (this.#cutBytes !== Infinity && at - this.#lastCut > maxUncutBytes)
      throw tooMuch("bytes between two values");
  }
}

/** The next place of a byte, or the end. */
function placeOf(byte: number, text: Uint8Array, from: number): number {
  const place = text.indexOf(byte, from);
  return place < 0 ? text.length : place;
}

/** The place where the character begins that a place is in; of what is no UTF-8, a place near it. */
function startOfCharacter(text: Uint8Array, at: number): number {
  let start = at;
  while (start > at - 3 && (text[start]! & 0xc0) === 0x80) start -= 1;
  return start;
}

/**
 * The bytes of an escape; of one without its digits, as many as they would be: the parser refuses it. Half of a surrogate pair has no UTF-8
 * form: it could be neither hashed nor signed later on.
 */
function escapeLength(text: Uint8Array, at: number): number {
  if (text[at + 1] !== 0x75) return 2;
  // Of half of a pair the first digit is a d: most escapes are none.
  if ((text[at + 2]! | 0x20) !== 0x64) return 6;
  const unit = unitAt(text, at);
  if (unit < 0xd800 || unit > 0xdfff) return 6;
  const next = unit < 0xdc00 ? unitAt(text, at + 6) : 0;
  if (next >= 0xdc00 && next <= 0xdfff) return longestEscape;
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

function tooMuch(what: string): OrchestratorError {
  return new OrchestratorError("PROTOCOL_ERROR", {
    message: `The peer sent a message with too many ${what}.`,
  });
}

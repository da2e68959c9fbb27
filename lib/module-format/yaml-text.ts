/**
 * Reads one YAML document from hostile text as plain JSON, with the place of every value.
 *
 * The yaml package reads; what it would let through or spend long on is refused here: aliases and anchors (they make
 * small texts large), tags, directives, several documents, keys that are no text, numbers that JSON can't carry. Duplicate
 * keys are found here too, because the package compares every key with every other.
 */
import type { Alias, Pair, ParsedNode, Scalar, YAMLMap, YAMLSeq } from "yaml";
import type { Issue } from "../errors.ts";
import { isWellFormed } from "../internal/canonical-json.ts";
import { inPlainWords } from "../internal/schema-issues.ts";
import type { Work, WorkBudget } from "../internal/work.ts";
import type { Json } from "../json.ts";
import { yamlPackage } from "./packages.ts";
import { composeTokens } from "./yaml-pieces.ts";
import { readTokens, type Aside, type TokensFault } from "./yaml-tokens.ts";

/** Limits of a text, past which it is refused before it costs much. */
export interface YamlLimits {
  /** Bytes of UTF-8. */
  bytes: number;
  /** Lists and maps within each other. */
  depth: number;
}

/** What making a value of a node costs, in steps. */
const valueCost = 10;

/** Where a key begins, and where its value begins and ends. */
interface Offsets {
  key: number;
  value: number;
  end: number;
  /** Past comments that belong to it. */
  tail: number;
}

/** A text that was read, and what is wrong with it. */
export class YamlText {
  /** The document; only of use where {@link broken} is false. */
  value: Json = null;
  /** Whether the text is no YAML or over a limit, so that its value means nothing. */
  broken = false;
  /** What is wrong, in no order. */
  readonly issues: Issue[] = [];
  /** Where its comments and directives stand, in the order of the text. */
  asides: readonly Aside[] = [];
  readonly #lines = new (yamlPackage().LineCounter)();
  /** Offsets of keys and values by the list or map that holds them. */
  readonly #offsets = new Map<object, Map<string | number, Offsets>>();
  readonly #text: string;
  #rootOffset = 0;

  private constructor(text: string) {
    this.#text = text;
  }

  /** Notes a fault at an offset of the text. */
  fault(path: Issue["path"], message: string, offset: number): void {
    this.issues.push({ path, message, ...this.#positionOf(offset) });
  }

  /** The line and column of a value, of its key, or of the nearest value around it that is there. */
  place(path: Issue["path"], part: "key" | "value" = "value"): { line: number; column: number } {
    return this.#positionOf(this.#find(path)[part]);
  }

  /**
   * The lines and columns of what stands at offsets of a text value, in rising order. Exact unless the text is written with
   * escapes or folded right there; then, and from there on, it is the place of the text.
   */
  placesWithin(path: Issue["path"], offsets: readonly number[]): { line: number; column: number }[] {
    const { value, end, text } = this.#find(path);
    let [seen, at] = [-1, value - 1];
    return offsets.map((offset) => {
      const part = typeof text === "string" ? text.slice(offset, offset + 16).split("\n", 1)[0]! : "";
      while (at >= 0 && seen < offset) {
        seen = part === "" ? offset : (text as string).indexOf(part, seen + 1);
        at = part === "" ? -1 : this.#text.indexOf(part, at + 1);
        if (at >= end) at = -1;
      }
      return this.#positionOf(at < 0 ? value : at);
    });
  }

  /** Where a value is, or the nearest value around it that is there, and the value. */
  #find(path: Issue["path"]): Offsets & { text: unknown } {
    let text: unknown = this.value;
    let offsets: Offsets = {
      key: this.#rootOffset,
      value: this.#rootOffset,
      end: this.#text.length,
      tail: this.#text.length,
    };
    for (const [at, key] of path.entries()) {
      const found = this.#offsets.get(text as object)?.get(key);
      if (!found) break;
      offsets = at === path.length - 1 ? found : { ...found, key: found.value };
      text = (text as Record<string | number, unknown>)[key];
    }
    return { ...offsets, text };
  }

  /** Whether nothing is written at a path. */
  lacks(path: Issue["path"]): boolean {
    if (path.length === 0) return this.value === null;
    let holder: unknown = this.value;
    for (const key of path) {
      if (!this.#offsets.get(holder as object)?.has(key)) return true;
      holder = (holder as Record<string | number, unknown>)[key];
    }
    return false;
  }

  /** The offsets of a value: its begin, and past comments that belong to it. */
  span(path: Issue["path"]): { begin: number; tail: number } {
    const { value: begin, tail } = this.#find(path);
    return { begin, tail };
  }

  #positionOf(offset: number): { line: number; column: number } {
    const { line, col } = this.#lines.linePos(offset);
    return { line, column: col };
  }

  /** Reads a text. Never throws for what is in it; `WorkExceeded` where it takes more than is left. */
  static *read(text: string, limits: YamlLimits, budget: WorkBudget): Work<YamlText> {
    const result = new YamlText(text);
    result.#lines.addNewLine(0);
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1))
      result.#lines.addNewLine(at + 1);
    yield* result.#read(limits, budget);
    return result;
  }

  *#read(limits: YamlLimits, budget: WorkBudget): Work<void> {
    const text = this.#text;
    if (text.length > limits.bytes || new TextEncoder().encode(text).byteLength > limits.bytes)
      return this.#break(`The text is larger than ${limits.bytes / 1024} KiB.`, 0);
    const read = yield* readTokens(text, limits.depth, budget);
    if (!read.ok) return this.#break(sayingOf(read.fault, limits), read.offset);
    this.asides = read.asides;
    const parts = { length: text.length, depth: limits.depth, tooDeep: tooDeep(limits) };
    const { contents, faults, hasVersion, second } = yield* composeTokens(read.tokens, parts, budget);
    for (const { message, offset } of faults) this.#break(sentence(message), offset);
    if (second !== null) this.#break("There must be one document, not several.", second);
    if (hasVersion) this.fault([], "Directives are not allowed.", 0);
    if (this.broken || contents === null) return;
    this.#rootOffset = contents.range[0];
    this.value = yield* this.#convert(contents, [], budget);
  }

  /** Notes a fault that leaves nothing to be read. */
  #break(message: string, offset: number): void {
    this.broken = true;
    this.fault([], message, offset);
  }

  *#convert(node: ParsedNode, path: Issue["path"], budget: WorkBudget): Work<Json> {
    const { isAlias, isScalar, isSeq } = yamlPackage();
    const offset = node.range[0];
    if (isAlias(node)) {
      this.fault(path, `Aliases are not allowed: *${(node as Alias).source}.`, offset);
      return null;
    }
    if (node.anchor !== undefined) this.fault(path, `Anchors are not allowed: &${node.anchor}.`, offset);
    if (node.tag !== undefined) this.fault(path, "Tags are not allowed; quote what is to be text.", offset);
    if (isScalar(node)) return this.#scalar(node, path);
    return isSeq(node)
      ? yield* this.#list(node, path, budget)
      : yield* this.#map(node as YAMLMap.Parsed, path, budget);
  }

  #scalar(node: Scalar, path: Issue["path"]): Json {
    const { value } = node;
    const offset = node.range?.[0] ?? 0;
    if (typeof value === "number") {
      const fault = faultOfNumber(value);
      if (fault !== null) this.fault(path, fault, offset);
      return fault === null ? value : 0;
    }
    if (typeof value === "string" && !isWellFormed(value))
      this.fault(path, "This is half a character.", offset);
    return typeof value === "string" || typeof value === "boolean" ? value : null;
  }

  *#list(node: YAMLSeq<ParsedNode>, path: Issue["path"], budget: WorkBudget): Work<Json> {
    const list: Json[] = [];
    const offsets = new Map<number, Offsets>();
    this.#offsets.set(list, offsets);
    for (const [at, item] of node.items.entries()) {
      budget.spend(valueCost);
      if (budget.isSliceOver()) yield;
      const [begin, end, tail] = item.range;
      offsets.set(at, { key: begin, value: begin, end, tail });
      list.push(yield* this.#convert(item, [...path, at], budget));
    }
    return list;
  }

  *#map(node: YAMLMap.Parsed, path: Issue["path"], budget: WorkBudget): Work<Json> {
    const map: { [key: string]: Json } = {};
    const offsets = new Map<string, Offsets>();
    this.#offsets.set(map, offsets);
    for (const pair of node.items) {
      budget.spend(valueCost);
      if (budget.isSliceOver()) yield;
      const key = this.#key(pair, path);
      if (key === null) continue;
      const at = pair.key.range[0];
      if (offsets.has(key)) {
        this.fault([...path, key], `"${key}" is written twice.`, at);
        continue;
      }
      const [begin, end, tail] = pair.value?.range ?? [at, at, at];
      offsets.set(key, { key: at, value: begin, end, tail });
      map[key] = pair.value ? yield* this.#convert(pair.value, [...path, key], budget) : null;
    }
    return map;
  }

  #key(pair: Pair<ParsedNode, ParsedNode | null>, path: Issue["path"]): string | null {
    const { isScalar } = yamlPackage();
    const { key } = pair;
    // An own property of this name can't be made by assignment.
    if (isScalar(key) && typeof key.value === "string" && key.value !== "__proto__") {
      if (key.anchor !== undefined)
        this.fault(path, `Anchors are not allowed: &${key.anchor}.`, key.range[0]);
      if (key.tag !== undefined)
        this.fault(path, "Tags are not allowed; quote what is to be text.", key.range[0]);
      if (!isWellFormed(key.value)) this.fault(path, "A key holds half a character.", key.range[0]);
      return key.value;
    }
    this.fault(path, refusalOf(key), key.range[0]);
    return null;
  }
}

function refusalOf(key: ParsedNode): string {
  const { isAlias, isScalar } = yamlPackage();
  if (isAlias(key)) return `Aliases are not allowed: *${key.source}.`;
  return isScalar(key) && key.value === "__proto__"
    ? 'A key can\'t be "__proto__".'
    : "A key must be text; quote it.";
}

/**
 * What a schema says of a wrong value, in the words of YAML; what a schema of ours says as it is.
 *
 * @param isText - Whether text stands there, of which a template made something else.
 */
export function inWordsOfYaml(fault: Parameters<typeof inPlainWords>[0], isText = false): string {
  const plain = inPlainWords(fault);
  if (plain.endsWith(", not null.")) return plain.replace(/, not null\.$/, ", and is empty.");
  return isText
    ? plain
    : plain.replace(/^(This must be text, not (?:a number|a boolean))\.$/, "$1; quote it.");
}

/** JSON has neither infinity nor NaN, and of large whole numbers not each. */
function faultOfNumber(value: number): string | null {
  if (!Number.isFinite(value)) return "This is no finite number.";
  const isExact = !Number.isInteger(value) || Number.isSafeInteger(value);
  return isExact ? null : "This number can't be kept exactly; quote it.";
}

function sayingOf(fault: TokensFault, limits: YamlLimits): string {
  if (fault === "parts") return "The text has too many parts.";
  if (fault === "depth") return tooDeep(limits);
  return "No map can begin here: lines that belong together are indented alike, and a line has one key.";
}

function tooDeep(limits: YamlLimits): string {
  return `The text is nested deeper than ${limits.depth}.`;
}

function sentence(message: string): string {
  return message.endsWith(".") ? message : `${message}.`;
}

/** Puts faults of a text into the order of their places. */
export function byPlace(a: Issue, b: Issue): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** The same for all that is at one place. */
export function placeKey(place: { line?: number; column?: number }): string {
  return `${place.line}:${place.column}`;
}

import { findPrefixFault, isGrammarWord, type KeyPlace, parseKey } from "./key.ts";
import type { CompareOperator, Selector, SelectorKey } from "./selector.ts";
import { selectorLimits } from "./selector.ts";
import type { Token } from "./tokens.ts";
import { selectorFault, tokenize } from "./tokens.ts";

const compareOperators: ReadonlySet<string> = new Set<CompareOperator>([">", ">=", "<", "<="]);

/** What a number looks like, in a selector and in a value that is compared with one. */
const numberPattern = /^[+-]?(\d+(\.\d+)?|\.\d+)([eE][+-]?\d{1,3})?$/;

/** Reads a text as a number, as `>` and its like do; null where it is none. */
export function toNumber(text: string): number | null {
  if (!numberPattern.test(text)) return null;
  const number = Number(text);
  // Adding zero makes -0 the 0 that it prints as.
  return Number.isFinite(number) ? number + 0 : null;
}

/**
 * Reads a selector. The grammar is at the head of selector.ts.
 *
 * @throws {OrchestratorError} `SELECTOR_INVALID` with one issue that carries the column, from 1. An empty text is refused:
 * every agent is written `*`. So is a text over {@link selectorLimits}.
 */
export function parseSelector(text: string): Selector {
  requireLength(text);
  return new Parser(tokenize(text), "selector").parse();
}

/**
 * Reads a selector that was taken before and has been kept since. No limit applies: what was answered once is good for ever,
 * also where it was kept in a longer form than it was given in.
 */
export function parseKeptSelector(text: string): Selector {
  return new Parser(tokenize(text), "selector", unlimited).parse();
}

/**
 * Reads the condition of a resource: a selector that knows params, too, and refuses every other prefix.
 *
 * @throws {OrchestratorError} As {@link parseSelector}.
 */
export function parseCondition(text: string): Selector {
  requireLength(text);
  return new Parser(tokenize(text), "condition").parse();
}

type Limits = Readonly<Record<"depth" | "terms", number>>;
const unlimited: Limits = { depth: Infinity, terms: Infinity };

class Parser {
  readonly #tokens: readonly Token[];
  readonly #place: KeyPlace;
  readonly #limits: Limits;
  #at = 0;
  #depth = 0;
  #terms = 0;

  constructor(tokens: readonly Token[], place: KeyPlace, limits: Limits = selectorLimits) {
    this.#tokens = tokens;
    this.#place = place;
    this.#limits = limits;
  }

  parse(): Selector {
    if (this.#peek().kind === "end") throw selectorFault(1, "it is empty; every agent is written *");
    const selector = this.#parseOr();
    const rest = this.#peek();
    if (rest.kind !== "end") throw selectorFault(rest.column, `unexpected ${describe(rest)}`);
    return selector;
  }

  #parseOr(): Selector {
    const operands = [this.#parseAnd()];
    while (this.#takeIf("word", "or")) operands.push(this.#parseAnd());
    return join("or", operands);
  }

  #parseAnd(): Selector {
    const operands = [this.#parseUnary()];
    while (this.#takeIf("symbol", ",") || this.#takeIf("word", "and")) operands.push(this.#parseUnary());
    return join("and", operands);
  }

  #parseUnary(): Selector {
    if (this.#takeIf("symbol", "!") || this.#takeIf("word", "not")) {
      return this.#nested(() => ({ kind: "not", operand: this.#parseUnary() }));
    }
    if (this.#takeIf("symbol", "(")) {
      return this.#nested(() => {
        const inner = this.#parseOr();
        this.#expect(")");
        return inner;
      });
    }
    if (this.#takeIf("word", "*")) {
      this.#countTerm();
      return { kind: "all" };
    }
    return this.#parseTerm();
  }

  #nested(read: () => Selector): Selector {
    this.#depth += 1;
    if (this.#depth > this.#limits.depth) {
      throw selectorFault(this.#peek().column, `nested deeper than ${this.#limits.depth}`);
    }
    const selector = read();
    this.#depth -= 1;
    return selector;
  }

  #parseTerm(): Selector {
    const key = this.#takeKey();
    this.#countTerm();
    for (const negated of [false, true]) {
      if (this.#takeIf("word", negated ? "notin" : "in")) {
        return { kind: "in", key, values: this.#takeValues(), negated };
      }
      if (this.#takeIf("symbol", negated ? "!=" : "=") || (!negated && this.#takeIf("symbol", "=="))) {
        return { kind: "equals", key, value: this.#takeValue(), negated };
      }
    }
    if (this.#takeIf("symbol", "=~")) return { kind: "glob", key, pattern: this.#takeValue() };
    const next = this.#peek();
    if (next.kind === "symbol" && compareOperators.has(next.text)) {
      this.#at += 1;
      return { kind: "compare", key, operator: next.text as CompareOperator, value: this.#takeNumber() };
    }
    return { kind: "exists", key };
  }

  #takeKey(): SelectorKey {
    const token = this.#next();
    const named = token.kind === "word" || token.kind === "quoted";
    const key = named ? parseKey(token.text, token.kind === "quoted", this.#place) : null;
    if (key) return key;
    const prefixFault = token.kind === "word" ? findPrefixFault(token.text, this.#place) : null;
    if (prefixFault !== null) throw selectorFault(token.column, prefixFault);
    if (token.kind === "word" && isGrammarWord(token.text)) {
      throw selectorFault(token.column, `"${token.text}" is a word of the grammar; quote it to mean a tag`);
    }
    const found = named ? `${describe(token)} is not a key` : `a key is expected, not ${describe(token)}`;
    throw selectorFault(token.column, found);
  }

  #takeValues(): string[] {
    this.#expect("(");
    const values: string[] = [];
    do {
      values.push(this.#takeValue());
      this.#countTerm();
    } while (this.#takeIf("symbol", ","));
    this.#expect(")");
    return values;
  }

  #takeValue(): string {
    const token = this.#next();
    if (token.kind === "word" || token.kind === "quoted") return token.text;
    throw selectorFault(token.column, `a value is expected, not ${describe(token)}`);
  }

  #takeNumber(): number {
    const token = this.#next();
    const number = token.kind === "word" ? toNumber(token.text) : null;
    if (number === null) {
      throw selectorFault(token.column, `a number is expected, not ${describe(token)}`);
    }
    return number;
  }

  #countTerm(): void {
    this.#terms += 1;
    if (this.#terms > this.#limits.terms) {
      throw selectorFault(this.#peek().column, `more than ${this.#limits.terms} terms and values`);
    }
  }

  #peek(): Token {
    return this.#tokens[this.#at] as Token;
  }

  /** The token at hand; the one that ends the text is never passed. */
  #next(): Token {
    const token = this.#peek();
    if (token.kind !== "end") this.#at += 1;
    return token;
  }

  #takeIf(kind: Token["kind"], text: string): boolean {
    const token = this.#peek();
    if (token.kind !== kind || token.text !== text) return false;
    this.#at += 1;
    return true;
  }

  #expect(symbol: string): void {
    const token = this.#peek();
    if (!this.#takeIf("symbol", symbol)) {
      throw selectorFault(token.column, `"${symbol}" is expected, not ${describe(token)}`);
    }
  }
}

function requireLength(text: string): void {
  const { length } = selectorLimits;
  if (text.length > length) throw selectorFault(length + 1, `longer than ${length} characters`);
}

function join(kind: "and" | "or", operands: Selector[]): Selector {
  const [only, ...others] = operands;
  return only !== undefined && others.length === 0 ? only : { kind, operands };
}

function describe(token: Token): string {
  return token.kind === "end" ? "the end" : JSON.stringify(token.text);
}

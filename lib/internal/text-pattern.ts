/**
 * Patterns of texts that others wrote, matched in time that grows with the text and not with its tricks: the pattern is
 * made into states, and all that it may be in is followed at once. A subset of the regular expressions of JavaScript: plain
 * characters, `.`, classes (`[a-z]`, `[^"]`), `\d \w \s` and their opposites, groups, `|`, `* + ? {n} {n,} {n,m}`. It must
 * match the whole text; `^` at the start and `$` at the end may be written. There is no looking around and no referring back.
 *
 * A text of some thousand characters may still meet some hundred states at each, so every look at a state takes a step of a budget.
 */
import type { Work, WorkBudget } from "./work.ts";

/** Tells whether a whole text matches; `WorkExceeded` where finding out takes more than is left. */
export type TextPattern = (text: string, budget: WorkBudget) => Work<boolean>;

/** Whether a character is one of some; `cost` is how many things it is compared with. */
interface Test {
  holds: (code: number) => boolean;
  cost: number;
}

type Part =
  | { kind: "test"; test: Test }
  | { kind: "sequence" | "choice"; parts: Part[] }
  | { kind: "repeat"; part: Part; least: number; most: number };

/** A state: passes a character on to `next` if it is one of `test`; without a test, is all of `next` at once. */
interface State {
  test: Test | null;
  next: number[];
}

const limits = { pattern: 500, depth: 20, states: 1000 };

/** Longest text that is looked at; a longer one matches nothing. */
export const longestMatch = 4096;

/** What reading a character of a pattern and making a state cost, in steps. */
const readingCost = 4;

/**
 * Reads a pattern. What that takes is taken from the budget.
 *
 * @throws {SyntaxError} that says what can't be read, or is too large.
 */
export function parseTextPattern(pattern: string, budget: WorkBudget): TextPattern {
  if (pattern.length > limits.pattern) throw new SyntaxError(`is longer than ${limits.pattern}`);
  budget.take(readingCost * pattern.length);
  const states: State[] = [{ test: null, next: [] }];
  const start = build(new PatternReader(pattern).read(), { states, end: 0 });
  budget.take(readingCost * states.length);
  return function* (text, work) {
    return text.length <= longestMatch && (yield* matches({ states, start }, text, work));
  };
}

function* matches(
  { states, start }: { states: readonly State[]; start: number },
  text: string,
  budget: WorkBudget,
): Work<boolean> {
  const entered = new Uint32Array(states.length);
  let generation = 1;
  let current = enter([start], states, (at) => mark(entered, at, generation));
  for (const character of text) {
    if (budget.isSliceOver()) yield;
    const code = character.codePointAt(0)!;
    const passed: number[] = [];
    let cost = current.length;
    for (const at of current) {
      const { test, next } = states[at]!;
      if (test === null) continue;
      cost += test.cost;
      if (test.holds(code)) passed.push(next[0]!);
    }
    budget.take(cost);
    if (passed.length === 0) return false;
    generation += 1;
    current = enter(passed, states, (at) => mark(entered, at, generation));
  }
  return current.includes(0);
}

/** Notes that a state was entered in a generation; false where it was already. */
function mark(entered: Uint32Array, at: number, generation: number): boolean {
  if (entered[at] === generation) return false;
  entered[at] = generation;
  return true;
}

/** These states and all that they are at once, each once. */
function enter(open: number[], states: readonly State[], isNew: (at: number) => boolean): number[] {
  const entered: number[] = [];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (!isNew(at)) continue;
    entered.push(at);
    const { test, next } = states[at]!;
    if (test === null) for (const each of next) open.push(each);
  }
  return entered;
}

/** Makes the states of a part that leads to `end`; returns the state where it begins. */
function build(part: Part, { states, end }: { states: State[]; end: number }): number {
  const add = (test: Test | null, next: number[]): number => {
    if (states.length >= limits.states) throw new SyntaxError("is too large");
    return states.push({ test, next }) - 1;
  };
  switch (part.kind) {
    case "test":
      return add(part.test, [end]);
    case "sequence":
      return part.parts.reduceRight((next, each) => build(each, { states, end: next }), end);
    case "choice":
      return add(
        null,
        part.parts.map((each) => build(each, { states, end })),
      );
    case "repeat": {
      let next = end;
      // What is nothing is nothing however often, and would cost all the counts within each other and make no state.
      if (isEmpty(part.part)) return end;
      if (part.most === Infinity) {
        next = add(null, [end]);
        states[next]!.next.push(build(part.part, { states, end: next }));
      } else {
        for (let left = part.most; left > part.least; left -= 1)
          next = add(null, [end, build(part.part, { states, end: next })]);
      }
      for (let left = part.least; left > 0; left -= 1) next = build(part.part, { states, end: next });
      return next;
    }
  }
}

/** Whether a part is no character at all, whatever the text. */
function isEmpty(part: Part): boolean {
  if (part.kind === "test") return false;
  return part.kind === "repeat"
    ? isEmpty(part.part) || part.most === 0
    : part.kind === "sequence" && part.parts.every(isEmpty);
}

class PatternReader {
  readonly #characters: string[];
  #at = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#characters = [...pattern.replace(/^\^/, "").replace(/(?<!\\)((?:\\\\)*)\$$/, "$1")];
  }

  read(): Part {
    const part = this.#choice();
    if (this.#at < this.#characters.length) throw new SyntaxError("has a ) without a (");
    return part;
  }

  #choice(): Part {
    const parts = [this.#sequence()];
    while (this.#take("|")) parts.push(this.#sequence());
    return parts.length === 1 ? parts[0]! : { kind: "choice", parts };
  }

  #sequence(): Part {
    const parts: Part[] = [];
    for (let next = this.#peek(); next !== undefined && next !== "|" && next !== ")"; next = this.#peek())
      parts.push(this.#repeated());
    return { kind: "sequence", parts };
  }

  #repeated(): Part {
    let part = this.#single();
    for (;;) {
      if (this.#take("*")) part = { kind: "repeat", part, least: 0, most: Infinity };
      else if (this.#take("+")) part = { kind: "repeat", part, least: 1, most: Infinity };
      else if (this.#take("?")) part = { kind: "repeat", part, least: 0, most: 1 };
      else if (this.#take("{")) part = { kind: "repeat", part, ...this.#bounds() };
      else return part;
      // How much is tried first makes no difference where the whole text must match.
      this.#take("?");
    }
  }

  #bounds(): { least: number; most: number } {
    const end = this.#characters.indexOf("}", this.#at);
    const written = /^(\d{1,4})(,)?(\d{1,4})?$/.exec(this.#characters.slice(this.#at, end).join(""));
    if (end < 0 || !written || (written[3] !== undefined && !written[2]))
      throw new SyntaxError("has a { that is no count; write \\{");
    this.#at = end + 1;
    const least = Number(written[1]);
    const most = written[3] !== undefined ? Number(written[3]) : written[2] ? Infinity : least;
    if (most < least) throw new SyntaxError("has a count that ends before it begins");
    return { least, most };
  }

  #single(): Part {
    const character = this.#next();
    if (character === "(") return this.#group();
    if (character === "[") return { kind: "test", test: this.#class() };
    if (character === ".") return { kind: "test", test: { holds: (code) => !lineEnds.has(code), cost: 1 } };
    if (character === "\\") return { kind: "test", test: toTest(this.#escape()) };
    if ("*+?{^$".includes(character))
      throw new SyntaxError(`has a ${character} where it means nothing; write \\${character}`);
    return { kind: "test", test: equals(character) };
  }

  #group(): Part {
    this.#depth += 1;
    if (this.#depth > limits.depth) throw new SyntaxError(`is nested deeper than ${limits.depth}`);
    if (this.#take("?") && !this.#take(":")) throw new SyntaxError("has a (? that is not known; only (?: is");
    const part = this.#choice();
    if (!this.#take(")")) throw new SyntaxError("has a ( without a )");
    this.#depth -= 1;
    return part;
  }

  #class(): Test {
    const negated = this.#take("^");
    const tests: Test[] = [];
    while (!this.#take("]")) {
      const isEscaped = this.#peek() === "\\";
      const first = this.#member();
      const at = this.#at;
      const isRange = this.#peek() === "-" && this.#characters[at + 1] !== "]";
      if (isRange) this.#at += 1;
      const range = isRange ? rangeOf(first, this.#member()) : [toTest(first)];
      if (range === null && !isEscaped) throw new SyntaxError("has a range that ends before it begins");
      // Earlier versions took in such patterns, and read the hyphen as one.
      if (range === null) this.#at = at;
      tests.push(...(range ?? [toTest(first)]));
    }
    const cost = tests.reduce((sum, test) => sum + test.cost, 0);
    return { holds: (code) => tests.some((test) => test.holds(code)) !== negated, cost };
  }

  /** What stands in a class: a character, written as it is or with a backslash, or several of which it is one. */
  #member(): string | Test {
    const character = this.#next();
    return character === "\\" ? this.#escape() : character;
  }

  #escape(): string | Test {
    const letter = this.#next();
    const known = classes[letter.toLowerCase()];
    if (known && letter !== letter.toLowerCase()) return { ...known, holds: (code) => !known.holds(code) };
    if (known) return known;
    const control = { n: "\n", t: "\t", r: "\r" }[letter];
    if (control === undefined && /[\p{L}\p{N}]/u.test(letter))
      throw new SyntaxError(`has a \\${letter} that is not known`);
    return control ?? letter;
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #next(): string {
    const character = this.#characters[this.#at];
    if (character === undefined) throw new SyntaxError("ends in the middle");
    this.#at += 1;
    return character;
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at += 1;
    return true;
  }
}

const classes: Record<string, Test | undefined> = {
  d: { holds: (code) => code >= 48 && code <= 57, cost: 1 },
  w: { holds: (code) => /\w/.test(String.fromCodePoint(code)), cost: 2 },
  s: { holds: (code) => /\s/.test(String.fromCodePoint(code)), cost: 2 },
};

/** As JavaScript has it: no line goes on behind one of them. */
const lineEnds: ReadonlySet<number> = new Set([0x0a, 0x0d, 0x2028, 0x2029]);

function toTest(member: string | Test): Test {
  return typeof member === "string" ? equals(member) : member;
}

/** A range of characters, null where it ends before it begins; between what is several of them a hyphen is one, as JavaScript reads it. */
function rangeOf(first: string | Test, last: string | Test): Test[] | null {
  if (typeof first !== "string" || typeof last !== "string")
    return [toTest(first), equals("-"), toTest(last)];
  const [from, to] = [first.codePointAt(0)!, last.codePointAt(0)!];
  return to < from ? null : [{ holds: (code) => code >= from && code <= to, cost: 1 }];
}

function equals(character: string): Test {
  const wanted = character.codePointAt(0)!;
  return { holds: (code) => code === wanted, cost: 1 };
}

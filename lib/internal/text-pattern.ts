/**
 * Patterns of texts that others wrote, matched in time that grows with the text and not with its tricks: the pattern is
 * made into states, and all that it may be in is followed at once. A subset of the regular expressions of JavaScript: plain
 * characters, `.`, classes (`[a-z]`, `[^"]`), `\d \w \s` and their opposites, groups, `|`, `* + ? {n} {n,} {n,m}`. It must
 * match the whole text; `^` at the start and `$` at the end may be written. There is no looking around and no referring back.
 */

/** Whether a whole text matches. */
export type TextPattern = (text: string) => boolean;

type Test = (code: number) => boolean;

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

/**
 * Reads a pattern.
 *
 * @throws {SyntaxError} that says what can't be read, or is too large.
 */
export function parseTextPattern(pattern: string): TextPattern {
  if (pattern.length > limits.pattern) throw new SyntaxError(`is longer than ${limits.pattern}`);
  const states: State[] = [{ test: null, next: [] }];
  const start = build(new PatternReader(pattern).read(), { states, end: 0 });
  return (text) => text.length <= longestMatch && matches(states, start, text);
}

function matches(states: readonly State[], start: number, text: string): boolean {
  let current = enter([start], states);
  for (const character of text) {
    const code = character.codePointAt(0)!;
    const passed: number[] = [];
    for (const at of current) if (states[at]!.test?.(code)) passed.push(...states[at]!.next);
    if (passed.length === 0) return false;
    current = enter(passed, states);
  }
  return current.has(0);
}

/** These states and all that they are at once. */
function enter(from: readonly number[], states: readonly State[]): Set<number> {
  const entered = new Set<number>();
  const open = [...from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (entered.has(at)) continue;
    entered.add(at);
    if (!states[at]!.test) open.push(...states[at]!.next);
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
    if (character === ".") return { kind: "test", test: (code) => code !== 10 };
    if (character === "\\") return { kind: "test", test: this.#escape() };
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
      const character = this.#next();
      if (character === "\\") tests.push(this.#escape());
      else if (this.#peek() === "-" && this.#characters[this.#at + 1] !== "]") {
        this.#at += 1;
        const [from, to] = [character.codePointAt(0)!, this.#next().codePointAt(0)!];
        if (to < from) throw new SyntaxError("has a range that ends before it begins");
        tests.push((code) => code >= from && code <= to);
      } else tests.push(equals(character));
    }
    return (code) => tests.some((test) => test(code)) !== negated;
  }

  #escape(): Test {
    const letter = this.#next();
    const known = classes[letter.toLowerCase()];
    if (known) return letter === letter.toLowerCase() ? known : (code) => !known(code);
    const control = { n: "\n", t: "\t", r: "\r" }[letter];
    if (control === undefined && /[\p{L}\p{N}]/u.test(letter))
      throw new SyntaxError(`has a \\${letter} that is not known`);
    return equals(control ?? letter);
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
  d: (code) => code >= 48 && code <= 57,
  w: (code) => /\w/.test(String.fromCodePoint(code)),
  s: (code) => /\s/.test(String.fromCodePoint(code)),
};

function equals(character: string): Test {
  const wanted = character.codePointAt(0)!;
  return (code) => code === wanted;
}

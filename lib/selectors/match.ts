import { toNumber } from "./parse.ts";
import type { CompareOperator, Selector, SelectorKey, SelectorTarget } from "./selector.ts";

/** Tells whether a selector matches an agent. */
export function matchesSelector(selector: Selector, target: SelectorTarget): boolean {
  switch (selector.kind) {
    case "all":
      return true;
    case "not":
      return !matchesSelector(selector.operand, target);
    case "and":
      return selector.operands.every((operand) => matchesSelector(operand, target));
    case "or":
      return selector.operands.some((operand) => matchesSelector(operand, target));
    default:
      return matchesValue(selector, valueOf(target, selector.key));
  }
}

/** A selector that looks at one key. */
export type SelectorTerm = Extract<Selector, { key: SelectorKey }>;

/** Tells whether a term matches a value; undefined where the agent lacks the key. */
export function matchesValue(term: SelectorTerm, value: string | undefined): boolean {
  switch (term.kind) {
    case "exists":
      return value !== undefined;
    case "equals":
      return (value === term.value) !== term.negated;
    case "in":
      return (value !== undefined && term.values.includes(value)) !== term.negated;
    case "glob":
      return value !== undefined && matchesGlob(term.pattern, value);
    case "compare":
      return value !== undefined && compares(value, term.operator, term.value);
  }
}

/** The value of a key as text; undefined where the agent lacks it, as every agent lacks params. */
export function valueOf(target: SelectorTarget, key: SelectorKey): string | undefined {
  if (key.source === "param") return undefined;
  if (key.source === "node_id") return target.node_id;
  if (key.source === "name") return target.name ?? undefined;
  const values = key.source === "tag" ? target.tags : target.attributes;
  // A key may be spelled like something that every object inherits.
  return Object.hasOwn(values, key.name) ? String(values[key.name]) : undefined;
}

function compares(text: string, operator: CompareOperator, bound: number): boolean {
  const value = toNumber(text);
  if (value === null) return false;
  switch (operator) {
    case ">":
      return value > bound;
    case ">=":
      return value >= bound;
    case "<":
      return value < bound;
    case "<=":
      return value <= bound;
  }
}

/**
 * Tells whether a whole text has the form of a glob: `*` is any run of characters, `?` any one. Goes back only to the
 * last star, so that no pattern takes longer than pattern times text.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  // By characters as people count them, of which some are two units. Plain text, the most, is left as it is.
  return isPlain(pattern) && isPlain(text) ? matches(pattern, text) : matches([...pattern], [...text]);
}

function isPlain(text: string): boolean {
  return !/[\uD800-\uDFFF]/.test(text);
}

function matches(pattern: ArrayLike<string>, text: ArrayLike<string>): boolean {
  let at = 0;
  let star = -1;
  let resumeAt = 0;
  let place = 0;
  while (at < text.length) {
    const wanted = pattern[place];
    if (wanted === "*") {
      star = place;
      resumeAt = at;
      place += 1;
    } else if (wanted === "?" || (wanted !== undefined && wanted === text[at])) {
      place += 1;
      at += 1;
    } else if (star >= 0) {
      resumeAt += 1;
      at = resumeAt;
      place = star + 1;
    } else {
      return false;
    }
  }
  while (pattern[place] === "*") place += 1;
  return place === pattern.length;
}

/**
 * Selectors: one grammar that says which agents are meant, used wherever agents are chosen.
 *
 * ```
 * selector = and { "or" and }
 * and      = unary { ("," | "and") unary }          a comma and `and` are the same
 * unary    = ("!" | "not") unary | "(" selector ")" | "*" | term
 * term     = key                                     the agent has the key
 *          | key ("=" | "==" | "!=") value           compared as text
 *          | key (">" | ">=" | "<" | "<=") number    a value that is no number never matches
 *          | key "=~" glob                           `*` any run of characters, `?` any one; the whole value
 *          | key ("in" | "notin") "(" value { "," value } ")"
 * ```
 *
 * A key is a tag key, `attr.` and an attribute, `name` or `node_id`; in the condition of a resource also `param.` and a param
 * of its module. A quoted key is always a tag key, also where it spells one of those or a word of the grammar. Values are words, or text in single or double quotes, where a
 * backslash stands before a quote or a backslash. `and` binds tighter than `or`.
 *
 * `!=` and `notin` also match an agent that lacks the key, as `!` of the positive term does. Every other term is
 * false for an agent that lacks the key.
 */

/** What a term looks at. */
export interface SelectorKey {
  /** Where the value is found; "param" in conditions alone. */
  source: "tag" | "attribute" | "name" | "node_id" | "param";
  /** Tag key, attribute or param; for `name` and `node_id` the same word again. */
  name: string;
}

/** A parsed selector: plain JSON. */
export type Selector =
  /** Every agent. */
  | { kind: "all" }
  /** Agents that have the key. */
  | { kind: "exists"; key: SelectorKey }
  /** Agents whose value, as text, is (or is not) this. */
  | { kind: "equals"; key: SelectorKey; value: string; negated: boolean }
  /** Agents whose value, as text, is (or is not) one of these. */
  | { kind: "in"; key: SelectorKey; values: string[]; negated: boolean }
  /** Agents whose value is a number that compares so. */
  | { kind: "compare"; key: SelectorKey; operator: CompareOperator; value: number }
  /** Agents whose value, as text, has this form. */
  | { kind: "glob"; key: SelectorKey; pattern: string }
  /** Agents that the operand does not match. */
  | { kind: "not"; operand: Selector }
  /** Agents that every (or any) of two or more operands matches. */
  | { kind: "and" | "or"; operands: Selector[] };

/** How numbers are compared. */
export type CompareOperator = ">" | ">=" | "<" | "<=";

/** What of an agent a selector can see. */
export interface SelectorTarget {
  node_id: string;
  /** Null where the agent was given none. */
  name: string | null;
  tags: Readonly<Record<string, string>>;
  /** What the agent says of itself: dotted key -> scalar. */
  attributes: Readonly<Record<string, string | number | boolean>>;
}

/** Limits of a selector's text; past them it is refused with `SELECTOR_INVALID`. */
export const selectorLimits = {
  /** Characters of the whole text. */
  length: 4096,
  /** Parentheses and negations within each other. */
  depth: 100,
  /** Terms, and values of `in` and `notin`, together. */
  terms: 500,
} as const;

/** The selector of the agents that all of these match. */
export function allOf(selectors: readonly Selector[]): Selector {
  const operands = selectors
    .flatMap((each) => (each.kind === "and" ? each.operands : [each]))
    .filter(({ kind }) => kind !== "all");
  if (operands.length === 0) return { kind: "all" };
  return operands.length === 1 ? operands[0]! : { kind: "and", operands };
}

import fc from "fast-check";
import type { Selector, SelectorKey, SelectorTarget } from "../../lib/selectors/selector.ts";
import { evilName, evilNames } from "./evil.ts";

const tagKeys = ["env", "role", "tier", "name", "in", "or", "attr.x", "constructor", "toString"];
const attributeKeys = ["os.family", "cpu.count", "toString", "up"];
const values = [
  "prod",
  "web",
  "4",
  "10",
  "0.5",
  "",
  "true",
  "in",
  "a b",
  'say "hi"',
  "back\\slash",
  "it's",
  "ü",
];
const nodeIds = ["a1", "b2", "c3", "d4", "e5", "f6"];

const value = fc.oneof(fc.constantFrom(...values), evilName, fc.string({ maxLength: 8, unit: "binary" }));

const selectorKey: fc.Arbitrary<SelectorKey> = fc.oneof(
  fc.constantFrom(...tagKeys).map((name): SelectorKey => ({ source: "tag", name })),
  fc.constantFrom(...attributeKeys).map((name): SelectorKey => ({ source: "attribute", name })),
  fc.constantFrom<SelectorKey>({ source: "name", name: "name" }, { source: "node_id", name: "node_id" }),
);

const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
);

const term: fc.Arbitrary<Selector> = fc.oneof(
  fc.constant<Selector>({ kind: "all" }),
  fc.record({ kind: fc.constant("exists" as const), key: selectorKey }),
  fc.record({ kind: fc.constant("equals" as const), key: selectorKey, value, negated: fc.boolean() }),
  fc.record({
    kind: fc.constant("in" as const),
    key: selectorKey,
    values: fc.array(fc.oneof(value, fc.constantFrom(...nodeIds)), { minLength: 1, maxLength: 4 }),
    negated: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("compare" as const),
    key: selectorKey,
    operator: fc.constantFrom(">" as const, ">=" as const, "<" as const, "<=" as const),
    value: number,
  }),
  fc.record({
    kind: fc.constant("glob" as const),
    key: selectorKey,
    pattern: fc.constantFrom("*", "w?b", "p*d", "", "[*"),
  }),
);

/** Any selector of moderate size. */
export const anySelector: fc.Arbitrary<Selector> = fc.letrec<{ selector: Selector }>((tie) => ({
  selector: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    term,
    fc.record({ kind: fc.constant("not" as const), operand: tie("selector") }),
    fc.record({
      kind: fc.constantFrom("and" as const, "or" as const),
      operands: fc.array(tie("selector"), { minLength: 2, maxLength: 3 }),
    }),
  ),
})).selector;

/** Any agent out of a few, with values that the selectors speak of. */
export const anyTarget: fc.Arbitrary<SelectorTarget> = fc.record({
  node_id: fc.constantFrom(...nodeIds),
  name: fc.option(fc.constantFrom("web", "prod", "w1")),
  tags: fc.dictionary(fc.constantFrom(...tagKeys), fc.constantFrom(...values, ...evilNames), {
    noNullPrototype: true,
  }),
  attributes: fc.dictionary(
    fc.constantFrom(...attributeKeys),
    fc.oneof(fc.constantFrom(...values), fc.constantFrom(4, 0.5, 10), fc.boolean()),
    { noNullPrototype: true },
  ),
});

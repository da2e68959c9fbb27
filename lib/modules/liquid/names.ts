/**
 * The names that a template takes from outside, and where each stands.
 *
 * The package's own analysis counts lines and columns from the beginning of the text for each name, which makes a text of 40 KB a
 * matter of seconds. Here a name costs what it is long.
 */
import {
  toValueSync,
  TypeGuards,
  Value,
  type PropertyAccessToken,
  type Template as Node,
  type Token,
} from "liquidjs";
import type { TemplateFault, TemplateName } from "../template.ts";

const {
  isFilteredValueToken,
  isNumberToken,
  isPropertyAccessToken,
  isQuotedToken,
  isRangeToken,
  isWordToken,
} = TypeGuards;

/** What names of a scope begin with, or will. */
const roots = new Set(["params", "attributes", "tags", "secrets"]);

/** The parts of a name: texts, and names whose values they are. */
type Segment = string | NameToken;

interface NameToken {
  segments: Segment[];
  offset: number;
}

/** Every name that no tag of the template gives a meaning, in the order of the text. */
export function findNames(nodes: readonly Node[]): TemplateName[] {
  const names: TemplateName[] = [];
  const take = ({ segments: [root, ...rest], offset }: NameToken, known: ReadonlySet<string>): void => {
    if (typeof root === "string" && !known.has(root)) {
      const isText = rest.length > 0 && rest.every((part) => typeof part === "string");
      names.push({ root, name: isText ? rest.join(".") : null, offset });
    }
    for (const part of rest) if (typeof part !== "string") take(part, known);
  };
  const visit = (visited: readonly Node[], known: ReadonlySet<string>): void => {
    for (const node of visited) {
      for (const argument of node.arguments?.() ?? [])
        for (const name of namesOf(argument)) take(name, known);
      const bound = [...(node.blockScope?.() ?? [])];
      const children = childrenOf(node);
      if (children.length > 0) visit(children, bound.length === 0 ? known : new Set([...known, ...bound]));
    }
  };
  visit(nodes, new Set());
  return names.sort((a, b) => a.offset - b.offset);
}

/** A tag that gives such a name another meaning: which of the two is meant could no longer be told from the text. */
export function findTakenName(nodes: readonly Node[]): TemplateFault | null {
  const open = [...nodes].reverse();
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const taken = [...(node.blockScope?.() ?? [])].find((name) => roots.has(name));
    if (taken !== undefined)
      return { message: `a loop can't name its items "${taken}"`, offset: node.token.begin };
    open.push(...childrenOf(node).toReversed());
  }
  return null;
}

function childrenOf(node: Node): Node[] {
  return node.children ? (toValueSync(node.children(false, true)) as Node[]) : [];
}

/** The names in a value, be it with operators and filters. */
function* namesOf(value: unknown): Generator<NameToken> {
  if (value instanceof Value || isFilteredValueToken(value)) {
    for (const token of value.initial.postfix) yield* namesOf(token);
    for (const { args } of value.filters)
      for (const argument of args) yield* namesOf(Array.isArray(argument) ? argument[1] : argument);
  } else if (isRangeToken(value)) {
    yield* namesOf(value.lhs);
    yield* namesOf(value.rhs);
  } else if (isPropertyAccessToken(value)) {
    yield toName(value);
  }
}

function toName({ props: [root, ...rest], begin }: PropertyAccessToken): NameToken {
  const first = root === undefined ? [] : isPropertyAccessToken(root) ? toName(root).segments : textOf(root);
  const others = rest.flatMap((part): Segment[] =>
    isPropertyAccessToken(part) ? [toName(part)] : textOf(part),
  );
  return { segments: [...first, ...others], offset: begin };
}

function textOf(token: Token): string[] {
  if (isQuotedToken(token) || isWordToken(token)) return [token.content];
  return isNumberToken(token) ? [String(token.content)] : [];
}

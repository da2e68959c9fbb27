/**
 * The names that a template takes from outside, and where each stands.
 *
 * What is sensitive, and what a plan rests on, follows from them, so that none may be missed. The package's own analysis misses names in
 * ranges, takes a computed first part (`[tags.x].y`) for a name, and counts lines and columns from the beginning of the text for each,
 * which makes a text of 40 KB a matter of seconds.
 */
import type { Template as Node } from "liquidjs";
import { liquidPackage } from "../packages.ts";
import type { TemplateFault, TemplateName } from "../template.ts";

/** What names of a scope begin with, or will. */
const roots = new Set(["params", "attributes", "tags", "secrets"]);

/**
 * Every name that no tag of the template gives a meaning, in the order of the text. Throws, with the place as the package's errors
 * have it, where a name begins with what only a run could tell.
 */
export function findNames(nodes: readonly Node[]): TemplateName[] {
  const names: TemplateName[] = [];
  const visit = (visited: readonly Node[], known: ReadonlySet<string>): void => {
    for (const node of visited) {
      for (const argument of node.arguments?.() ?? [])
        for (const name of namesOf(argument)) if (!known.has(name.root)) names.push(name);
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
  return node.children ? (liquidPackage().toValueSync(node.children(false, true)) as Node[]) : [];
}

/** The names in a value, be it with operators and filters. */
function* namesOf(value: unknown): Generator<TemplateName> {
  const { TypeGuards, Value } = liquidPackage();
  const { isFilteredValueToken, isPropertyAccessToken, isRangeToken } = TypeGuards;
  if (value instanceof Value || isFilteredValueToken(value)) {
    for (const token of value.initial.postfix) yield* namesOf(token);
    for (const { args } of value.filters)
      for (const argument of args) yield* namesOf(Array.isArray(argument) ? argument[1] : argument);
  } else if (isRangeToken(value)) {
    yield* namesOf(value.lhs);
    yield* namesOf(value.rhs);
  } else if (isPropertyAccessToken(value)) {
    const { variable, props, begin } = value;
    // What stands in brackets has names of its own.
    for (const part of variable === undefined ? props : [variable, ...props]) yield* namesOf(part);
    // A part of what is written right there, such as a range, is no name.
    if (variable !== undefined) return;
    const [root, ...parts] = props.map(textOf);
    if (typeof root !== "string")
      throw Object.assign(new Error("a name can't begin with what is computed"), { token: { begin } });
    const isText = parts.length > 0 && !parts.includes(null);
    yield { root, name: isText ? parts.join(".") : null, offset: begin };
  }
}

/** What a part of a name says; null where only a run can tell. */
function textOf(token: unknown): string | null {
  const { isNumberToken, isQuotedToken, isWordToken } = liquidPackage().TypeGuards;
  if (isQuotedToken(token) || isWordToken(token)) return token.content;
  return isNumberToken(token) ? String(token.content) : null;
}

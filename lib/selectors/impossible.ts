import type { Selector, SelectorKey } from "./selector.ts";

/**
 * Whether a selector demands of one key to have two values at once, as `env=prod,env=dev` does. Such a selector matches no
 * agent, however many there are; that another may match one is not said.
 */
export function isImpossible(selector: Selector): boolean {
  const demanded = new Map<string, ReadonlySet<string>>();
  return !termsOf(selector).every(({ key, values }) => {
    const name = `${key.source}:${key.name}`;
    const before = demanded.get(name);
    const left = before ? values.filter((value) => before.has(value)) : values;
    demanded.set(name, new Set(left));
    return left.length > 0;
  });
}

/** The terms that must all hold and name the values that a key may have. */
function termsOf(selector: Selector): { key: SelectorKey; values: readonly string[] }[] {
  if (selector.kind === "and") return selector.operands.flatMap(termsOf);
  if (selector.kind === "equals" && !selector.negated)
    return [{ key: selector.key, values: [selector.value] }];
  if (selector.kind === "in" && !selector.negated) return [selector];
  return [];
}

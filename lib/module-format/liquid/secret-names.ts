/**
 * Where templates name secrets. The orchestrator never has the value where templates are evaluated: all that an expression can do with
 * a secret is to name the form in which the agent writes it.
 */
import type { Output, Template as Node } from "liquidjs";
import { formOfFilter } from "../../secret-format/forms.ts";
import { liquidPackage } from "../packages.ts";
import type { TemplateFault, TemplateName } from "../template.ts";

const message = `a secret can only be written as it is, or through one of the filters ${Object.keys(formOfFilter).join(", ")}`;

/** The first use of a secret that is none of these; null where there is none. */
export function findMisusedSecret(
  nodes: readonly Node[],
  names: readonly TemplateName[],
): TemplateFault | null {
  if (!names.some(({ root }) => root === "secrets")) return null;
  const written = new Set(offsetsOfWritten(nodes));
  const misused = names.find(
    ({ root, name, offset }) => root === "secrets" && (name === null || !written.has(offset)),
  );
  return misused ? { message, offset: misused.offset } : null;
}

/** Where expressions stand that are a name and nothing else, or go through one filter that has a form. */
function* offsetsOfWritten(nodes: readonly (Node | Output)[]): Generator<number> {
  const { Output: Expression, toValueSync, TypeGuards } = liquidPackage();
  for (const node of nodes) {
    if (node instanceof Expression) {
      const { initial, filters } = node.value;
      const [first, ...others] = initial.postfix;
      const [filter, ...more] = filters;
      const isPlain =
        filter === undefined ||
        (more.length === 0 && filter.args.length === 0 && Object.hasOwn(formOfFilter, filter.name));
      if (first && others.length === 0 && isPlain && TypeGuards.isPropertyAccessToken(first))
        yield first.begin;
    } else if (node.children) {
      yield* offsetsOfWritten(toValueSync(node.children(false, true)) as Node[]);
    }
  }
}

import { OrchestratorError } from "../errors.ts";
import type { ModuleRevision } from "../modules/module-revisions.ts";
import { orderResources } from "../state/graph.ts";

/**
 * Puts the modules of one agent in the order in which they are applied: what one requires comes before it, and else they go by
 * name.
 *
 * @param about.applied - Modules that the agent has: what requires them can do without their being among these.
 * @param about.assigned - Modules that assignments bring to the agent.
 * @throws {OrchestratorError} `MODULE_MISSING` where one requires another that is not among them; `MODULE_INVALID` where, in these
 * revisions, they require each other.
 */
export function orderModules(
  modules: readonly ModuleRevision[],
  { applied, assigned }: { applied?: ReadonlySet<string> | undefined; assigned?: ReadonlySet<string> } = {},
): ModuleRevision[] {
  const byName = modules.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const names = new Set(byName.map(({ name }) => name));
  for (const { name, content } of byName) {
    const missing = content.requires.find(
      (required) => !names.has(required) && applied?.has(required) !== true,
    );
    if (missing === undefined) continue;
    throw new OrchestratorError("MODULE_MISSING", {
      message: `Module ${name} requires module ${missing}, ${assigned?.has(missing) ? "which was not applied to this agent yet: apply that first" : "which nothing brings to this agent"}.`,
      details: { module: name, missing },
    });
  }
  const nodes = byName.map(({ name, content }) => ({
    id: name,
    requires: content.requires.filter((required) => names.has(required)),
  }));
  const ordering = orderResources(nodes);
  if (ordering.ok) return ordering.order.map((at) => byName[at]!);
  const [{ message } = { message: "" }] = ordering.faults;
  throw new OrchestratorError("MODULE_INVALID", { message: `Modules require each other: ${message}` });
}

/**
 * What each module requires, through others too: a module that has nothing to do on an agent passes on what it requires, and is left
 * out itself, since nothing of it can fail.
 */
export function requiredModules(ordered: readonly ModuleRevision[]): Map<string, string[]> {
  const required = new Map<string, string[]>();
  const isEmpty = new Set(
    ordered.flatMap(({ name, content }) => (content.resources.length === 0 ? name : [])),
  );
  for (const { name, content } of ordered) {
    const all = content.requires.flatMap((each) => [each, ...(required.get(each) ?? [])]);
    required.set(
      name,
      [...new Set(all)].filter((each) => !isEmpty.has(each)),
    );
  }
  return required;
}

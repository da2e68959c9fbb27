/** What is desired of an agent beside what is asked for. */
import { isOrchestratorError } from "../errors.ts";
import { isLasting } from "../internal/is-lasting.ts";
import type { ModuleReference } from "../module-format/module-reference.ts";
import type { ModuleRevision } from "../modules/module-revisions.ts";
import type { DesiredRequest } from "./desired-request.ts";
import { type Assignment, chooseRevisions } from "./revision-sources.ts";

/** What else is desired of an agent: its conflicts with what is asked for would come up with the next apply. */
export function besidesOf(
  wanted: readonly ModuleReference[],
  assignments: readonly Assignment[],
  { modules, named, removed = [] }: DesiredRequest,
): ModuleReference[] {
  if (!modules) return [];
  const apart = new Set([...removed, ...wanted.map(({ name }) => name)]);
  try {
    return chooseRevisions(assignments, { named }).filter(({ name }) => !apart.has(name));
  } catch (error) {
    // They contradict each other, which is none of this.
    if (isOrchestratorError(error, "RESOURCE_CONFLICT")) return [];
    throw error;
  }
}

/** Reads a module; none that can't be read. */
export function readable(
  read: (reference: ModuleReference) => Promise<ModuleRevision>,
): (reference: ModuleReference) => Promise<ModuleRevision[]> {
  return async (reference) => {
    try {
      return [await read(reference)];
    } catch (error) {
      if (isLasting(error)) return [];
      throw error;
    }
  };
}

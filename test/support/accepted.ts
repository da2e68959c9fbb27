import type { JsonObject } from "../../lib/json.ts";
import { findConflicts } from "../../lib/state/conflicts.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { declare } from "./state-fixture.ts";

/** Takes one resource after another, where it contradicts none of those that were taken. */
export function accepted(all: readonly ResolvedResource[]): ResolvedResource[] {
  return all.reduce((taken: ResolvedResource[], each) => {
    return findConflicts([...taken, each], resourceTypes).length === 0 ? [...taken, each] : taken;
  }, []);
}

/** The same of what a module declares. */
export function acceptedDrafts<Draft extends { id: string }>(drafts: readonly Draft[]): Draft[] {
  const resources = declare(drafts.map((draft) => JSON.parse(JSON.stringify(draft)) as JsonObject));
  const ids = new Set(accepted(resources).map(({ resource_id }) => resource_id));
  return drafts.filter(({ id }) => ids.has(id));
}

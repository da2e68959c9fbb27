/** Refuses what would never come to rest: resources of which one undoes what another does. */
import { OrchestratorError } from "../../errors.ts";
import { holdsSecret } from "../../internal/secret-mark.ts";
import { WorkBudget } from "../../internal/work.ts";
import { fightConflict } from "../conflicts.ts";
import type { ResourceTypes } from "../resource-type.ts";
import type { ResolvedResource } from "../resource.ts";
import { findFights, type TextClaim } from "../text-edits.ts";
import type { Identities } from "./identities.ts";
import { read } from "./prepared.ts";
import { contradictsApplied } from "./shared-things.ts";
import type { StateItem } from "./state-item.ts";

/**
 * Refuses desired items that fight each other, or what modules were applied with that the run is not about. The machine knows what
 * the orchestrator does not: which paths are one file, and the values of secrets.
 *
 * @param outside - What modules were applied with that the run is not about.
 * @throws {OrchestratorError} `RESOURCE_CONFLICT`.
 */
export function refuseFights(
  items: readonly StateItem[],
  outside: readonly ResolvedResource[],
  { identities, types }: { identities: Identities; types: ResourceTypes },
): void {
  const others = outside.flatMap((resource) => {
    // The run knows its own secrets alone.
    const isKnown = !holdsSecret(resource.spec);
    return isKnown ? claimsOf(resource, read(resource, types).target) : [];
  });
  const own = items.flatMap(({ removal, resource, target }) => (removal ? [] : claimsOf(resource, target)));
  const claims = [...others, ...own].map((claim) => ({
    ...claim,
    identity: identities.of(claim.resource),
    text: claim.text.startsWith("/") ? identities.realPath(claim.text) : claim.text,
  }));
  const stays = new Set(outside);
  // Each of them is looked at by its own check, too: that costs the machine no less.
  const fight = findFights(claims, new WorkBudget()).find(({ second }) => !stays.has(second));
  if (!fight) return;
  const conflict = fightConflict(fight);
  if (stays.has(fight.first)) throw contradictsApplied(conflict);
  throw new OrchestratorError("RESOURCE_CONFLICT", { message: conflict.message });
}

function claimsOf(
  resource: ResolvedResource,
  target: StateItem["target"],
): Omit<TextClaim<ResolvedResource>, "identity">[] {
  const edits = resource.skip ? [] : (target?.type.edits?.(target.spec) ?? []);
  return edits.map((edit) => ({ resource, text: edit.of, edit }));
}

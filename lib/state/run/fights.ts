/** Refuses what would never come to rest: resources of which one undoes what another does. */
import { OrchestratorError } from "../../errors.ts";
import { holdsSecret } from "../../internal/secret-mark.ts";
import { WorkBudget } from "../../internal/work.ts";
import { fightConflict } from "../conflicts.ts";
import type { ResourceType, ResourceTypes } from "../resource-type.ts";
import type { ResolvedResource } from "../resource.ts";
import { type Fight, findFights, sharedTexts, type TextClaim, type TextEdit } from "../text-edits.ts";
import type { Identities } from "./identities.ts";
import { read } from "./prepared.ts";
import { contradictsApplied } from "./shared-things.ts";
import type { StateItem } from "./state-item.ts";

/** A resource with a text, as this machine names it. */
type Claim = TextClaim<ResolvedResource> & {
  target: NonNullable<StateItem["target"]>;
  /** Null for one that the run is not about. */
  item: StateItem | null;
};

/**
 * Refuses desired items that fight each other, or what modules were applied with that the run is not about. The machine knows what
 * the orchestrator does not: which paths are one file, and the values of secrets. What it will know only when it is downloaded is
 * guarded: who would change it then is refused.
 *
 * @param outside - What modules were applied with that the run is not about.
 * @throws {OrchestratorError} `RESOURCE_CONFLICT`.
 */
export function refuseFights(
  items: readonly StateItem[],
  outside: readonly ResolvedResource[],
  { identities, types }: { identities: Identities; types: ResourceTypes },
): void {
  const claimsOf = (
    resource: ResolvedResource,
    { target, item }: Pick<Claim, "item"> & Pick<StateItem, "target">,
  ): Claim[] => {
    if (!target || resource.skip) return [];
    return (target.type.edits?.(target.spec) ?? []).map((edit) => {
      const text = edit.of.startsWith("/") ? identities.realPath(edit.of) : edit.of;
      return { resource, identity: identities.of(resource), text, edit, target, item };
    });
  };
  const others = outside.flatMap((resource) => {
    // The run knows its own secrets alone.
    if (holdsSecret(resource.spec)) return [];
    return claimsOf(resource, { target: read(resource, types).target, item: null });
  });
  const own = items.flatMap((item) =>
    item.removal ? [] : claimsOf(item.resource, { target: item.target, item }),
  );
  const shared = [...sharedTexts([...others, ...own]).values()];
  const stays = new Set(outside);
  // Each of them is looked at by its own check, too: that costs the machine no less.
  const fight = findFights(shared.flat(), new WorkBudget()).find(({ second }) => !stays.has(second));
  if (fight) throw refusalOf(fight, stays.has(fight.first));
  for (const sharers of shared) {
    const owner = sharers.find(({ edit }) => edit.isWhole === true && edit.edit === null);
    if (owner) for (const sharer of sharers) if (sharer.identity !== owner.identity) guard(sharer, owner);
  }
}

/**
 * Tells each removal that asks for it what others, which were applied and stay, make of the texts that it would bring back. Those
 * that come with the run come after it.
 *
 * @param outside - What modules were applied with that the run is not about.
 */
export function tellEdits(
  items: readonly StateItem[],
  outside: readonly ResolvedResource[],
  {
    identities,
    types,
    applied,
  }: { identities: Identities; types: ResourceTypes; applied: ReadonlyMap<string, unknown> },
): void {
  const asking = items.filter(({ removal, target }) => removal && target?.type.removing?.withEdits);
  if (asking.length === 0) return;
  const staying = items.filter(({ removal, identity }) => !removal && applied.has(identity));
  const others = outside.map((resource) => ({ resource, ...read(resource, types) }));
  const edits = [...staying, ...others].flatMap(({ resource, target }) =>
    resource.skip || !target ? [] : (target.type.edits?.(target.spec) ?? []),
  );
  const editsOf = (path: string): TextEdit[] => {
    const real = identities.realPath(path);
    return edits.filter(({ of }) => of.startsWith("/") && identities.realPath(of) === real);
  };
  for (const item of asking) {
    const { type, spec } = item.target!;
    item.target = { type, spec: type.removing?.withEdits?.(spec, editsOf) ?? spec };
  }
}

function refusalOf(fight: Fight<ResolvedResource>, isApart: boolean): OrchestratorError {
  const conflict = fightConflict(fight);
  if (isApart) return contradictsApplied(conflict);
  return new OrchestratorError("RESOURCE_CONFLICT", { message: conflict.message });
}

/** Has a resource refuse to change a text that another one says, where it stands as that one says. */
function guard({ item, resource: second, text }: Claim, owner: Claim): void {
  if (!item?.target || item.target.type.sharing) return;
  const { type, spec } = item.target;
  const refusal = refusalOf({ first: owner.resource, second, text, isWhole: true }, owner.item === null);
  const apply = async (...making: Parameters<ResourceType["apply"]>): Promise<void> => {
    const [, , host, signal] = making;
    const left = await owner.target.type.check(owner.target.spec, host, signal);
    const stands = !left.some(({ property }) => property === "content" || property === "ensure");
    if (stands) throw refusal;
    await type.apply(...making);
  };
  item.target = { type: Object.create(type, { apply: { value: apply } }) as ResourceType, spec };
}

/** What a run does where its resources and others, also those of modules that it is not about, share parts of what they are about. */
import { OrchestratorError } from "../../errors.ts";
import { partConflict } from "../conflicts.ts";
import type { ResourceTypes } from "../resource-type.ts";
import type { ResolvedResource } from "../resource.ts";
import { claimedParts, findContradictions, sharingType, type SharingType } from "../shared-parts.ts";
import type { AppliedResource } from "./applied-resource.ts";
import { read } from "./prepared.ts";
import { contradictsApplied } from "./shared-things.ts";
import type { StateItem } from "./state-item.ts";

/**
 * Tells each item that asks for it which parts are declared.
 *
 * @param outside - What modules were applied with that the run is not about.
 * @throws {OrchestratorError} `RESOURCE_CONFLICT` where a desired item contradicts another one, or one outside, in a part.
 */
export function tellDeclaredParts(
  items: readonly StateItem[],
  types: ResourceTypes,
  outside: readonly ResolvedResource[],
): void {
  if (!items.some(({ target }) => target?.type.sharing)) return;
  const desired = items.flatMap(({ removal, resource }) => (removal ? [] : [resource]));
  const claimed = claimedParts([...outside, ...desired], types);
  const stays = new Set(outside);
  const contradiction = findContradictions(claimed).find(({ second }) => !stays.has(second));
  if (contradiction) {
    const conflict = partConflict(contradiction);
    if (stays.has(contradiction.first)) throw contradictsApplied(conflict);
    throw new OrchestratorError("RESOURCE_CONFLICT", { message: conflict.message });
  }
  for (const item of items) {
    const { target } = item;
    const declared = target && claimed.get(target.type as SharingType);
    if (!target?.type.sharing || !declared) continue;
    item.target = {
      type: target.type,
      spec: target.type.sharing.withDeclaredParts(target.spec, declared),
    };
  }
}

/**
 * What is applied, where parts of what went were left for others: what stood before those parts is noted with the others from then on.
 *
 * @param before - What was applied, by identity, in the order in which it was first applied.
 */
export function inheritParts(
  after: readonly AppliedResource[],
  before: ReadonlyMap<string, AppliedResource>,
  { types, identityOf }: { types: ResourceTypes; identityOf: (resource: ResolvedResource) => string },
): AppliedResource[] {
  // Most machines have nothing of the kind, and each run comes by here.
  const hasParts = ({ prior }: AppliedResource): boolean =>
    prior !== null && types.get(prior.type)?.sharing !== undefined;
  if (![...before.values()].some(hasParts)) return [...after];
  const staying = new Set(after.map(({ resource }) => identityOf(resource)));
  const places = new Map([...before.keys()].map((identity, place) => [identity, place]));
  let entries = [...after];
  for (const [place, [identity, { prior }]] of [...before].entries()) {
    const type = prior && !staying.has(identity) ? sharingType(prior, types) : null;
    const left = type && readPrior(prior, type);
    if (!left) continue;
    entries = entries.map((entry) => {
      const isOlder = (places.get(identityOf(entry.resource)) ?? Infinity) < place;
      return entry.resource.type === type.type ? heirOf(entry, { type, left, isOlder }, types) : entry;
    });
  }
  return entries;
}

function heirOf(
  entry: AppliedResource,
  { type, left, isOlder }: { type: SharingType; left: { spec: unknown }; isOlder: boolean },
  types: ResourceTypes,
): AppliedResource {
  const own = readPrior(entry.prior, type);
  const { target } = read(entry.resource, types);
  if (!target || (entry.prior && !own)) return entry;
  const spec = type.sharing.inherit(left.spec, { spec: target.spec, prior: own?.spec ?? null, isOlder });
  if (!spec) return entry;
  const { changed: _known, ...rest } = entry;
  return { ...rest, prior: { type: type.type, spec } };
}

function readPrior(prior: AppliedResource["prior"], type: SharingType): { spec: unknown } | null {
  if (prior?.type !== type.type) return null;
  const spec = (type.removing?.priorSchema ?? type.schema).safeParse(prior.spec);
  return spec.success ? { spec: spec.data } : null;
}

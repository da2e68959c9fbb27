/** What a run does where its resources and others, also those of modules that it is not about, share parts of what they are about. */
import { OrchestratorError } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import { partConflict } from "../conflicts.ts";
import type { Prior, ResourceType, ResourceTypes } from "../resource-type.ts";
import type { ResolvedResource } from "../resource.ts";
import { bothEnds, type Digests, notedEnd } from "../resources/shared/kept-lines.ts";
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

/** What is known of a run where its parts are handed on. */
interface Handing {
  types: ResourceTypes;
  identityOf: (resource: ResolvedResource) => string;
  host: Digests;
  /** What the run was to bring about. */
  desired: readonly ResolvedResource[];
}

/**
 * What is applied, where parts of what went were left for others, or others have a part in the same text: what stood before is noted with
 * the others from then on. Where these were not brought about, it stays with what went, until they are.
 *
 * @param before - What was applied, by identity, in the order in which it was first applied.
 */
export function inheritParts(
  after: readonly AppliedResource[],
  before: ReadonlyMap<string, AppliedResource>,
  { types, identityOf, host, desired }: Handing,
): AppliedResource[] {
  // Most machines have nothing of the kind, and each run comes by here.
  const hasParts = ({ prior }: AppliedResource): boolean =>
    prior !== null &&
    (types.get(prior.type)?.sharing !== undefined || notedText(prior, types, host) !== null);
  if (![...before.values()].some(hasParts)) return [...after];
  const staying = new Set(after.map(({ resource }) => identityOf(resource)));
  const places = new Map([...before.keys()].map((identity, place) => [identity, place]));
  const placeOf = ({ resource }: AppliedResource): number => places.get(identityOf(resource)) ?? Infinity;
  const gone = [...before.values()].filter((entry) => !staying.has(identityOf(entry.resource)));
  const waiting = desired.filter((resource) => !resource.skip && !staying.has(identityOf(resource)));
  const kept: AppliedResource[] = [];
  let entries = inheritTexts(after, gone, { types, placeOf, host });
  for (const { resource, prior } of gone) {
    const type = prior && sharingType(prior, types);
    const left = type && readPrior(prior, type);
    if (!left) continue;
    const place = placeOf({ resource, prior });
    entries = entries.map((entry) => {
      const isOlder = placeOf(entry) < place;
      return entry.resource.type === type.type ? heirOf(entry, { type, left, isOlder }, types) : entry;
    });
    const awaited = leftFor(waiting, { type, left }, types);
    if (awaited) kept.push({ resource, prior: awaited });
  }
  if (kept.length === 0) return entries;
  const inOrder = [...before.keys()];
  const byIdentity = new Map([...entries, ...kept].map((entry) => [identityOf(entry.resource), entry]));
  return [...new Set([...inOrder, ...byIdentity.keys()])].flatMap(
    (identity) => byIdentity.get(identity) ?? [],
  );
}

/** What of the parts of what went is left for resources that were not brought about; null = nothing. */
function leftFor(
  waiting: readonly ResolvedResource[],
  { type, left }: { type: SharingType; left: { spec: unknown } },
  types: ResourceTypes,
): Prior | null {
  return waiting.reduce<Prior | null>((prior, resource) => {
    const target = resource.type === type.type ? read(resource, types).target : null;
    const own = prior && readPrior(prior, type);
    const heir = target && { spec: target.spec, prior: own?.spec ?? null, isOlder: false };
    const spec = heir && type.sharing.inherit(left.spec, heir);
    return spec ? { type: type.type, spec } : prior;
  }, null);
}

/** What parts of texts that went noted of the whole is noted with those that came after them; who was there before saw it so. */
function inheritTexts(
  after: readonly AppliedResource[],
  gone: readonly AppliedResource[],
  {
    types,
    placeOf,
    host,
  }: { types: ResourceTypes; placeOf: (entry: AppliedResource) => number; host: Digests },
): AppliedResource[] {
  const texts = new Map<string, { notes: JsonObject; place: number }>();
  for (const entry of gone) {
    const text = entry.prior && notedText(entry.prior, types, host);
    if (!text) continue;
    const { notes, place } = texts.get(text.name) ?? { notes: {}, place: placeOf(entry) };
    texts.set(text.name, { notes: withNotes(notes, text.notes), place });
  }
  if (texts.size === 0) return [...after];
  return after.map((entry) => {
    const { prior } = entry;
    const type = prior && types.get(prior.type);
    const name = type ? textOf(prior, types) : null;
    const text = name === null ? undefined : texts.get(name);
    if (!type || !text || placeOf(entry) < text.place) return entry;
    const noted = { ...prior, spec: withNotes(prior.spec, text.notes) };
    return readPrior(noted, type) ? { ...entry, prior: noted } : entry;
  });
}

/** What stood of a text as a whole. */
interface NotedText {
  name: string;
  notes: JsonObject;
}

/** What a part of a text noted of the whole; null = nothing. */
function notedText(prior: Prior, types: ResourceTypes, host: Digests): NotedText | null {
  const { remove_empty } = prior.spec;
  const unended = notedEnd(prior.spec, host);
  const end = unended !== undefined && { unended };
  const made = remove_empty !== undefined && { remove_empty };
  const name = end || made ? textOf(prior, types) : null;
  return name === null ? null : { name, notes: { ...end, ...made } };
}

/** What was noted, and what another noted of the same text. */
function withNotes(spec: JsonObject, more: JsonObject): JsonObject {
  const [own, other] = [spec["unended"], more["unended"]];
  const ends = typeof own === "string" && typeof other === "string" && { unended: bothEnds(own, other) };
  return { ...more, ...spec, ...ends };
}

function textOf(prior: Prior, types: ResourceTypes): string | null {
  const type = types.get(prior.type);
  try {
    const spec = type?.removing?.partOf && readPrior(prior, type);
    return spec ? (type?.removing?.partOf?.(spec.spec) ?? null) : null;
  } catch {
    // The machine is changed by now: what is applied is kept, whatever a type of somebody's own does.
    return null;
  }
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

function readPrior(
  prior: Prior | null,
  type: Pick<ResourceType, "type" | "schema" | "removing">,
): { spec: unknown } | null {
  if (prior?.type !== type.type) return null;
  const spec = (type.removing?.priorSchema ?? type.schema).safeParse(prior.spec);
  return spec.success ? { spec: spec.data } : null;
}

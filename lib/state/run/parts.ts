/** What a run does where its resources and others, also those of modules that it is not about, share parts of what they are about. */
import { OrchestratorError } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import { partConflict } from "../conflicts.ts";
import { foldersAbove } from "../graph.ts";
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
  /** What the run was to bring about, as far as that is known. */
  desired: readonly ResolvedResource[];
}

/**
 * What is applied, where parts of what went were left for others, or others have a part in the same text: what stood before is noted with
 * the others from then on. Those that were not brought about are noted for it, since nobody else knows that these parts are ours.
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
    (types.get(prior.type)?.sharing !== undefined ||
      madeBy(prior).length > 0 ||
      notedText(prior, types, host) !== null);
  if (![...before.values()].some(hasParts)) return [...after];
  const staying = new Set(after.map(({ resource }) => identityOf(resource)));
  const places = new Map([...before.keys()].map((identity, place) => [identity, place]));
  const placeOf = ({ resource }: AppliedResource): number => places.get(identityOf(resource)) ?? Infinity;
  const gone = [...before.values()].filter((entry) => !staying.has(identityOf(entry.resource)));
  const left = gone.flatMap((entry): LeftParts[] => {
    const type = entry.prior && sharingType(entry.prior, types);
    const known = type && readPrior(entry.prior, type);
    return known ? [{ type, spec: known.spec, place: placeOf(entry) }] : [];
  });
  const heirs = inheritTexts(inheritParents(after, gone), gone, { types, placeOf, host });
  const entries = heirs.map((entry) =>
    inTurnFor(placeOf(entry), left).reduce((heir, parts) => heirOf(heir, parts, types), entry),
  );
  const waiting = new Map<string, ResolvedResource>();
  for (const resource of left.length > 0 ? desired : []) {
    const identity = identityOf(resource);
    if (!resource.skip && !staying.has(identity) && !waiting.has(identity)) waiting.set(identity, resource);
  }
  return [...entries, ...[...waiting.values()].flatMap((resource) => awaitedBy(resource, left, types))];
}

/** Parts of what went, which were left where others want them. */
interface LeftParts {
  type: SharingType;
  spec: unknown;
  place: number;
}

/** The same for one heir, so that of all that noted a part the oldest has the last word: what comes before the heir counts more than that. */
function inTurnFor(place: number, left: readonly LeftParts[]): (LeftParts & { isOlder: boolean })[] {
  const younger = left.filter((parts) => parts.place > place);
  const older = left.filter((parts) => parts.place < place).toReversed();
  return [
    ...younger.map((parts) => ({ ...parts, isOlder: true })),
    ...older.map((parts) => ({ ...parts, isOlder: false })),
  ];
}

/** What is noted of a resource that was not brought about, for the parts that were left for it; nothing where there are none. */
function awaitedBy(
  resource: ResolvedResource,
  left: readonly LeftParts[],
  types: ResourceTypes,
): AppliedResource[] {
  const { target } = read(resource, types);
  const ofType = left.filter(({ type }) => type.type === resource.type);
  const prior = inTurnFor(Infinity, ofType).reduce<Prior | null>((known, { type, spec, isOlder }) => {
    const own = known && readPrior(known, type);
    const heir = target && { spec: target.spec, prior: own?.spec ?? null, isOlder, isAwaited: true };
    const more = heir && type.sharing.inherit(spec, heir);
    return more ? { type: type.type, spec: more } : known;
  }, null);
  return prior ? [{ resource, prior }] : [];
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
  const declared = declaredFolders(after);
  for (const entry of gone) {
    const text = entry.prior && notedText(entry.prior, types, host);
    if (!text || declared.has(text.name)) continue;
    const { notes, place } = texts.get(text.name) ?? { notes: {}, place: placeOf(entry) };
    const more = entry.resource.removal === "keep" ? withoutModes(text.notes) : text.notes;
    texts.set(text.name, { notes: withNotes(notes, more), place });
  }
  if (texts.size === 0) return [...after];
  return after.map((entry) => {
    const { prior } = entry;
    const type = prior && types.get(prior.type);
    const name = type ? textOf(prior, types) : null;
    const text = name === null ? undefined : texts.get(name);
    if (!type || !text || placeOf(entry) < text.place) return entry;
    const noted = { ...prior, spec: withNotes(prior.spec, text.notes, modeNotes) };
    return readPrior(noted, type) ? { ...entry, prior: noted } : entry;
  });
}

/** Folders that one made above its own go with the last of those in them that was made, too. */
function inheritParents(
  after: readonly AppliedResource[],
  gone: readonly AppliedResource[],
): readonly AppliedResource[] {
  const declared = declaredFolders(after);
  const made = gone
    .flatMap(({ resource, prior }) => (prior && resource.removal !== "keep" ? madeBy(prior) : []))
    .filter((folder) => !declared.has(folder));
  if (made.length === 0) return after;
  return after.map((entry) => {
    const { prior } = entry;
    const { path, ensure } = prior?.spec ?? {};
    if (prior?.type !== "directory" || ensure !== "absent" || typeof path !== "string") return entry;
    const above = made.filter((parent) => path.startsWith(`${parent}/`));
    if (above.length === 0) return entry;
    // The topmost is the shortest: all of them lead to one path.
    const all = [...new Set([...madeBy(prior), ...above])].sort((a, b) => a.length - b.length);
    return { ...entry, prior: { ...prior, spec: { ...prior.spec, made_parents: all } } };
  });
}

/** Whether these stay is the affair of what declares them. */
function declaredFolders(applied: readonly AppliedResource[]): ReadonlySet<unknown> {
  return new Set(applied.map(({ resource: { type, spec } }) => (type === "directory" ? spec["path"] : null)));
}

/**
 * Folders that some of what goes made above their own go with the last folder in them that goes, whoever made them. Tells the items so.
 *
 * @param leaving - In the order in which they go.
 * @returns Whether there are any.
 */
export function leaveParentsToLast(leaving: readonly StateItem[]): boolean {
  const made = new Set(leaving.flatMap(parentsMadeBy));
  if (made.size === 0) return false;
  const going = leaving.flatMap((item) => goingFolders(item).map((folder) => ({ item, folder })));
  // One that goes by itself is nobody else's to take.
  for (const { folder } of going) made.delete(folder);
  const madeAbove = (folder: string): string[] => foldersAbove(folder).filter((each) => made.has(each));
  const lastIn = new Map(going.flatMap(({ folder }) => madeAbove(folder).map((each) => [each, folder])));
  for (const { item, folder } of going) {
    const { type, spec } = item.target!;
    const made_parents = madeAbove(folder).filter((each) => lastIn.get(each) === folder);
    item.target = { type, spec: { ...(spec as object), made_parents: made_parents.reverse() } };
  }
  return true;
}

/** Folders that go with one that goes, since it made them above its own. */
export function parentsMadeBy(item: StateItem): string[] {
  return goingFolders(item).flatMap(() => madeBy(item.target as { spec: JsonObject }));
}

/** The folder that it takes away, if it does. */
function goingFolders({ target }: StateItem): string[] {
  const { path, ensure } = (target?.spec ?? {}) as { path?: unknown; ensure?: unknown };
  return target?.type.type === "directory" && ensure === "absent" && typeof path === "string" ? [path] : [];
}

function madeBy({ spec: { made_parents: made } }: Pick<Prior, "spec">): string[] {
  return Array.isArray(made) ? made.map(String) : [];
}

/** What stood of a text as a whole. */
interface NotedText {
  name: string;
  notes: JsonObject;
}

/** What a part of a text noted of the whole; null = nothing. */
function notedText(prior: Prior, types: ResourceTypes, host: Digests): NotedText | null {
  const unended = notedEnd(prior.spec, host);
  const end = unended !== undefined && { unended };
  const kept = ["remove_empty", ...modeNotes].flatMap((note) => {
    const value = prior.spec[note];
    return value === undefined ? [] : [[note, value] as const];
  });
  const name = end || kept.length > 0 ? textOf(prior, types) : null;
  return name === null ? null : { name, notes: { ...end, ...Object.fromEntries(kept) } };
}

/** Modes of what a text is in: each part saw them as the one before had left them. */
const modeNotes = ["folder_mode", "file_mode"] as const;

/** What is let go stays in what it is in, as that is. */
function withoutModes(notes: JsonObject): JsonObject {
  const left = Object.entries(notes).filter(([note]) => !modeNotes.some((mode) => mode === note));
  return Object.fromEntries(left);
}

/**
 * What was noted, and what another noted of the same text.
 *
 * @param seen - What counts as the other noted it, and only where both did: what came later saw it changed.
 */
function withNotes(spec: JsonObject, more: JsonObject, seen: readonly string[] = []): JsonObject {
  const [own, other] = [spec["unended"], more["unended"]];
  const ends = typeof own === "string" && typeof other === "string" && { unended: bothEnds(own, other) };
  const noted: JsonObject = { ...more, ...spec, ...ends };
  for (const note of seen)
    if (spec[note] === undefined) delete noted[note];
    else noted[note] = more[note] ?? spec[note];
  return noted;
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
  { type, spec: left, isOlder }: LeftParts & { isOlder: boolean },
  types: ResourceTypes,
): AppliedResource {
  if (entry.resource.type !== type.type) return entry;
  const own = readPrior(entry.prior, type);
  const { target } = read(entry.resource, types);
  if (!target || (entry.prior && !own)) return entry;
  const heir = { spec: target.spec, prior: own?.spec ?? null, isOlder, isAwaited: false };
  const spec = type.sharing.inherit(left, heir);
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

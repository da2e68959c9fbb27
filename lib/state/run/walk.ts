/** The way through the resources: who is skipped, who is fired, who is converged, and what is applied afterwards. */
import type { Foresight } from "../foreseen/foresight.ts";
import type { OwedTrigger } from "../owed.ts";
import { resourceKey } from "../resource.ts";
import type { ResourceResult } from "../result.ts";
import type { Firing } from "../triggers.ts";
import type { AppliedResource } from "./applied-resource.ts";
import { standsAsBefore } from "./as-before.ts";
import { isToRecapture, recapture } from "./capture.ts";
import { claimsOn, distinct, withClaims } from "./claims.ts";
import { converge, isKnownInSync } from "./converge.ts";
import { Debts } from "./debts.ts";
import { examineAll } from "./examine.ts";
import { Failures, LeftThings, missingOf } from "./failures.ts";
import { type LastAct, LastActs } from "./last-act.ts";
import { nameMissing } from "./missing-part.ts";
import { holdsOutside, isLetGo, mayTake, tellDeclared } from "./shared-things.ts";
import { Slices } from "./slices.ts";
import { desiredItem, place, type StateItem, toApplied } from "./state-item.ts";
import {
  actionOf,
  failureParts,
  heldBack,
  type ResultParts,
  skippedByCondition,
  skippedFor,
  toResult,
  withCauses,
} from "./state-result.ts";
import type { StateRun } from "./state-run.ts";

/** Where a walk is. */
interface Walk {
  readonly run: StateRun;
  /** What is to be told in place of being done; null where it is done, or where each resource is told by itself. */
  readonly foresight: Foresight | null;
  readonly results: ResourceResult[];
  /** Results of desired resources, by module and id. */
  readonly byKey: Map<string, ResourceResult>;
  /** What is applied, by identity, in the order in which it was first applied. */
  readonly applied: Map<string, AppliedResource>;
  /** The things of which this run has noted what is applied. */
  readonly recorded: Set<string>;
  readonly left: LeftThings;
  readonly debts: Debts;
  readonly failed: Failures;
  readonly last: LastActs;
  removalFailed: boolean;
  failedAnew: boolean;
  /** Another number after each item that may have changed anything. */
  moment: number;
}

/** What came of a walk. */
interface WalkResult {
  results: ResourceResult[];
  applied: AppliedResource[];
  owed: OwedTrigger[];
  /** Whether anything failed beside removals at which the last run failed, too. */
  failedAnew: boolean;
  /** What is left to the caller; absent = nothing. */
  lastAct?: LastAct;
}

const unchanged: ResultParts = { outcome: "unchanged" };

/** Works through the items in their order. Waits only where it must: most of a run finds nothing to do. */
export async function walk(
  items: readonly StateItem[],
  run: StateRun,
  foresight: Foresight | null,
): Promise<WalkResult> {
  const applied = new Map(run.applied);
  const begin = {
    results: [],
    byKey: new Map(),
    recorded: new Set<string>(),
    left: new LeftThings(items, run),
    failed: new Failures(),
    last: new LastActs(run),
    removalFailed: false,
    failedAnew: false,
    moment: 0,
  };
  const debts = new Debts(run);
  const state: Walk = { run, foresight, applied, debts, ...begin };
  const slices = new Slices(run.clock);
  let nowMs = run.clock.monotonic();
  const { last, left } = state;
  let told = 0;
  for (const item of inTurn(items, state)) {
    if (!item.removal && left.items.length > told) {
      told = left.items.length;
      await tellLeft(items, state);
    }
    const startedMs = nowMs;
    relocate(item, state);
    const firing = last.firingOf(item, debts.firingOf(item));
    const decided = decide(item, firing, state);
    const putting = decided ? null : last.putOff(item, firing);
    if (putting && (await putting)) continue;
    const working = decided ?? last.refuse(item, firing) ?? work(item, firing, state);
    const done = last.tell(item, working instanceof Promise ? await working : working);
    const parts = debts.tellDropped(item, done);
    nowMs = run.clock.monotonic();
    const result = toResult(item, parts, nowMs - startedMs);
    const settling = run.mode === "apply" ? settle(item, result, state) : undefined;
    if (settling) await settling;
    last.note(item, result, () => debts.all());
    debts.note(item, result, firing);
    record(item, result, state);
    const giving = slices.next();
    if (giving) await giving;
  }
  const owed = last.conclude(run.mode === "apply" ? debts.all() : [...run.owed]);
  return { results: state.results, applied: [...applied.values()], ...owed, failedAnew: state.failedAnew };
}

/**
 * Looks which thing an item is about when its turn comes: a link on the way that the run was to make may have failed, and a script may
 * lead one elsewhere. Another thing than was thought has something of its own to come back to.
 */
function relocate(item: StateItem, { run, foresight, applied, moment }: Walk): void {
  if (item.removal || item.resource.skip || run.mode === "check") return;
  const placed = run.identities.placedNow(item.resource, foresight?.host ?? run.host, moment);
  const isSame = placed.identity === item.identity;
  if (isSame && placed.noted.spec["path"] === item.noted.spec["path"]) return;
  const entry = applied.get(placed.identity) ?? null;
  place(item, placed, entry);
  if (isSame) return;
  item.others = run.scope.outside(entry);
  item.sameAs = null;
}

/** Whether something was to go, and is there: it failed, or something that needs it did. */
function isLeft({ isAsBefore }: StateItem, { outcome, skipped_because }: ResourceResult): boolean {
  return (outcome === "failed" && !isAsBefore) || skipped_because === "dependency";
}

/** What could not be taken away is declared still: nobody else of the run takes it, either. */
async function tellLeft(items: readonly StateItem[], { run, left, foresight }: Walk): Promise<void> {
  const purging = items.filter(({ removal, target }) => !removal && target?.type.planning?.withDeclaredPaths);
  const above = purging.filter((each) => left.items.some((item) => mayTake(each, item, run)));
  if (above.length === 0) return;
  tellDeclared(items, run, new Set(left.items.map(({ identity }) => identity)));
  await examineAll(above, run, foresight?.host);
}

/** The items in their order, what is told of none of them, and then those that were put off. */
function* inTurn(items: readonly StateItem[], state: Walk): Iterable<StateItem> {
  yield* items;
  for (const result of state.debts.rest(items)) tell(result, state);
  yield* state.last.items;
}

/** What is clear without looking at the machine; null where the item must be worked on. */
function decide(item: StateItem, firing: Firing | null, state: Walk): ResultParts | null {
  const { run } = state;
  const { resource } = item;
  if (resource.skip) return skippedByCondition(resource.skip, run.skipReasons?.[item.key]);
  if (run.stop.aborted) return { outcome: "skipped", skipped_because: "cancelled" };
  if (run.mode !== "check" && !item.removal) {
    const missing = missingOf(resource, state.byKey);
    if (missing !== undefined) return skippedFor(`It needs ${missing}, which was not done.`);
    const reason = state.failed.reasonFor(resource);
    if (reason !== null) return skippedFor(reason);
  }
  if (item.removal && run.holdRemovals && !isLetGo(item) && item.others.length === 0) return heldBack;
  const staying = item.removal && item.target ? state.left.reasonToStay(item) : null;
  if (staying !== null) return skippedFor(staying);
  if (item.fault) return failureParts(resource, item.fault);
  const later = state.last.decide(item, firing);
  if (later) return later;
  const same = item.sameAs && state.byKey.get(item.sameAs.key);
  if (!same || same.outcome === "skipped") return null;
  if ((firing || state.foresight?.mayFire(item)) && same.outcome !== "failed") {
    // It only follows: what stood before the thing was captured with the first item about it, and counts.
    if (run.mode === "apply") item.begun = true;
    return null;
  }
  const { outcome, action, changes } = same;
  const message = `${resourceKey(same)} says the same; it was done there.`;
  return { outcome, action, changes, message, ...state.foresight?.waitAsSame(item) };
}

function work(
  item: StateItem,
  firing: Firing | null,
  { run, foresight }: Walk,
): ResultParts | Promise<ResultParts> {
  if (item.removal) return takeAway(item, run, foresight);
  if (run.mode === "check") return compare(item, firing, run);
  if (!foresight && !firing && isKnownInSync(item, run)) return unchanged;
  const parts = foresight ? foresight.foresee(item, run, firing) : converge(item, run, firing);
  return parts instanceof Promise
    ? parts.then((found) => withCauses(found, firing))
    : withCauses(parts, firing);
}

async function takeAway(item: StateItem, run: StateRun, foresight: Foresight | null): Promise<ResultParts> {
  if (!item.target) {
    const [other] = item.others;
    const reason = isLetGo(item) ? "it is to be kept" : "nothing was changed that could be taken back";
    const why = other ? `${resourceKey(other)} says the same` : reason;
    return { ...unchanged, message: `It is left as it is: ${why}.` };
  }
  const parts = await (foresight ? foresight.foresee(item, run, null) : converge(item, run, null));
  if (parts.outcome !== "unchanged") return parts;
  return { ...parts, message: "It is left as it is: it is as before, or holds what others put there." };
}

/** What differs from a baseline, as it was found, and what has not followed what it watches. */
function compare(item: StateItem, firing: Firing | null, run: StateRun): ResultParts {
  const { resource } = item;
  if (!item.changes) return failureParts(resource, nameMissing(item.error, run.host, { resource, run }));
  const { ignore_drift: ignored } = resource;
  const changes = item.changes.filter((change) => !ignored.includes(change.property));
  if (firing) return withCauses({ outcome: "would_change", action: firing.trigger, changes }, firing);
  if (changes.length === 0) return unchanged;
  return { outcome: "would_change", action: actionOf(item, changes), changes };
}

function record(item: StateItem, result: ResourceResult, state: Walk): void {
  const { run } = state;
  state.failedAnew ||= result.outcome === "failed" && !item.isStuck;
  if (result.outcome !== "unchanged" && result.outcome !== "skipped") state.moment += 1;
  if (item.removal) {
    state.removalFailed ||= result.outcome === "failed";
    if (isLeft(item, result)) state.left.note(item, result);
  } else {
    state.byKey.set(item.key, result);
    if (result.outcome === "failed") state.failed.note(item.resource, item.key);
  }
  if (run.mode === "apply") recordApplied(item, result, state);
  if (result.code === "INTERNAL") {
    // The error of a sensitive resource may quote its values.
    const fields = item.resource.sensitive ? {} : { error: item.error };
    run.logger?.error("A resource failed inside.", { resource: item.key, ...fields });
  }
  tell(result, state);
}

function tell(result: ResourceResult, { run, results, last }: Walk): void {
  results.push(result);
  if (!last.isLeft(result)) run.onResult?.(result);
}

function recordApplied(item: StateItem, result: ResourceResult, state: Walk): void {
  const [{ applied }, { outcome }] = [state, result];
  if (item.removal) {
    const kept = applied.get(item.identity);
    if (item.others.length > 0 && outcome === "unchanged" && kept) {
      applied.set(item.identity, withClaims(kept, item.others));
      return;
    }
    // What others put into a folder of ours is no reason to forget the folder: it goes when they do.
    if (outcome === "unchanged" && item.target && (item.isShared || holdsOutside(item, state.run))) return;
    const isGone = outcome === "changed" || (outcome === "unchanged" && !state.removalFailed);
    const entry = applied.get(item.identity);
    if (entry && outcome === "failed" && !state.run.stop.aborted)
      applied.set(item.identity, { ...entry, stuck: true });
    if (isGone || item.isAsBefore || (outcome === "unchanged" && isLetGo(item)))
      applied.delete(item.identity);
    return;
  }
  // What was meant and not begun is as it was, and as it was noted.
  if (outcome !== "changed" && outcome !== "unchanged" && !item.begun) return;
  const entry = applied.get(item.identity);
  if (!state.recorded.has(item.identity)) applied.set(item.identity, toApplied(item));
  else if (entry)
    applied.set(item.identity, withClaims(entry, distinct([entry.resource, item.noted, ...claimsOn(entry)])));
  state.recorded.add(item.identity);
}

/** Makes sure of what is noted of an item: a promise only where that asks the machine once more. */
function settle(item: StateItem, { outcome }: ResourceResult, state: Walk): Promise<void> | undefined {
  const { run } = state;
  // What was captured for all at the beginning and is in sync by its turn was changed by somebody else.
  if (outcome === "unchanged" && !item.begun) item.prior = item.known;
  if (isToRecapture(item, outcome, run)) return recapture(item, run);
  // A folder that could not be emptied is still ours to remove; what is as before, however it came to that, is not.
  const isInDoubt = outcome === "failed" || (outcome === "unchanged" && state.removalFailed);
  if (!item.removal || !isInDoubt) return undefined;
  const desired = desiredItem(item.resource, { types: run.types, identity: item.identity }, null);
  const looking = {
    host: run.host,
    clock: run.clock,
    types: run.types,
    signal: new AbortController().signal,
  };
  return standsAsBefore(desired, item.prior, looking).then((isAsBefore) => {
    item.isAsBefore = isAsBefore;
  });
}

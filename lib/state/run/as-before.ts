/**
 * Whether a thing stands as it did before us. What we did not change is never changed back, so wherever a change was begun
 * and did not succeed, the machine is asked what came of it.
 */
import type { Clock } from "../../clock.ts";
import type { Host } from "../../host/host.ts";
import type { MaybeWaiting } from "../../internal/maybe-waiting.ts";
import { isSameJson } from "../../json.ts";
import type { Prior, ResourceTypes } from "../resource-type.ts";
import { withDeadline } from "./deadline.ts";
import { timeoutOf } from "./examine.ts";
import { removalItem, type StateItem } from "./state-item.ts";

/** How long one look may take, milliseconds: it is for a thing that has failed already. */
const lookTimeoutMs = 30_000;

/** What a look needs. */
export interface Looking {
  host: Host;
  clock: Clock;
  /** Ends the look; a look at what a cut change left must not be cut with it. */
  signal: AbortSignal;
}

/** Whether two captures say the same. */
export function isSamePrior(one: Prior | null, other: Prior | null): boolean {
  if (one === other) return true;
  return one !== null && other !== null && one.type === other.type && isSameJson(one.spec, other.spec);
}

/** Asks what stands now and could be come back to: on top of `base`, for a type that adds to what it captured first. */
export function askPrior(
  { target, resource }: Pick<StateItem, "target" | "resource">,
  base: Prior | null,
  { host, clock, signal }: Looking,
): MaybeWaiting<Prior | null> {
  if (!target) return null;
  const { type, spec } = target;
  const { removing } = type;
  const ask = (stop: AbortSignal): MaybeWaiting<Prior | null> =>
    base && removing?.extendPrior
      ? removing.extendPrior(base, spec, host, stop)
      : type.capture(spec, host, stop);
  if (type.checksWithPrograms !== true) return ask(signal);
  return withDeadline({ clock, timeoutMs: timeoutOf({ resource }), signal }, ask);
}

/**
 * Whether an item that was worked on in vain stands as when `prior` was captured. False where that can't be told: nothing was
 * captured, the capture says nothing of the machine, or the look fails.
 */
export async function isUntouched(
  item: Pick<StateItem, "target" | "resource" | "known">,
  prior: Prior | null,
  looking: Looking,
): Promise<boolean> {
  if (!item.target || prior === null || item.target.type.removing?.capturesFrom === "spec") return false;
  try {
    return isSamePrior(await askBriefly(item, looking), prior);
  } catch {
    return false;
  }
}

/**
 * Whether there is nothing left of an applied resource that could be taken away: what stands is what stood before it.
 *
 * @param item - The resource as an item that is desired, placed among the others.
 */
export async function standsAsBefore(
  item: StateItem,
  prior: Prior | null,
  looking: Looking & { types: ResourceTypes },
): Promise<boolean> {
  if (!prior || !item.target) return false;
  const { target } = removalItem(
    { resource: item.resource, prior },
    { types: looking.types, identity: item.identity },
  );
  if (!target) return false;
  const check = (signal: AbortSignal): unknown => target.type.check(target.spec, looking.host, signal);
  try {
    const changes = await withDeadline(limitsOf(looking), async (signal) => check(signal));
    if (!Array.isArray(changes) || changes.length > 0) return false;
    // What comes of a spec tells nothing of the machine, and the values of secrets, which are in it, are of the run that captured it.
    if (item.target.type.removing?.capturesFrom === "spec") return true;
    // What was noted in part says nothing of the rest, which somebody may have changed: nothing of it is to be taken back.
    if (prior.spec["only_if_there"] === true) return true;
    // A folder that holds what others put there is in sync with having been none, and stands all the same.
    return isSamePrior(await askBriefly({ ...item, known: null }, looking), prior);
  } catch {
    return false;
  }
}

function askBriefly(
  { target, resource, known }: Pick<StateItem, "target" | "resource" | "known">,
  looking: Looking,
): MaybeWaiting<Prior | null> {
  return withDeadline(limitsOf(looking), async (signal) =>
    askPrior({ target, resource }, known, { ...looking, signal }),
  );
}

function limitsOf({ clock, signal }: Looking): { clock: Clock; timeoutMs: number; signal: AbortSignal } {
  return { clock, timeoutMs: lookTimeoutMs, signal };
}

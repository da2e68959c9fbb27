/**
 * What stood before us: asked for all at once before the run changes anything, asked again right before each first change, and
 * forgotten where nothing came of it.
 *
 * ```
 * known or null --captureAll--> captured --captureAnew--> as it stands now --the change--> ours, for good
 *                                                              |
 *                                                              +--failed, and nothing is different--> known or null
 * ```
 * Only this file calls `capture` and `extendPrior`, through `askPrior`.
 */
import type { Host } from "../../host/host.ts";
import { andThen, type MaybeWaiting } from "../../internal/maybe-waiting.ts";
import type { Watching } from "../owed.ts";
import type { Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { askPrior, isSamePrior, isUntouched } from "./as-before.ts";
import type { Traces } from "./observed-host.ts";
import { type StateItem, toCaptured } from "./state-item.ts";
import type { StateRun } from "./state-run.ts";

/** So often what stands may turn out to be another thing while what stood is being written down. */
const maxRaces = 5;

/** Looks at what a change left, also when the run is cancelled. */
const unstopped = new AbortController().signal;

/**
 * Asks what stands now, so that it can be come back to, and hands it to the caller before anything is changed: all with one
 * barrier. What can't be captured now is asked again when its turn comes, and then it fails.
 */
export async function captureAll(items: readonly StateItem[], run: StateRun): Promise<void> {
  const captured: StateItem[] = [];
  const leaving = new Set(
    items.flatMap(({ removal, target }) => (removal && target?.type.sharing ? [target.type.type] : [])),
  );
  for (const item of items) {
    if (item.sameAs || !item.changes || !isToCapture(item)) continue;
    // Parts of what goes may be left for what is as it is to be: it is handed over too, so that it is known whose they are then.
    if (item.changes.length === 0 && !leaving.has(item.resource.type)) continue;
    // What stands there yet is another thing where the run leads a link on the way elsewhere: it is asked when that is done.
    const { identity } = run.identities.placedNow(item.resource, run.host, run.changesBegun);
    if (identity !== item.identity) continue;
    try {
      const capturing = capture(item, run);
      if (capturing) await capturing;
      if (!item.isOurs || item.prior !== item.known) captured.push(item);
    } catch {
      // It is asked again when its turn comes, and fails there.
    }
  }
  const owing = new Set(run.owed.map(({ thing }) => thing));
  const changing = items.filter((item) => isToChange(item) || owing.has(item.identity));
  await handOver(captured, run, run.watchers.untold(changing));
}

/** What a check found nothing wrong with is not touched; what could not be checked may be. */
function isToChange({ removal, resource, changes }: StateItem): boolean {
  return !removal && !resource.skip && changes?.length !== 0;
}

/**
 * Hands over who watches an item that is about to be changed, where that was not foreseen at the beginning. A promise only where
 * there is something to hand over.
 */
export function announce(item: StateItem, run: StateRun): Promise<void> | undefined {
  const watching = item.removal ? [] : run.watchers.untold([item]);
  return watching.length === 0 ? undefined : handOver([], run, watching);
}

/**
 * Looks whether what stands could be captured, as far as no program has to be asked: where an apply would fail for it a plan does.
 *
 * @param host - Keeps nothing.
 */
export function requireCapturable(
  item: StateItem,
  { clock, stop }: StateRun,
  host: Host,
): MaybeWaiting<unknown> {
  if (!isToCapture(item) || item.target?.type.checksWithPrograms === true) return null;
  return askPrior(item, item.known, { host, clock, signal: stop });
}

/**
 * Captures again what is about to be changed for the first time, since somebody may have changed it meanwhile, and hands it
 * over where it is not what was. Tells whether it is another thing than was captured before. A promise only where it needs
 * waiting.
 */
export function captureAnew(item: StateItem, run: StateRun): Promise<boolean> | undefined {
  if (!isToCapture(item)) return undefined;
  const { prior: handed, captured } = item;
  const capturing = capture(item, run);
  if (!capturing && captured && isSamePrior(item.prior, handed)) return undefined;
  return settleCapture(item, run, { capturing, handed: captured ? handed : undefined });
}

/** Hands over what stands until it is what was handed over. `handed` undefined = nothing was. */
async function settleCapture(
  item: StateItem,
  run: StateRun,
  { capturing, handed }: { capturing: Promise<void> | undefined; handed: Prior | null | undefined },
): Promise<boolean> {
  let last = handed;
  if (capturing) await capturing;
  for (let races = 0; races < maxRaces; races += 1) {
    if (last !== undefined && isSamePrior(item.prior, last)) return races > (handed === undefined ? 1 : 0);
    last = item.prior;
    await handOver([item], run);
    await capture(item, run);
  }
  // What changes all the time is nobody's to come back to in the middle: the last that is on disk counts.
  item.prior = last ?? null;
  return true;
}

/** Asks again what to come back to, where that is a matter of the spec. */
export async function recapture(item: StateItem, run: StateRun): Promise<void> {
  // What was done is noted, also when the run has been cancelled meanwhile.
  await capture(item, { ...run, stop: unstopped });
}

/** Notes of an item that was changed that it is ours now. */
export function settleSuccess(item: StateItem, run: StateRun, found: readonly Change[]): void {
  // What was in sync and did no more than follow a trigger stands as it stood. What is known by nothing else is what was done.
  if (found.length > 0 || hasNothingToUndo(item)) item.begun = true;
  else if (!item.begun) forgetUntouched(item, run);
}

/** Of what to come back to is a matter of the spec: whether that says nothing. */
function hasNothingToUndo({ target, prior }: StateItem): boolean {
  return target?.type.removing?.capturesFrom === "spec" && prior === null;
}

/** Finds out whether a try that failed changed anything, and forgets what was captured for it where it did not. */
export async function settleFailure(
  item: StateItem,
  run: StateRun,
  { traces, found }: { traces: Traces; found: readonly Change[] },
): Promise<void> {
  if (item.removal || item.begun) return;
  // Work that somebody else had done is no more ours where following a trigger failed.
  const isSpec = item.target?.type.removing?.capturesFrom === "spec";
  if (isSpec && found.length === 0 && !hasNothingToUndo(item)) return forgetUntouched(item, run);
  const looking = { host: run.host, clock: run.clock, signal: unstopped };
  const isSame = traces.any && (await isUntouched(item, item.prior, looking));
  if (!traces.any || (isSame && !item.isOurs)) {
    forgetUntouched(item, run);
    return;
  }
  // What a later version adds to what was captured first is not needed where that part was left alone. What it adds by its spec
  // alone, such as a line to look for, is needed as soon as it has written.
  if (isSame && !traces.own) forget(item);
  item.begun = true;
}

function forgetUntouched(item: StateItem, run: StateRun): void {
  forget(item);
  run.onUntouched?.(item.identity);
}

function forget(item: StateItem): void {
  item.prior = item.known;
  item.captured = item.isOurs;
}

/** Whether what stood is still to be asked: before the first change ever, or the first of this run for types that add to it. */
function isToCapture({ removal, begun, isOurs, known, target }: StateItem): boolean {
  if (removal || begun) return false;
  return !isOurs || (known !== null && target?.type.removing?.extendPrior !== undefined);
}

/** A promise only where it needs waiting: most of what stands is a file. */
function capture(item: StateItem, { host, clock, stop }: StateRun): Promise<void> | undefined {
  const note = (prior: Prior | null): undefined => {
    item.prior = prior;
    item.captured = true;
  };
  return andThen(askPrior(item, item.known, { host, clock, signal: stop }), note) as
    Promise<void> | undefined;
}

/** Copies of old files must be on disk before the caller notes that there are copies. */
async function handOver(
  items: readonly StateItem[],
  run: StateRun,
  watching: readonly Watching[] = [],
): Promise<void> {
  if (items.length === 0 && watching.length === 0) return;
  if (items.length > 0) await run.host.barrier();
  const captured = items.map((item) => ({ ...toCaptured(item), identity: item.identity }));
  await run.beforeChanges?.(captured, watching);
  if (watching.length > 0) run.watchers.tell();
}

/** Whether what to come back to is a matter of the spec, which may have changed since it was first applied. */
export function isToRecapture(item: StateItem, outcome: string, run: StateRun): boolean {
  if (run.mode !== "apply" || item.removal || !(item.isOurs || item.begun)) return false;
  return (
    item.target?.type.removing?.capturesFrom === "spec" && (outcome === "changed" || outcome === "unchanged")
  );
}

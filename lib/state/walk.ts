/** The way through the resources: who is skipped, who is fired, who is converged, and what is applied afterwards. */
import { converge, isKnownInSync } from "./converge.ts";
import { resourceKey } from "./resource.ts";
import type { ResourceResult } from "./result.ts";
import { type AppliedResource, identityOf, type StateItem } from "./state-item.ts";
import { actionOf, failureParts, type ResultParts, toResult } from "./state-result.ts";
import type { StateRun } from "./state-run.ts";

/** Where a walk is. */
interface Walk {
  readonly run: StateRun;
  readonly results: ResourceResult[];
  /** Results of desired resources, by module and id. */
  readonly byKey: Map<string, ResourceResult>;
  /** What is applied, by identity, in the order in which it was first applied. */
  readonly applied: Map<string, AppliedResource>;
  /** The resource whose failure ended the run. */
  stoppedBy: string | null;
  removalFailed: boolean;
}

const unchanged: ResultParts = { outcome: "unchanged" };

/** Works through the items in their order. Waits only where it must: most of a run finds nothing to do. */
export async function walk(
  items: readonly StateItem[],
  run: StateRun,
): Promise<{ results: ResourceResult[]; applied: AppliedResource[] }> {
  const applied = new Map(run.applied.map((entry) => [identityOf(entry.resource, run.types), entry]));
  const state: Walk = { run, results: [], byKey: new Map(), applied, stoppedBy: null, removalFailed: false };
  let nowMs = run.clock.monotonic();
  for (const item of items) {
    const startedMs = nowMs;
    const working = decide(item, state) ?? work(item, causesOf(item, state), run);
    const parts = working instanceof Promise ? await working : working;
    nowMs = run.clock.monotonic();
    record(item, toResult(item.resource, parts, nowMs - startedMs), state);
  }
  return { results: state.results, applied: [...applied.values()] };
}

/** What is clear without looking at the machine; null where the item must be worked on. */
function decide(item: StateItem, state: Walk): ResultParts | null {
  const { run } = state;
  const { resource } = item;
  if (resource.skip) return { outcome: "skipped", skipped_because: resource.skip };
  if (run.stop.aborted) return { outcome: "skipped", skipped_because: "cancelled" };
  if (run.mode !== "check" && !item.removal) {
    const missing = missingOf(item, state);
    if (missing !== undefined) return skippedFor(`It needs ${missing}, which was not done.`);
    if (state.stoppedBy !== null) return skippedFor(`The run ended with the failure of ${state.stoppedBy}.`);
  }
  if (item.fault) return failureParts(resource, item.fault);
  const same = item.sameAs && state.byKey.get(item.sameAs.key);
  if (!same || same.outcome === "skipped") return null;
  const { outcome, action, changes } = same;
  return { outcome, action, changes, message: `${resourceKey(same)} says the same; it was done there.` };
}

function skippedFor(message: string): ResultParts {
  return { outcome: "skipped", skipped_because: "dependency", message };
}

/** What must have been done before and was not. A resource whose condition does not hold here holds up nobody. */
function missingOf({ resource }: StateItem, { byKey }: Walk): string | undefined {
  const { module, requires, run_on } = resource;
  if (requires.length === 0 && run_on.length === 0) return undefined;
  return [...requires, ...run_on].find((resource_id) => {
    const result = byKey.get(resourceKey({ module, resource_id }));
    if (!result || result.skipped_because === "condition") return false;
    return result.outcome === "failed" || result.outcome === "skipped";
  });
}

const noCauses: string[] = [];

function causesOf({ resource, removal }: StateItem, { run, byKey }: Walk): string[] {
  if (resource.run_on.length === 0 || run.mode === "check" || removal) return noCauses;
  return resource.run_on.filter((id) => {
    const outcome = byKey.get(resourceKey({ module: resource.module, resource_id: id }))?.outcome;
    return outcome === "changed" || outcome === "would_change";
  });
}

function work(item: StateItem, causes: string[], run: StateRun): ResultParts | Promise<ResultParts> {
  if (item.removal) return takeAway(item, run);
  const fired = causes.length > 0;
  if (run.mode !== "apply") return withCauses(foresee(item, run, fired), causes);
  if (!fired && isKnownInSync(item, run)) return unchanged;
  return converge(item, run, fired).then((parts) => withCauses(parts, causes));
}

async function takeAway(item: StateItem, run: StateRun): Promise<ResultParts> {
  if (!item.target) {
    return { ...unchanged, message: "It is left as it is: nothing was changed that could be taken back." };
  }
  const parts = run.mode === "apply" ? await converge(item, run, false) : foresee(item, run, false);
  if (parts.outcome !== "unchanged") return parts;
  return { ...parts, message: "It is left as it is: it is as before, or holds what others put there." };
}

function withCauses(parts: ResultParts, causes: string[]): ResultParts {
  return causes.length === 0 ? parts : { ...parts, caused_by: causes };
}

/** What an apply would do, from what was found at the first look. */
function foresee(item: StateItem, { mode }: StateRun, fired: boolean): ResultParts {
  if (!item.changes) return failureParts(item.resource, item.error);
  const ignored = mode === "check" ? item.resource.ignore_drift : [];
  const changes =
    ignored.length === 0 ? item.changes : item.changes.filter((change) => !ignored.includes(change.property));
  if (fired) return { outcome: "would_change", action: "run", changes };
  if (changes.length === 0) return unchanged;
  return { outcome: "would_change", action: actionOf(item, changes), changes };
}

function record(item: StateItem, result: ResourceResult, state: Walk): void {
  const { run } = state;
  state.results.push(result);
  if (item.removal) {
    state.removalFailed ||= result.outcome === "failed";
  } else {
    state.byKey.set(item.key, result);
    if (result.outcome === "failed" && item.resource.on_failure === "stop") state.stoppedBy ??= item.key;
  }
  if (run.mode === "apply") recordApplied(item, result, state);
  // The error of a sensitive resource may quote its values.
  const fields = item.resource.sensitive ? {} : { error: item.error };
  if (result.code === "INTERNAL")
    run.logger?.error("A resource failed inside.", { resource: item.key, ...fields });
  run.onResult?.(result);
}

function recordApplied(item: StateItem, result: ResourceResult, state: Walk): void {
  const { applied, run } = state;
  const { outcome } = result;
  if (item.removal) {
    // A folder that could not be emptied is still ours to remove.
    const done = outcome === "changed" || (outcome === "unchanged" && !state.removalFailed);
    if (done) applied.delete(item.identity);
    return;
  }
  const worked = outcome === "changed" || outcome === "unchanged";
  if (!worked && !(outcome === "failed" && item.captured)) return;
  const same = item.sameAs && state.byKey.get(item.sameAs.key);
  if (same && same.outcome !== "skipped") return;
  const { target } = item;
  const refreshed = target?.type.capturesFrom === "spec" && item.prior !== null && worked;
  const prior = refreshed ? target.type.capture(target.spec, run.host) : item.prior;
  applied.set(item.identity, { resource: item.resource, prior });
}

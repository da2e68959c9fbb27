/** The way through the resources: who is skipped, who is fired, who is converged, and what is applied afterwards. */
import { converge } from "./converge.ts";
import { resourceIdentityKey } from "./definition.ts";
import { resourceKey } from "./resource.ts";
import type { ResourceResult } from "./result.ts";
import type { AppliedResource, StateItem } from "./state-item.ts";
import { actionOf, failureParts, type ResultParts, toResult } from "./state-result.ts";
import type { StateRun } from "./state-run.ts";

/** Where a walk is. */
interface Walk {
  readonly run: StateRun;
  readonly results: ResourceResult[];
  /** Results of desired resources, by module and id. */
  readonly byKey: Map<string, ResourceResult>;
  /** The first desired resource of each identity and its result. */
  readonly byIdentity: Map<string, ResourceResult>;
  /** What is applied, by identity, in the order in which it was first applied. */
  readonly applied: Map<string, AppliedResource>;
  /** The resource whose failure ended the run. */
  stoppedBy: string | null;
  removalFailed: boolean;
}

/** Works through the items in their order. */
export async function walk(
  items: readonly StateItem[],
  run: StateRun,
): Promise<{ results: ResourceResult[]; applied: AppliedResource[] }> {
  const applied = new Map(
    run.applied.map((entry) => [resourceIdentityKey(entry.resource, run.types), entry] as const),
  );
  const state: Walk = {
    run,
    results: [],
    byKey: new Map(),
    byIdentity: new Map(),
    applied,
    stoppedBy: null,
    removalFailed: false,
  };
  for (const item of items) {
    const startedMs = run.clock.monotonic();
    const decided = decide(item, state);
    const parts = decided ?? (await work(item, causesOf(item, state), run));
    const result = toResult(item.resource, { ...parts, duration_ms: run.clock.monotonic() - startedMs });
    record(item, result, state);
  }
  return { results: state.results, applied: [...applied.values()] };
}

/** What is clear without looking at the machine; null where the item must be worked on. */
function decide(item: StateItem, state: Walk): ResultParts | null {
  const { run } = state;
  if (item.resource.skip) return { outcome: "skipped", skipped_because: item.resource.skip };
  if (run.stop.aborted) return { outcome: "skipped", skipped_because: "cancelled" };
  if (run.mode !== "check" && !item.removal) {
    const missing = item.resource.requires
      .concat(item.resource.run_on)
      .find((id) => isMissing(id, item, state));
    if (missing !== undefined) return skippedFor(`It needs ${missing}, which was not done.`);
    if (state.stoppedBy !== null) return skippedFor(`The run ended with the failure of ${state.stoppedBy}.`);
  }
  const same = item.removal ? undefined : state.byIdentity.get(item.identity);
  if (!same) return item.fault && failureParts(item.resource, item.fault);
  const { outcome, action, changes } = same;
  const message = `${resourceKey(same)} says the same; it was done there.`;
  return { outcome, action, changes, message };
}

function skippedFor(message: string): ResultParts {
  return { outcome: "skipped", skipped_because: "dependency", message };
}

/** A resource whose condition does not hold here holds up nobody. */
function isMissing(id: string, item: StateItem, state: Walk): boolean {
  const result = state.byKey.get(resourceKey({ module: item.resource.module, resource_id: id }));
  if (!result || result.skipped_because === "condition") return false;
  return result.outcome === "failed" || result.outcome === "skipped";
}

function causesOf(item: StateItem, { run, byKey }: Walk): string[] {
  if (run.mode === "check" || item.removal) return [];
  return item.resource.run_on.filter((id) => {
    const outcome = byKey.get(resourceKey({ module: item.resource.module, resource_id: id }))?.outcome;
    return outcome === "changed" || outcome === "would_change";
  });
}

async function work(item: StateItem, causes: string[], run: StateRun): Promise<ResultParts> {
  const fired = causes.length > 0;
  if (item.removal && !item.target) {
    return {
      outcome: "unchanged",
      message: "It is left as it is: nothing was changed that could be taken back.",
    };
  }
  const parts = run.mode === "apply" ? await converge(item, run, fired) : foresee(item, run, fired);
  if (item.removal && parts.outcome === "unchanged") {
    return { ...parts, message: "It is left as it is: it is as before, or holds what others put there." };
  }
  return { ...parts, caused_by: causes };
}

/** What an apply would do, from what was found at the first look. */
function foresee(item: StateItem, { mode }: StateRun, fired: boolean): ResultParts {
  if (!item.changes) return failureParts(item.resource, item.error);
  const ignored = mode === "check" ? item.resource.ignore_drift : [];
  const changes = item.changes.filter((change) => !ignored.includes(change.property));
  if (fired) return { outcome: "would_change", action: "run", changes };
  if (changes.length === 0) return { outcome: "unchanged" };
  return { outcome: "would_change", action: actionOf(item, changes), changes };
}

function record(item: StateItem, result: ResourceResult, state: Walk): void {
  const { run } = state;
  state.results.push(result);
  if (item.removal) {
    state.removalFailed ||= result.outcome === "failed";
  } else {
    state.byKey.set(item.key, result);
    if (!result.skipped_because && !state.byIdentity.has(item.identity))
      state.byIdentity.set(item.identity, result);
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
  if (state.byIdentity.get(item.identity) !== result) return;
  const { target } = item;
  const refreshed = target?.type.capturesFrom === "spec" && item.prior !== null && worked;
  const prior = refreshed ? target.type.capture(target.spec, run.host) : item.prior;
  applied.set(item.identity, { resource: item.resource, prior });
}

/**
 * The state engine: makes a machine match what is desired, or tells what that would do.
 *
 * ```
 * check all ──> (apply) keep what stood before ──> removals, see `inOrderOfRemoval` ──> desired, in the order of the graph ──> barrier
 * ```
 * A plan goes the same way on a machine that is only foreseen; a drift check is the first step alone. Removals come first, so
 * that what goes is not in
 * the way of what comes. Changes are made one at a time; what was in sync is looked at again once something has changed.
 */
import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import { findDifferences } from "../conflicts.ts";
import { Foresight } from "../foreseen/foresight.ts";
import { orderRemovals, orderResources } from "../graph.ts";
import type { OwedTrigger } from "../owed.ts";
import { type ResolvedResource, resourceKey } from "../resource.ts";
import { resourceTypes } from "../resources/index.ts";
import type { ResourceResult } from "../result.ts";
import { watchesAny } from "../triggers.ts";
import type { AppliedResource } from "./applied-resource.ts";
import { captureAll } from "./capture.ts";
import { Scope, withClaims } from "./claims.ts";
import { examineAll } from "./examine.ts";
import { allOf, namesNeededBy } from "./failures.ts";
import { refuseFights, tellEdits } from "./fights.ts";
import { Identities } from "./identities.ts";
import type { LastAct } from "./last-act.ts";
import { inheritParts, leaveParentsToLast, parentsMadeBy, tellDeclaredParts } from "./parts.ts";
import { read } from "./prepared.ts";
import {
  holdClaims,
  outsideOf,
  refuseBuried,
  requireSameThing,
  sharersOf,
  tellDeclared,
  tellStaying,
} from "./shared-things.ts";
import { desiredItem, hideSecrets, place, placesOf, removalItem, type StateItem } from "./state-item.ts";
import type { StateRun, StateRunOptions } from "./state-run.ts";
import { walk } from "./walk.ts";
import { Watchers } from "./watchers.ts";

const nilUuid = "00000000-0000-0000-0000-000000000000";

/**
 * How a run ended. "failed": something failed and nothing was changed; "partial": something failed and something was changed. A
 * removal at which the last run failed, too, is told and does not count.
 */
export type RunStatus = "succeeded" | "failed" | "partial" | "cancelled" | "timed_out";

/** What a run did, or would do. */
export interface StateRunResult {
  status: RunStatus;
  /** One for each removal, then one for each desired resource, in the order in which they were worked on. */
  results: ResourceResult[];
  /** What is applied now: hand it to the next run. As given unless the mode is "apply". */
  applied: AppliedResource[];
  /** Triggers that are owed now: hand them to the next run. As given unless the mode is "apply". */
  owed: OwedTrigger[];
  /** What the caller has to do now that this is noted, because it ends the agent; absent = nothing. `results` has it as done. */
  lastAct?: LastAct;
  /** What failed beside the resources: the changes are made, but may not survive a power loss. */
  error?: OrchestratorError;
}

/**
 * Runs the engine once. Not to be called twice at a time for one machine.
 *
 * @throws OrchestratorError `RESOURCE_CONFLICT` where two desired resources contradict each other; `MODULE_INVALID` where
 * they wait for each other; what `confirm` throws. Nothing has been changed then. A failure of a resource is a result.
 */
export async function runState(options: StateRunOptions): Promise<StateRunResult> {
  const types = options.types ?? resourceTypes;
  const identities = new Identities(options.host, types, options.desired);
  const applied = identities.merge(options.applied);
  const scope = new Scope(options.scope);
  const items = plannedItems({ ...options, types, applied, identities, scope });
  const limit = new AbortController();
  const timer = options.clock.setTimer(options.timeoutMs, () =>
    limit.abort(new OrchestratorError("RESOURCE_TIMEOUT", { message: "The run took longer than it may." })),
  );
  const deadline = options.cut ? AbortSignal.any([limit.signal, options.cut]) : limit.signal;
  const stop = AbortSignal.any([options.signal, deadline]);
  const run: StateRun = {
    ...options,
    types,
    applied,
    owed: options.owed ?? [],
    operationId: options.operationId ?? nilUuid,
    identities,
    scope,
    watchers: new Watchers(items, sharersOf(items, { types, applied, scope })),
    stop,
    deadline,
    changesBegun: 0,
  };
  const tells = run.mode === "plan" || (run.mode === "apply" && run.confirm !== undefined);
  const foresight = tells ? new Foresight(run.host) : null;
  try {
    await examineAll(items, run, foresight?.host);
    if (run.mode === "apply" && !stop.aborted) {
      if (foresight) await confirm(items, run, foresight);
      await captureAll(items, run);
    }
    const { failedAnew, ...walked } = await walk(items, run, run.mode === "plan" ? foresight : null);
    const identityOf = (resource: ResolvedResource): string => identities.of(resource);
    const handing = { types, identityOf, host: run.host, desired: run.desired };
    walked.applied =
      run.mode === "apply" ? inheritParts(walked.applied, applied, handing) : [...options.applied];
    const error = await settle(run);
    const hasFailed = failedAnew || error !== undefined;
    return { status: statusOf(walked.results, run, hasFailed), ...walked, ...(error && { error }) };
  } finally {
    timer.cancel();
  }
}

/** Shows what would be done to whoever may refuse it. */
async function confirm(items: readonly StateItem[], run: StateRun, foresight: Foresight): Promise<void> {
  const { onResult: _unheard, ...quiet } = run;
  // What is foreseen of a machine is not so on it yet.
  const foreseen = items.map((item) => ({ ...item }));
  const { results } = await walk(foreseen, { ...quiet, mode: "plan" }, foresight);
  const guard = run.confirm?.(results);
  // Who returns nothing may return anything.
  if (typeof guard === "function") run.guard = guard;
}

/** Removals, then what is desired, each in its order. */
function plannedItems(
  run: Pick<
    StateRun,
    "mode" | "desired" | "applied" | "types" | "identities" | "scope" | "reveal" | "holdRemovals"
  >,
): StateItem[] {
  const { mode, desired, applied, types, identities, scope, reveal } = run;
  const wanted = new Map<string, StateItem>();
  const items = inOrder(desired).map((resource) => {
    const placed = identities.placed(resource);
    const { identity } = placed;
    const entry = applied.get(identity);
    const item = desiredItem(resource, { types, identity, reveal }, null);
    place(item, placed, entry ?? null);
    const first = wanted.get(item.identity);
    if (!first || first.resource.skip) wanted.set(item.identity, item);
    else item.sameAs = first;
    item.others = scope.outside(entry);
    if (!item.sameAs && item.others.length > 0) requireSameThing(resource, item.others, { types, identity });
    return item;
  });
  if (wanted.size < items.length) {
    refuseConflicts(desired, { types, identities });
    holdClaims(items, { applied, scope });
  }
  // What was applied by an agent that knew of no fight is drift, and told as such.
  if (mode !== "check") {
    refuseBuried(desired, outsideOf(applied, scope), { identities, types });
    refuseFights(items, outsideOf(applied, scope), { identities, types });
  }
  tellDeclared(items, run);
  if (mode !== "check") {
    const leaving = [...applied].flatMap(([identity, entry]): Leaver[] => {
      const claims = wanted.has(identity) ? [] : scope.inside(entry);
      const leaver = claims[0] && withClaims(entry, [claims[0]]);
      const item = leaver && removalItem(leaver, { types, identity }, scope.outside(entry));
      return item ? [{ item, claims }] : [];
    });
    items.unshift(...inOrderOfRemoval(leaving, { types, identities }));
    tellEdits(items, outsideOf(applied, scope), { identities, types, applied });
    tellStaying(items, outsideOf(applied, scope), { identities, types, applied });
  }
  tellDeclaredParts(items, types, outsideOf(applied, scope));
  hideSecrets(items, [...applied.values()], { types, identities });
  return items;
}

function refuseConflicts(
  desired: readonly ResolvedResource[],
  { types, identities }: Pick<StateRun, "types" | "identities">,
): void {
  const [conflict] = findDifferences(desired, types, (resource) => identities.of(resource));
  if (conflict) throw new OrchestratorError("RESOURCE_CONFLICT", { message: conflict.message });
}

function inOrder(desired: readonly ResolvedResource[]): readonly ResolvedResource[] {
  if (desired.every((resource) => resource.requires.length === 0 && !watchesAny(resource))) return desired;
  const ordering = orderResources(
    desired.map((resource) => {
      const within = (resource_id: string): string => resourceKey({ module: resource.module, resource_id });
      return {
        id: resourceKey(resource),
        requires: resource.requires.map(within),
        run_on: resource.run_on.map(within),
        reload_on: resource.reload_on?.map(within),
        restart_on: resource.restart_on?.map(within),
      };
    }),
  );
  if (!ordering.ok) throw new OrchestratorError("MODULE_INVALID", { issues: ordering.faults });
  return ordering.order.flatMap((index) => desired[index] ?? []);
}

interface Leaver {
  item: StateItem;
  /** What was applied to the thing. */
  claims: readonly ResolvedResource[];
}

/**
 * The last applied first, but before what it needed, and what is in a folder before the folder goes: either may be younger, where a later
 * version made another thing of it, as by another path.
 */
function inOrderOfRemoval(
  leaving: readonly Leaver[],
  run: Pick<StateRun, "types" | "identities">,
): StateItem[] {
  const nodes = toNodes(leaving, run);
  const going = orderRemovals(nodes).flatMap((index) => leaving[index]?.item ?? []);
  if (!leaveParentsToLast(going)) return going;
  for (const [index, { item }] of leaving.entries()) nodes[index]?.takes.push(...parentsMadeBy(item));
  return orderRemovals(nodes).flatMap((index) => leaving[index]?.item ?? []);
}

function toNodes(leaving: readonly Leaver[], run: Pick<StateRun, "types" | "identities">) {
  const ofModules = new Map<string, string[]>();
  const nodes = leaving.map(({ item, claims }) => {
    for (const claim of claims) {
      const keys = ofModules.get(claim.module);
      if (keys) keys.push(resourceKey(claim));
      else ofModules.set(claim.module, [resourceKey(claim)]);
    }
    return { names: claims.map(resourceKey), needs: claims.flatMap(namesNeededBy), ...foldersOf(item, run) };
  });
  const modules = [...ofModules].map(([module, needs]) => {
    return { names: [allOf(module)], needs, paths: [], takes: [], brings: [] };
  });
  return [...nodes, ...modules];
}

function foldersOf(
  { resource, target }: StateItem,
  { types, identities }: Pick<StateRun, "types" | "identities">,
): { paths: string[]; takes: string[]; brings: string[] } {
  const declared = read(resource, types).target;
  const paths = declared ? [...placesOf(declared, identities)] : [];
  if (!target) return { paths, takes: [], brings: [] };
  const isAbsent = ({ spec }: typeof target): boolean => (spec as { ensure?: unknown }).ensure === "absent";
  const [stands, stood] = [declared !== null && !isAbsent(declared), !isAbsent(target)];
  const goes = !stood || (stands && target.type.type !== resource.type);
  return { paths, takes: goes ? [...paths] : [], brings: stood && !stands ? paths : [] };
}

/** One barrier for everything that was changed. */
async function settle(run: StateRun): Promise<OrchestratorError | undefined> {
  if (run.changesBegun === 0) return undefined;
  try {
    await run.host.barrier();
    return undefined;
  } catch (cause) {
    return isOrchestratorError(cause) ? cause : new OrchestratorError("HOST_ERROR", { cause });
  }
}

function statusOf(results: readonly ResourceResult[], run: StateRun, hasFailed: boolean): RunStatus {
  if (run.cut?.aborted === true) return "cancelled";
  if (run.deadline.aborted) return "timed_out";
  const isCancelled = ({ skipped_because, code }: ResourceResult): boolean =>
    skipped_because === "cancelled" || code === "CANCELLED";
  if (run.signal.aborted && results.some(isCancelled)) return "cancelled";
  if (!hasFailed) return "succeeded";
  return results.some((result) => result.outcome === "changed") ? "partial" : "failed";
}

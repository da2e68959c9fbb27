/**
 * Bringing one resource to its spec: check, apply, check again. A type whose second check still finds something fails;
 * only this file calls `apply`.
 */
import { OrchestratorError } from "../../errors.ts";
import type { Change } from "../result.ts";
import type { Firing } from "../triggers.ts";
import { announce, captureAnew, settleFailure, settleSuccess } from "./capture.ts";
import { cutByCancel } from "./deadline.ts";
import { withDeadline } from "./deadline.ts";
import { examine, requireChanges, timeoutOf } from "./examine.ts";
import { nameMissing } from "./missing-part.ts";
import { observe } from "./observed-host.ts";
import { declaredIdentity } from "./prepared.ts";
import type { StateItem } from "./state-item.ts";
import { actionOf, failureParts, type ResultParts } from "./state-result.ts";
import type { StateRun } from "./state-run.ts";

/** Converges one item, again and again as its `retry` says. Never rejects: a failure is a result. */
export async function converge(item: StateItem, run: StateRun, firing: Firing | null): Promise<ResultParts> {
  const tries = item.resource.retry?.attempts ?? 1;
  let made: Pick<ResultParts, "action" | "changes"> | null = null;
  for (let attempts = 1; ; attempts += 1) {
    const begunBefore = run.changesBegun;
    try {
      const parts = await tryOnce(item, { run, firing, attempts });
      // What a try did before it failed is done all the same.
      return made && parts.outcome === "unchanged" ? { outcome: "changed", ...made, attempts } : parts;
    } catch (error) {
      item.error = error;
      if (run.changesBegun > begunBefore && (item.begun || item.removal)) made ??= attempted(item, firing);
      const begun = run.changesBegun > begunBefore || attempts > 1;
      if (run.stop.aborted && !begun) return { outcome: "skipped", skipped_because: "cancelled" };
      if (attempts < tries) await pause(run, (item.resource.retry?.delay_seconds ?? 0) * 1000);
      if (attempts < tries && !run.stop.aborted) continue;
      return {
        ...failureParts(item.resource, nameMissing(error, run.host, { resource: item.resource, run })),
        ...attempted(item, firing),
        attempts,
      };
    }
  }
}

async function tryOnce(
  item: StateItem,
  { run, firing, attempts }: { run: StateRun; firing: Firing | null; attempts: number },
): Promise<ResultParts> {
  const { target } = item;
  if (!target) return { outcome: "unchanged" };
  // What is to be changed first was looked at before everything was captured: that may be long ago.
  if (attempts > 1 || !isKnownInSync(item, run)) await examine(item, run);
  if (!item.changes) throw item.error;
  if (item.changes.length === 0 && !firing) return { outcome: "unchanged" };
  const capturing = captureAnew(item, run);
  // Somebody was at it in between, and may have made it as it is to be.
  if (capturing && (await capturing)) await examine(item, run);
  const found = item.changes;
  if (!found) throw item.error;
  if (found.length === 0 && !firing) return { outcome: "unchanged" };
  if (!item.begun) run.guard?.(item.resource, attempted(item, firing).action ?? "none");
  const announcing = announce(item, run);
  if (announcing) await announcing;
  noteBegun(item, run);
  const { host, traces } = observe(item, run);
  const { type, spec } = target;
  const act = (signal: AbortSignal): void | Promise<void> =>
    firing && type.triggering && firing.isLeft !== true
      ? type.triggering.fire({ trigger: firing.trigger, spec, changes: found }, host, signal)
      : type.apply(spec, found, host, signal);
  const verify = (signal: AbortSignal): void | Promise<void> => {
    const left = type.check(spec, run.host, signal);
    const assert = (changes: Change[]): void => assertConverged(requireChanges(changes, type));
    return left instanceof Promise ? left.then(assert) : assert(left);
  };
  const cut = type.endsOnCancel === true ? cutByCancel(run) : null;
  const limits = { clock: run.clock, timeoutMs: timeoutOf(item), signal: cut?.signal ?? run.deadline };
  try {
    const working = withDeadline(limits, (signal) => {
      const acting = act(signal);
      return acting instanceof Promise ? acting.then(() => verify(signal)) : verify(signal);
    });
    if (working) await working;
  } catch (error) {
    await settleFailure(item, run, { traces, found });
    throw error;
  } finally {
    cut?.release();
  }
  settleSuccess(item, run, found);
  const { exitCode } = traces;
  return {
    outcome: "changed",
    ...attempted(item, firing),
    attempts,
    ...(exitCode !== null && { exit_code: exitCode }),
  };
}

function isFresh(item: StateItem, run: StateRun): boolean {
  return item.changes !== null && item.checkedAt === run.changesBegun;
}

/** Whether the last look found nothing to do, and nothing was done since. */
export function isKnownInSync(item: StateItem, run: StateRun): boolean {
  return item.changes?.length === 0 && isFresh(item, run);
}

/** Tells the caller what is about to be changed. */
function noteBegun(item: StateItem, run: StateRun): void {
  const { identity, noted, removal, resource, isOurs } = item;
  const spelled = declaredIdentity(resource, run.types);
  run.onBegun?.({
    identity,
    ...(spelled !== identity && { spelled }),
    removal,
    ...(isOurs && !removal && { resource: noted }),
  });
  run.changesBegun += 1;
}

function attempted(item: StateItem, firing: Firing | null): Pick<ResultParts, "action" | "changes"> {
  const changes = item.changes ?? [];
  if (firing) return { action: firing.trigger, changes };
  return { action: changes.length === 0 && !item.removal ? "none" : actionOf(item, changes), changes };
}

function assertConverged(left: readonly Change[]): void {
  if (left.length === 0) return;
  const names = left.map((change) => change.property);
  const message = `It was applied and still differs in: ${names.join(", ")}.`;
  throw new OrchestratorError("NOT_CONVERGED", { message, details: { properties: names } });
}

function pause({ clock, stop }: StateRun, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      stop.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.setTimer(delayMs, end);
    stop.addEventListener("abort", end, { once: true });
    if (stop.aborted) end();
  });
}

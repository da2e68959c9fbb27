/**
 * Bringing one resource to its spec: check, apply, check again. A type whose second check still finds something fails;
 * only this file calls `apply`.
 */
import { OrchestratorError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { withDeadline } from "./deadline.ts";
import { examine, timeoutOf } from "./examine.ts";
import type { Prior } from "./resource-type.ts";
import type { Change } from "./result.ts";
import type { AppliedResource, StateItem } from "./state-item.ts";
import { actionOf, failureParts, type ResultParts } from "./state-result.ts";
import type { StateRun } from "./state-run.ts";
import type { Firing } from "./triggers.ts";

/** Converges one item, again and again as its `retry` says. Never rejects: a failure is a result. */
export async function converge(item: StateItem, run: StateRun, firing: Firing | null): Promise<ResultParts> {
  const tries = item.resource.retry?.attempts ?? 1;
  for (let attempts = 1; ; attempts += 1) {
    const begunBefore = run.changesBegun;
    try {
      return await tryOnce(item, { run, firing, attempts });
    } catch (error) {
      item.error = error;
      const begun = run.changesBegun > begunBefore || attempts > 1;
      if (run.stop.aborted && !begun) return { outcome: "skipped", skipped_because: "cancelled" };
      if (attempts < tries) await pause(run, (item.resource.retry?.delay_seconds ?? 0) * 1000);
      if (attempts < tries && !run.stop.aborted) continue;
      return { ...failureParts(item.resource, error), ...attempted(item, firing), attempts };
    }
  }
}

/**
 * Asks what stands now, so that it can be come back to, and hands it to the caller before anything is changed.
 * What can't be captured now is asked again when its turn comes, and then it fails.
 */
export async function captureAll(items: readonly StateItem[], run: StateRun): Promise<void> {
  const captured: AppliedResource[] = [];
  for (const item of items) {
    if (item.removal || item.sameAs || !item.changes || item.changes.length === 0) continue;
    if (item.captured && !item.target?.type.extendPrior) continue;
    const known = item.prior;
    try {
      const capturing = capture(item, run);
      if (capturing) await capturing;
      if (known === null || item.prior !== known)
        captured.push({ resource: item.resource, prior: item.prior });
    } catch {
      item.captured = false;
    }
  }
  await handOver(captured, run);
}

/** Asks again what to come back to. */
export async function recapture(item: StateItem, run: StateRun): Promise<void> {
  await capture(item, run);
}

/** A promise only where it needs waiting: most of what stands is a file. */
function capture(item: StateItem, run: StateRun): Promise<void> | undefined {
  const { target } = item;
  if (!target) return note(item, null);
  const { type, spec } = target;
  const { prior } = item;
  const ask = (signal: AbortSignal): Prior | null | Promise<Prior | null> =>
    prior && type.extendPrior
      ? type.extendPrior(prior, spec, run.host, signal)
      : type.capture(spec, run.host, signal);
  if (type.checksWithPrograms !== true) {
    const found = ask(run.stop);
    if (!(found instanceof Promise)) return note(item, found);
    return found.then((given) => note(item, given));
  }
  const limits = { clock: run.clock, timeoutMs: timeoutOf(item), signal: run.stop };
  return Promise.resolve(withDeadline(limits, ask)).then((given) => note(item, given));
}

function note(item: StateItem, prior: Prior | null): undefined {
  item.prior = prior;
  item.captured = true;
}

/** Copies of old files must be on disk before the caller notes that there are copies. */
async function handOver(captured: readonly AppliedResource[], run: StateRun): Promise<void> {
  if (captured.length === 0) return;
  await run.host.barrier();
  await run.beforeChanges?.(captured);
}

/** Whether the last look found nothing to do, and nothing was done since. */
export function isKnownInSync(item: StateItem, run: StateRun): boolean {
  return item.changes?.length === 0 && isFresh(item, run);
}

function isFresh(item: StateItem, run: StateRun): boolean {
  return item.changes !== null && item.checkedAt === run.changesBegun;
}

async function tryOnce(
  item: StateItem,
  { run, firing, attempts }: { run: StateRun; firing: Firing | null; attempts: number },
): Promise<ResultParts> {
  const { target } = item;
  if (!target) return { outcome: "unchanged" };
  if (attempts > 1 || !isFresh(item, run)) await examine(item, run);
  const found = item.changes;
  if (!found) throw item.error;
  if (found.length === 0 && !firing) return { outcome: "unchanged" };
  if (!item.removal && !item.captured) {
    await capture(item, run);
    await handOver([{ resource: item.resource, prior: item.prior }], run);
  }
  run.changesBegun += 1;
  const { host, lastExitCode } = observe(item, run);
  const { type, spec } = target;
  const act = (signal: AbortSignal): void | Promise<void> =>
    firing && type.fire
      ? type.fire({ trigger: firing.trigger, spec, changes: found }, host, signal)
      : type.apply(spec, found, host, signal);
  const verify = (signal: AbortSignal): void | Promise<void> => {
    const left = type.check(spec, run.host, signal);
    return left instanceof Promise ? left.then(assertConverged) : assertConverged(left);
  };
  const limits = { clock: run.clock, timeoutMs: timeoutOf(item), signal: run.deadline };
  const working = withDeadline(limits, (signal) => {
    const acting = act(signal);
    return acting instanceof Promise ? acting.then(() => verify(signal)) : verify(signal);
  });
  if (working) await working;
  const exitCode = lastExitCode();
  return {
    outcome: "changed",
    ...attempted(item, firing),
    attempts,
    ...(exitCode !== null && { exit_code: exitCode }),
  };
}

function attempted(item: StateItem, firing: Firing | null): Pick<ResultParts, "action" | "changes"> {
  const changes = item.changes ?? [];
  if (firing) return { action: firing.trigger, changes };
  return { action: changes.length === 0 ? "none" : actionOf(item, changes), changes };
}

function assertConverged(left: readonly Change[]): void {
  if (left.length === 0) return;
  const names = left.map((change) => change.property);
  const message = `It was applied and still differs in: ${names.join(", ")}.`;
  throw new OrchestratorError("NOT_CONVERGED", { message, details: { properties: names } });
}

/** The host, with what programs write sent on and their exit code noted. */
function observe(item: StateItem, run: StateRun): { host: Host; lastExitCode: () => number | null } {
  const { host, onOutput } = run;
  const { module, resource_id, sensitive } = item.resource;
  let exitCode: number | null = null;
  const observed: Host = {
    platform: host.platform,
    isConfined: host.isConfined,
    files: host.files,
    users: host.users,
    backups: host.backups,
    sha256: (content) => host.sha256(content),
    download: (request, signal) => host.download(request, signal),
    barrier: () => host.barrier(),
    async run(command, signal) {
      const result = await host.run(
        {
          ...command,
          // A type that reads the output itself knows that nobody else would care to.
          ...(onOutput &&
            !sensitive &&
            command.asks !== true &&
            command.onOutput === undefined && {
              onOutput: (stream, bytes) => onOutput({ module, resource_id, stream, bytes }),
            }),
        },
        signal,
      );
      if (command.asks !== true) exitCode = result.exitCode;
      return result;
    },
  };
  return { host: observed, lastExitCode: () => exitCode };
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

import type { Clock } from "../../clock.ts";
import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { StateRun } from "./state-run.ts";

/** Longest time for one try of a resource that names none, milliseconds. */
export const defaultResourceTimeoutMs = 600_000;

/** What limits a try. */
interface Limits {
  clock: Clock;
  timeoutMs: number;
  /** Ends the try from outside. */
  signal: AbortSignal;
}

/** Was never aborted, and nobody waits for it: good for the next try. One for each of thousands of files would be felt. */
let spare: AbortController | null = null;

/**
 * Runs something with a signal that is aborted after a time, or when the outer signal is. Waits for it to end: what was
 * begun on a machine is never left running behind our back. Gives a promise only where there is something to wait for.
 *
 * @throws OrchestratorError `RESOURCE_TIMEOUT` where the time ran out and it failed for it.
 */
export function withDeadline<T>(
  limits: Limits,
  run: (signal: AbortSignal) => T | Promise<T>,
): T | Promise<T> {
  const { signal } = limits;
  const controller = (!signal.aborted && spare) || new AbortController();
  if (controller === spare) spare = null;
  if (signal.aborted) controller.abort(signal.reason);
  const value = run(controller.signal);
  if (value instanceof Promise) return limit(value, controller, limits);
  signal.throwIfAborted();
  spare = controller;
  return value;
}

async function limit<T>(
  working: Promise<T>,
  controller: AbortController,
  { clock, timeoutMs, signal }: Limits,
): Promise<T> {
  const stop = (): void => controller.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  const timer = clock.setTimer(timeoutMs, () => {
    const seconds = timeoutMs / 1000;
    const message = `It took longer than ${seconds} s.`;
    controller.abort(
      new OrchestratorError("RESOURCE_TIMEOUT", { message, details: { timeout_seconds: seconds } }),
    );
  });
  try {
    const value = await working;
    // A program that was ended because of the deadline may look as if it had just failed.
    controller.signal.throwIfAborted();
    return value;
  } catch (error) {
    const { aborted, reason } = controller.signal;
    // One that says how it was ended for that reason says more.
    const saysMore = isOrchestratorError(error) && error.cause === reason;
    throw aborted && !saysMore ? reason : error;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", stop);
  }
}

/** What cuts a change in progress; to be let go when that has ended. */
export interface CutSignal {
  signal: AbortSignal;
  release(): void;
}

/**
 * What cuts the change in progress of a type that ends with a cancel: what cuts any, and that somebody cancelled the run. An agent
 * that stops lets it finish.
 */
export function cutByCancel({ deadline, signal }: Pick<StateRun, "deadline" | "signal">): CutSignal {
  const cancelled = new AbortController();
  const note = (): void => {
    if (isOrchestratorError(signal.reason, "CANCELLED")) cancelled.abort(signal.reason);
  };
  if (signal.aborted) note();
  signal.addEventListener("abort", note, { once: true });
  return {
    signal: AbortSignal.any([deadline, cancelled.signal]),
    release: () => signal.removeEventListener("abort", note),
  };
}

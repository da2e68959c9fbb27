import type { Clock } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";

/** Longest time for one try of a resource that names none, milliseconds. */
export const defaultResourceTimeoutMs = 600_000;

/**
 * Runs something with a signal that is aborted after a time, or when the outer signal is. Waits for it to end: what was
 * begun on a machine is never left running behind our back.
 *
 * @throws OrchestratorError `RESOURCE_TIMEOUT` where the time ran out and it failed for it.
 */
export async function withDeadline<T>(
  { clock, timeoutMs, signal }: { clock: Clock; timeoutMs: number; signal: AbortSignal },
  run: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const controller = new AbortController();
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
    const value = await run(controller.signal);
    // A program that was ended because of the deadline may look as if it had just failed.
    controller.signal.throwIfAborted();
    return value;
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", stop);
  }
}

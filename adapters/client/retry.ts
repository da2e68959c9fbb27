/** Sends again what may be sent again: how often, how long in between, and which failures pass by themselves. */
import { ApiError, isLasting } from "./api-error.ts";

/** How a client tries again. */
export interface RetryOptions {
  /** Most times that one call is sent, 1-10. Default 4; 1 never sends again. */
  attempts?: number;
  /** Pause before the second time, milliseconds; it doubles from time to time. Default 250. */
  firstPauseMs?: number;
  /** Longest pause, milliseconds. A server that asks for a longer one (`Retry-After`) is not asked again. Default 20,000. */
  longestPauseMs?: number;
}

/** Options with every default applied. */
export type ResolvedRetry = Required<RetryOptions>;

/** The longest delay that a timer holds, milliseconds; a longer one would be over at once. */
const longestTimerMs = 2_147_483_647;

/** Applies the defaults, also to what is no number: it would have no call be the last, or no pause be one. */
export function resolveRetry({ attempts, firstPauseMs, longestPauseMs }: RetryOptions = {}): ResolvedRetry {
  return {
    attempts: within(attempts, { least: 1, most: 10, otherwise: 4 }),
    firstPauseMs: within(firstPauseMs, { least: 0, most: longestTimerMs, otherwise: 250 }),
    longestPauseMs: within(longestPauseMs, { least: 0, most: longestTimerMs, otherwise: 20_000 }),
  };
}

function within(
  given: number | undefined,
  { least, most, otherwise }: { least: number; most: number; otherwise: number },
): number {
  return given === undefined || Number.isNaN(given) ? otherwise : Math.min(most, Math.max(least, given));
}

/**
 * Runs until it succeeds, fails for good, or was tried often enough; throws the last failure then.
 *
 * @param ends - What ends a pause at once, and has no attempt follow.
 */
export async function withRetries<Result>(
  run: () => Promise<Result>,
  { attempts, firstPauseMs, longestPauseMs }: ResolvedRetry,
  ends: { signal?: AbortSignal | undefined; noRetry?: AbortSignal | undefined } = {},
): Promise<Result> {
  const isOver = (): boolean => ends.signal?.aborted === true || ends.noRetry?.aborted === true;
  for (let failures = 0; ;) {
    try {
      return await run();
    } catch (error) {
      failures += 1;
      if (isOver() || failures >= attempts || !isPassing(error)) throw error;
      const asked = error.retryAfterMs ?? 0;
      if (asked > longestPauseMs) throw error;
      const pauseMs = jittered(Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1)));
      await pause(Math.max(asked, pauseMs), ends.signal, ends.noRetry);
      if (isOver()) throw error;
    }
  }
}

/** What is over when the service runs again. A service that was stopped tells of its closed storage. */
const passingCodes: ReadonlySet<string> = new Set(["UNAVAILABLE", "PEER_ERROR", "STORAGE_CLOSED"]);

/** Whether the same request may be answered a little later: nobody answered, or whoever did was too busy or not the service. */
export function isPassing(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  if (error.status === 0) return !isLasting(error);
  if (error.status === 429) return true;
  const isGateway = error.status === 502 || error.status === 503 || error.status === 504;
  return isGateway && passingCodes.has(error.code);
}

/** Half of it by chance: clients that lost one server do not all come back at once. */
export function jittered(ms: number): number {
  return ms / 2 + (Math.random() * ms) / 2;
}

/** Waits; an abort of any of the signals ends it early, without an error. */
export function pause(ms: number, ...signals: (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    for (const signal of signals) signal?.addEventListener("abort", end, { once: true });
    if (signals.some((signal) => signal?.aborted)) end();
  });
}

/**
 * Waits for what others may wait for, too, and gives up with the signal: that goes on.
 *
 * @throws The reason of the signal.
 */
export function unlessAborted<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}

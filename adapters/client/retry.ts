/** Sends again what may be sent again: how often, how long in between, and which failures pass by themselves. */
import { ApiError } from "./api-error.ts";

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

/** Applies the defaults. */
export function resolveRetry({ attempts, firstPauseMs, longestPauseMs }: RetryOptions = {}): ResolvedRetry {
  return {
    attempts: Math.min(10, Math.max(1, attempts ?? 4)),
    firstPauseMs: firstPauseMs ?? 250,
    longestPauseMs: longestPauseMs ?? 20_000,
  };
}

/**
 * Runs until it succeeds, fails for good, or was tried often enough; throws the last failure then.
 *
 * @param signal - Ends a pause at once.
 */
export async function withRetries<Result>(
  run: () => Promise<Result>,
  { attempts, firstPauseMs, longestPauseMs }: ResolvedRetry,
  signal?: AbortSignal,
): Promise<Result> {
  for (let failures = 0; ;) {
    try {
      return await run();
    } catch (error) {
      failures += 1;
      if (signal?.aborted || failures >= attempts || !isPassing(error)) throw error;
      const asked = error.retryAfterMs ?? 0;
      if (asked > longestPauseMs) throw error;
      await pause(
        Math.max(asked, jittered(Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1)))),
        signal,
      );
      if (signal?.aborted) throw error;
    }
  }
}

/** Whether the same request may be answered a little later: nobody answered, or whoever did was too busy or not the service. */
export function isPassing(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  if (error.status === 0 || error.status === 429) return true;
  const isGateway = error.status === 502 || error.status === 503 || error.status === 504;
  return isGateway && (error.code === "UNAVAILABLE" || error.code === "PEER_ERROR");
}

/** Half of it by chance: clients that lost one server do not all come back at once. */
export function jittered(ms: number): number {
  return ms / 2 + (Math.random() * ms) / 2;
}

/** Waits; an abort ends it early, without an error. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) end();
  });
}

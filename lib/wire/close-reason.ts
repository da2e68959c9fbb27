/** The reason of a close frame: the code of an error, and perhaps when the peer is to come again: `RATE_LIMITED retry=3200`. */
import type { ErrorCode } from "../errors.ts";

/** The longest that anybody is told to wait, or waits because of it, milliseconds. */
export const longestRetryMs = 60_000;

const form = /^[A-Z_]+ retry=(\d{1,15})$/;

/**
 * Writes a reason.
 *
 * @param retryMs - After how many milliseconds the peer is to come again; more than a minute is a minute.
 */
export function toCloseReason(code: ErrorCode, retryMs: number): string {
  return `${code} retry=${Math.min(longestRetryMs, Math.max(0, Math.ceil(retryMs)))}`;
}

/** After how many milliseconds a reason says to come again, 0 to 60,000; null where it says nothing that can be understood. */
export function retryMsOf(reason: string): number | null {
  const digits = form.exec(reason)?.[1];
  return digits === undefined ? null : Math.min(longestRetryMs, Number(digits));
}

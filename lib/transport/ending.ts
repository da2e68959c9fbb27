import type { ErrorCode } from "../errors.ts";
import { closeCode } from "./socket.ts";

/** Why a connection ended. */
export interface Ending {
  /** What went wrong, or null where one side just left. */
  code: ErrorCode | null;
  /** A sentence for people. */
  message: string;
  /** After how many milliseconds the orchestrator said to come again, 0 to 60,000; absent where it said nothing. */
  retryMs?: number;
  /** Whether trying again is of no use until somebody has done what the message says. Default false. */
  needsSomebody?: boolean;
}

/** How a socket is closed that ends with a code. */
export function closeCodeOf(code: ErrorCode): number {
  if (code === "RATE_LIMITED") return closeCode.tryAgainLater;
  return isPeersFault(code) ? closeCode.protocolError : closeCode.internalError;
}

/** Whether a code says that the peer broke the protocol or took too much, rather than that this side failed. */
export function isPeersFault(code: ErrorCode | null): boolean {
  return code === "PROTOCOL_ERROR" || code === "SIGNATURE_INVALID" || code === "RATE_LIMITED";
}

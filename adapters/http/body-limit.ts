/** Reads a body up to a limit, whether or not its length was announced. */
import { OrchestratorError } from "fleetwright";

/** Size limit of a request body where the options name none: 1 MiB. */
export const defaultBodyLimitBytes = 1 << 20;

/** The same for calls that need no session: what they take is short, and anybody can send it. */
export const strangerBodyLimitBytes = 16 * 1024;

/**
 * How much more than the limit is still read and dropped, as a multiple: a client that sends a little too much is still
 * listening to its own upload, and would see a reset connection instead of the answer if it were cut at once.
 */
const drainFactor = 4;

/**
 * Collects the pieces of a body. Beyond the limit nothing is kept.
 *
 * @throws {OrchestratorError} `PAYLOAD_TOO_LARGE` past the limit.
 */
export async function readLimited(body: AsyncIterable<Uint8Array>, limitBytes: number): Promise<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.byteLength;
    if (length <= limitBytes) pieces.push(piece);
    else pieces = [];
    if (length > limitBytes * drainFactor) break;
  }
  if (length > limitBytes) throw tooLarge(limitBytes);
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, length);
}

/** Whether an announced length is so far over the limit that not even a courtesy read is due. */
export function refusesAtOnce(contentLength: string | undefined, limitBytes: number): boolean {
  return contentLength !== undefined && Number(contentLength) > limitBytes * drainFactor;
}

/** The error for a body over the limit. */
export function tooLarge(limitBytes: number): OrchestratorError {
  return new OrchestratorError("PAYLOAD_TOO_LARGE", {
    message: `The request body is larger than ${limitBytes} bytes.`,
    details: { limit_bytes: limitBytes },
  });
}

/** The error for a body that a parser of the host took before: what it said is gone, and must not pass for nothing. */
export function readBefore(): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", {
    message:
      "The body was read before the request came here: the server around this surface must not parse it.",
  });
}

/** The error for a body that the host is still reading. */
export function readElsewhere(): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", {
    message: "Somebody else is reading the body: the server around this surface must not parse it.",
  });
}

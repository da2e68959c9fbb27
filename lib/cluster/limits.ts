/** Bounds of what goes between processes. */

/** Bytes of one frame of a pipe. */
export const maxFrameBytes = 65_536;

/** What may be on the way or unread in one direction of a pipe; see {@link costOf}. */
export const windowBytes = 1_048_576;

/** What a frame takes beside its bytes: many small ones must not take more memory than few large ones. */
const frameOverhead = 256;

/** What a frame takes of the window. */
export function costOf(bytes: Uint8Array): number {
  return bytes.length + frameOverhead;
}

/** Bytes of the body of a call or of an opening, and of an answer, as JSON. */
export const maxBodyBytes = 1_048_576;

/** Pipes that one process has open, served or opened. */
export const maxPipes = 1_000;

/** Calls that one process works on for others. */
export const maxCalls = 1_000;

/** How often each side of a pipe says that it is there, milliseconds. */
export const beatMs = 2_000;

/** How long a pipe may be silent, milliseconds; noticed with the next beat. */
export const silenceMs = 6_000;

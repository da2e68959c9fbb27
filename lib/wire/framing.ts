/**
 * What is inside a sealed frame: one byte of kind, then the payload.
 *
 * A message is one `message` frame, or `fragment`s closed by a `lastFragment`. Streams and pings may come between
 * fragments; another message may not. A stream frame is 16 bytes of stream id, then data.
 */
import { concatBytes, fromHex, toHex } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import { fragmentBytes, maxMessageBytes, maxStreamBytes } from "./limits.ts";

/** First byte of every sealed frame. */
export const frameKind = {
  handshake: 0,
  message: 1,
  stream: 2,
  fragment: 3,
  lastFragment: 4,
  ping: 5,
} as const;

/** A frame before it is sealed. */
export interface PlainFrame {
  kind: number;
  payload: Uint8Array;
}

/**
 * Cuts a message into frames.
 *
 * @throws {OrchestratorError} `PAYLOAD_TOO_LARGE` above {@link maxMessageBytes}.
 */
export function frameMessage(message: Uint8Array): PlainFrame[] {
  if (message.length > maxMessageBytes) {
    throw new OrchestratorError("PAYLOAD_TOO_LARGE", {
      message: "The message is larger than the agent protocol allows.",
      details: { size_bytes: message.length, limit_bytes: maxMessageBytes },
    });
  }
  if (message.length <= fragmentBytes) return [{ kind: frameKind.message, payload: message }];
  const frames: PlainFrame[] = [];
  for (let offset = 0; offset < message.length; offset += fragmentBytes) {
    const end = offset + fragmentBytes;
    const kind = end < message.length ? frameKind.fragment : frameKind.lastFragment;
    frames.push({ kind, payload: message.subarray(offset, end) });
  }
  return frames;
}

/**
 * Makes the frame of one piece of a stream.
 *
 * @param streamId - A UUID in its usual form.
 * @throws {OrchestratorError} `PAYLOAD_TOO_LARGE` above {@link maxStreamBytes}.
 */
export function frameStream(streamId: string, data: Uint8Array): PlainFrame {
  const id = fromHex(streamId.toLowerCase().replaceAll("-", ""));
  if (id?.length !== 16) throw new TypeError("The id of a stream is a UUID.");
  if (data.length > maxStreamBytes) {
    throw new OrchestratorError("PAYLOAD_TOO_LARGE", {
      message: "The piece of the stream does not fit into one frame.",
      details: { size_bytes: data.length, limit_bytes: maxStreamBytes },
    });
  }
  const payload = new Uint8Array(16 + data.length);
  payload.set(id);
  payload.set(data, 16);
  return { kind: frameKind.stream, payload };
}

/** Reads the payload of a stream frame; `data` is a view of it. */
export function readStream(payload: Uint8Array): { streamId: string; data: Uint8Array } {
  if (payload.length < 16) throw new OrchestratorError("PROTOCOL_ERROR", { message: "A stream has no id." });
  const hex = toHex(payload.subarray(0, 16));
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return { streamId: parts.join("-"), data: payload.subarray(16) };
}

/** Puts the pieces of a message together again, within {@link maxMessageBytes}. */
export interface Reassembly {
  /**
   * Takes a frame of kind message, fragment or lastFragment; returns the whole message when it is complete.
   *
   * @throws {OrchestratorError} `PROTOCOL_ERROR` for a piece out of place or a message too large.
   */
  take(frame: PlainFrame): Uint8Array | null;
}

/** Begins with nothing received. */
export function createReassembly(): Reassembly {
  let pieces: Uint8Array[] = [];
  let size = 0;
  return {
    take({ kind, payload }) {
      if (kind === frameKind.message) {
        if (size > 0)
          throw new OrchestratorError("PROTOCOL_ERROR", { message: "A message came inside another." });
        if (payload.length > fragmentBytes)
          throw new OrchestratorError("PROTOCOL_ERROR", {
            message: "A message came whole that must come in pieces.",
          });
        return payload;
      }
      // Only whole pieces, and a last one that carries something: else a peer could fill memory with empty ones.
      const fits = kind === frameKind.fragment ? payload.length === fragmentBytes : payload.length > 0;
      if (!fits || payload.length > fragmentBytes) {
        throw new OrchestratorError("PROTOCOL_ERROR", { message: "A fragment has a wrong size." });
      }
      size += payload.length;
      if (size > maxMessageBytes) {
        throw new OrchestratorError("PROTOCOL_ERROR", { message: "A message is larger than allowed." });
      }
      pieces.push(payload);
      if (kind === frameKind.fragment) return null;
      const whole = concatBytes(...pieces);
      pieces = [];
      size = 0;
      return whole;
    },
  };
}

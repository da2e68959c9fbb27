/**
 * What is inside a sealed frame: one byte of kind, then the payload.
 *
 * A message is one `message` frame, or `fragment`s closed by a `lastFragment`. Streams and pings may come between
 * fragments; another message may not. A stream frame is 16 bytes of stream id, then data.
 */
import { fromHex, toHex } from "../crypto/encoding.ts";
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
 * The parts of the payload of a frame for one piece of a stream.
 *
 * @param streamId - A UUID in its usual form.
 * @throws {OrchestratorError} `PAYLOAD_TOO_LARGE` above {@link maxStreamBytes}.
 */
export function streamParts(streamId: string, data: Uint8Array): [id: Uint8Array, data: Uint8Array] {
  const id = fromHex(streamId.toLowerCase().replaceAll("-", ""));
  if (id?.length !== 16) throw new TypeError("The id of a stream is a UUID.");
  if (data.length > maxStreamBytes) {
    throw new OrchestratorError("PAYLOAD_TOO_LARGE", {
      message: "The piece of the stream does not fit into one frame.",
      details: { size_bytes: data.length, limit_bytes: maxStreamBytes },
    });
  }
  return [id, data];
}

/** Reads the payload of a stream frame; `data` is a view of it. */
export function readStream(payload: Uint8Array): { streamId: string; data: Uint8Array } {
  if (payload.length < 16) throw new OrchestratorError("PROTOCOL_ERROR", { message: "A stream has no id." });
  const hex = toHex(payload.subarray(0, 16));
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return { streamId: parts.join("-"), data: payload.subarray(16) };
}

/** What is there of a message. */
export interface Reassembled {
  /** All of it so far; it stays as it is. */
  bytes: Uint8Array;
  isWhole: boolean;
}

/** Where nothing waits for the rest of its message. */
const nothing: Uint8Array = new Uint8Array();

/** Puts the pieces of a message together again, within {@link maxMessageBytes}. */
export class Reassembly {
  #room = nothing;
  #size = 0;

  /**
   * Takes a frame of kind message, fragment or lastFragment; returns what is there of its message.
   *
   * @throws {OrchestratorError} `PROTOCOL_ERROR` for a piece out of place or a message too large.
   */
  take({ kind, payload }: PlainFrame): Reassembled {
    if (kind === frameKind.message) {
      if (this.#size > 0)
        throw new OrchestratorError("PROTOCOL_ERROR", { message: "A message came inside another." });
      if (payload.length > fragmentBytes)
        throw new OrchestratorError("PROTOCOL_ERROR", {
          message: "A message came whole that must come in pieces.",
        });
      return { bytes: payload, isWhole: true };
    }
    // Only whole pieces, and a last one that carries something: else a peer could fill memory with empty ones.
    const fits = kind === frameKind.fragment ? payload.length === fragmentBytes : payload.length > 0;
    if (!fits || payload.length > fragmentBytes) {
      throw new OrchestratorError("PROTOCOL_ERROR", { message: "A fragment has a wrong size." });
    }
    if (this.#size + payload.length > maxMessageBytes) {
      throw new OrchestratorError("PROTOCOL_ERROR", { message: "A message is larger than allowed." });
    }
    this.#room = withRoom(this.#room, { size: this.#size, more: payload.length });
    this.#room.set(payload, this.#size);
    this.#size += payload.length;
    const bytes = this.#room.subarray(0, this.#size);
    if (kind === frameKind.fragment) return { bytes, isWhole: false };
    this.#room = nothing;
    this.#size = 0;
    return { bytes, isWhole: true };
  }
}

/** Twice as much where there is none left, so that each byte is moved once or twice. */
function withRoom(room: Uint8Array, { size, more }: { size: number; more: number }): Uint8Array {
  if (size + more <= room.length) return room;
  const larger = new Uint8Array(Math.max(size + more, Math.min(room.length * 2, maxMessageBytes)));
  larger.set(room.subarray(0, size));
  return larger;
}

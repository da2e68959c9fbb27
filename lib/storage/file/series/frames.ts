/**
 * The one form of what is appended to a series file:
 *
 *   "FWS1" | checksum of the next twelve bytes and the head | length of the head | length of the body | checksum of the body | head | body
 *
 * The marker lets a reader find the next frame behind a damaged one.
 */
import { crc32 } from "node:zlib";
import type { DiskFile } from "../disk.ts";

/** What every frame begins with. */
export const marker = Buffer.from("FWS1", "latin1");
/** Bytes of a frame before its head. */
export const fixedBytes = 20;
const checkedFrom = 8;
const blockBytes = 1_024 * 1_024;

/** A frame that was found. */
export interface Frame {
  /** Where it begins. */
  at: number;
  /** Bytes from there to the next one. */
  length: number;
  head: Uint8Array;
  body: Uint8Array;
}

/** Bytes that are no frame. */
export interface Damage {
  at: number;
  /** Whether a whole frame follows: what a crash leaves behind is at the end of a file. */
  isInside: boolean;
}

/** Writes a frame. */
export function encodeFrame(head: Uint8Array, body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(fixedBytes + head.length + body.length);
  marker.copy(frame);
  frame.writeUInt32LE(head.length, 8);
  frame.writeUInt32LE(body.length, 12);
  frame.writeUInt32LE(crc32(body), 16);
  frame.set(head, fixedBytes);
  frame.set(body, fixedBytes + head.length);
  frame.writeUInt32LE(crc32(frame.subarray(checkedFrom, fixedBytes + head.length)), 4);
  return frame;
}

/** Reads the frame at a place; null when there is no whole and undamaged one. */
export function decodeFrame(bytes: Buffer, at = 0): Frame | null {
  const length = frameLength(bytes, at);
  if (length === null || at + length > bytes.length) return null;
  const bodyAt = at + fixedBytes + bytes.readUInt32LE(at + 8);
  const body = bytes.subarray(bodyAt, at + length);
  if (crc32(body) !== bytes.readUInt32LE(at + 16)) return null;
  return { at, length, head: bytes.subarray(at + fixedBytes, bodyAt), body };
}

/** What the undamaged start of a frame says of its length; null where there is none. */
export function frameLength(bytes: Buffer, at: number): number | null {
  if (at + fixedBytes > bytes.length || bytes.compare(marker, 0, 4, at, at + 4) !== 0) return null;
  const headEnd = at + fixedBytes + bytes.readUInt32LE(at + 8);
  if (headEnd > bytes.length) return null;
  if (crc32(bytes.subarray(at + checkedFrom, headEnd)) !== bytes.readUInt32LE(at + 4)) return null;
  return headEnd - at + bytes.readUInt32LE(at + 12);
}

/** Reads all frames of a file, and tells of what is between and behind them. */
export async function* scanFrames(file: DiskFile): AsyncGenerator<Frame | Damage> {
  const size = await file.size();
  let block: Buffer = Buffer.alloc(0);
  let start = 0;
  let damagedAt: number | null = null;
  for (let at = 0; at < size;) {
    const wanted = Math.max(blockBytes, frameLength(block, at - start) ?? 0);
    let frame = decodeFrame(block, at - start);
    if (frame === null && start + block.length < size && at - start + wanted > block.length) {
      block = await file.read(at, wanted);
      start = at;
      // A frame may be longer than what was read for it.
      const length = frameLength(block, 0) ?? 0;
      if (length > block.length && at + length <= size) block = await file.read(at, length);
      frame = decodeFrame(block, 0);
    }
    if (frame !== null) {
      if (damagedAt !== null) yield { at: damagedAt, isInside: true };
      damagedAt = null;
      yield { ...frame, at };
      at += frame.length;
      continue;
    }
    damagedAt ??= at;
    const next = block.indexOf(marker, at - start + 1);
    // Without one, the last bytes may still be the beginning of a marker.
    at = next === -1 ? Math.max(at + 1, start + block.length - marker.length + 1) : start + next;
  }
  if (damagedAt !== null) yield { at: damagedAt, isInside: false };
}

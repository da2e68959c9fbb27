/**
 * The one form of what is appended to a file, in the journal and in log segments:
 *
 *   length of the text in bytes, 8 hex digits | space | CRC-32, 8 hex digits | space | sequence, 12 hex digits | space | text | line feed
 *
 * The text is JSON and holds no line feed, so a file of records can be read with the usual tools. The checksum covers the
 * sequence and the text. Zeros follow the last record of a preallocated file.
 */
import { crc32 } from "node:zlib";
import { decodeText } from "./decode-text.ts";

const headBytes = 31;
const sequenceAt = 18;
const lineFeed = 0x0a;
/** A UTF-16 unit takes at most three bytes of UTF-8: memory that is not used costs less than counting first. */
const maxUnitBytes = 3;
const headPattern = /^([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{12}) $/;

/** A record that was read. */
export interface StoredRecord {
  sequence: number;
  text: string;
  /** Where the next one begins. */
  end: number;
}

/** Writes a record as bytes. */
export function encodeRecord(sequence: number, text: string): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + text.length * maxUnitBytes + 1);
  const textBytes = bytes.write(text, headBytes, "utf8");
  bytes.write(`${hex(sequence, 12)} `, sequenceAt, "latin1");
  const checksum = crc32(bytes.subarray(sequenceAt, headBytes + textBytes));
  bytes.write(`${hex(textBytes, 8)} ${hex(checksum, 8)} `, 0, "latin1");
  bytes[headBytes + textBytes] = lineFeed;
  return bytes.subarray(0, headBytes + textBytes + 1);
}

/** Reads the record at a place; null when there is no whole and undamaged one. */
export function decodeRecord(bytes: Buffer, at: number): StoredRecord | null {
  const head = headPattern.exec(bytes.toString("latin1", at, at + headBytes));
  if (head === null) return null;
  const textEnd = at + headBytes + parseInt(head[1] as string, 16);
  if (bytes[textEnd] !== lineFeed) return null;
  if (crc32(bytes.subarray(at + sequenceAt, textEnd)) !== parseInt(head[2] as string, 16)) return null;
  return {
    sequence: parseInt(head[3] as string, 16),
    text: decodeText(bytes, at + headBytes, textEnd),
    end: textEnd + 1,
  };
}

/** Whether nothing but zeros follows a place. */
export function isBlankFrom(bytes: Buffer, at: number): boolean {
  const zeros = Buffer.alloc(Math.min(bytes.length - at, 65_536));
  for (let i = at; i < bytes.length; i += zeros.length) {
    const part = bytes.subarray(i, i + zeros.length);
    if (!part.equals(zeros.subarray(0, part.length))) return false;
  }
  return true;
}

/**
 * Whether a whole record follows the damaged one at a place. Only one record is ever written before it is synced, so what
 * a power loss tears is the last one: a record behind a damaged one means that the damage came otherwise.
 */
export function hasRecordBehind(bytes: Buffer, damagedAt: number): boolean {
  const claimed = parseInt(bytes.toString("latin1", damagedAt, damagedAt + 8), 16);
  if (claimed > 0 && decodeRecord(bytes, damagedAt + headBytes + claimed + 1) !== null) return true;
  for (let at = bytes.indexOf(lineFeed, damagedAt); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) {
    if (decodeRecord(bytes, at + 1) !== null) return true;
  }
  return false;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

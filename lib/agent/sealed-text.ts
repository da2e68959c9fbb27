/**
 * The one form of what the agent keeps: JSON in one line, whose last member is the CRC-32 of the text before it.
 *
 *   {"version":1, ... ,"crc32":"1a2b3c4d"}
 *
 * Texts of versions that wrote no checksum are read, too, and told apart: whoever reads one writes it again.
 */
import { crc32 } from "node:zlib";

const trailerPattern = /,"crc32":"([0-9a-f]{8})"\}$/;
const trailerLength = `,"crc32":"00000000"}`.length;

/** What a text holds. */
export interface Unsealed {
  value: unknown;
  /** Whether it had a checksum; without one nobody knows whether it is what was written. */
  isSealed: boolean;
}

/** Writes an object, which has a member at least, with its checksum. No line feed. */
export function seal(value: object): string {
  const text = JSON.stringify(value).slice(0, -1);
  return `${text},"crc32":"${checksumOf(text)}"}`;
}

/** Reads an object back; null where the text is damaged. A line feed at its end is no part of it. */
export function unseal(text: string): Unsealed | null {
  const line = text.endsWith("\n") ? text.slice(0, -1) : text;
  const stated = trailerPattern.exec(line.slice(-trailerLength))?.[1];
  const body = stated === undefined ? line : line.slice(0, -trailerLength);
  if (stated !== undefined && stated !== checksumOf(body)) return null;
  try {
    return { value: JSON.parse(stated === undefined ? body : `${body}}`), isSealed: stated !== undefined };
  } catch {
    // The error would quote the text, which may be secret.
    return null;
  }
}

/** The checksum of a text, 8 hex digits. */
export function checksumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}

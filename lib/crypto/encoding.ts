/** Text forms of bytes, without `Buffer`: these run in a browser too. */
import type { Crypto } from "./crypto.ts";

const hexDigits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const hexPattern = /^(?:[0-9a-f]{2})*$/;
/** Two texts must never mean the same bytes: a key or a signature has one form, without a bit beyond its last byte. */
const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;
const textEncoder = new TextEncoder();

/** Writes bytes as lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += hexDigits[byte];
  return text;
}

/** Reads lower-case hex; null where the text is anything else. The empty text is no bytes. */
export function fromHex(text: string): Uint8Array | null {
  if (!hexPattern.test(text)) return null;
  const bytes = new Uint8Array(text.length / 2);
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = Number.parseInt(text.slice(index * 2, index * 2 + 2), 16);
  }
  return bytes;
}

/** Writes bytes as base64 with padding (RFC 4648, section 4). */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Reads base64 with padding; null for spaces, the URL alphabet, missing padding, or bits set beyond the last byte. */
export function fromBase64(text: string): Uint8Array | null {
  if (!base64Pattern.test(text)) return null;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** Writes a text as UTF-8. */
export function toUtf8(text: string): Uint8Array {
  return textEncoder.encode(text);
}

/** Joins byte strings. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** The name of an agent: the first 32 hex digits of SHA-256 of its public key. Derived, never claimed. */
export function nodeIdOf(publicKey: Uint8Array, crypto: Pick<Crypto, "sha256">): string {
  return toHex(crypto.sha256(publicKey)).slice(0, 32);
}

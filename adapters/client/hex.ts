/** Keys and signatures as text. */

/** Writes bytes as lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Reads hex; what is none becomes no bytes. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> {
  if (!/^(?:[0-9a-f]{2})*$/.test(text)) return new Uint8Array();
  return Uint8Array.from(text.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

/** A public key, given as 64 hex digits or base64, as lower-case hex; null where it is none. */
export function toHexKey(text: string): string | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return null;
  return toHex(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
}

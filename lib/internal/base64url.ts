/** Base64 with the URL alphabet and no padding (RFC 4648, section 5). */
import { fromBase64, toBase64 } from "../crypto/encoding.ts";

export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Reads it back; null for anything that {@link toBase64Url} does not write. */
export function fromBase64Url(text: string): Uint8Array | null {
  if (/[^A-Za-z0-9_-]/.test(text)) return null;
  const padding = "=".repeat((4 - (text.length % 4)) % 4);
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/") + padding);
}

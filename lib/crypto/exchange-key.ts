/** Which X25519 public keys say nothing about who made them. */
import { fromHex } from "./encoding.ts";

/**
 * Every u-coordinate, little-endian and without its unused top bit, with which an exchange gives zero whatever the secret (RFC 7748,
 * section 6.1): 0, 1, the two points of order 8, and p - 1, p and p + 1, where p = 2^255 - 19.
 */
const lowOrder = [
  "00".repeat(32),
  `01${"00".repeat(31)}`,
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  `ec${"ff".repeat(30)}7f`,
  `ed${"ff".repeat(30)}7f`,
  `ee${"ff".repeat(30)}7f`,
].map((hex) => fromHex(hex) as Uint8Array);

/** Whether an exchange with a public key, 32 bytes, gives what anybody knows. Found without an exchange. */
export function isLowOrderExchangeKey(publicKey: Uint8Array): boolean {
  return lowOrder.some((point) =>
    point.every((byte, at) => byte === (at === 31 ? publicKey[at]! & 0x7f : publicKey[at])),
  );
}

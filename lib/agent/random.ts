import type { Crypto } from "../crypto/crypto.ts";

/** A number from 0 up to 1 that nobody can guess. */
export function randomOf(crypto: Crypto): number {
  const [a = 0, b = 0, c = 0] = crypto.randomBytes(3);
  return (a * 65_536 + b * 256 + c) / 16_777_216;
}

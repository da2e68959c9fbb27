/**
 * Which Ed25519 public keys may be trusted at all.
 *
 * OpenSSL and tweetnacl both verify under keys of small order, where one signature fits any message, and under keys that
 * are written in a second form, where one identity would have two names. Both are refused here, before a key is stored.
 */

const fieldPrime = 2n ** 255n - 19n;
const curveD = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
const signBit = 1n << 255n;

/** Every y of a point whose order divides 8. Second forms of them (y + p) are refused as not canonical. */
const smallOrderY: ReadonlySet<bigint> = new Set([
  0n, // order 4
  1n, // order 1: the identity
  fieldPrime - 1n, // order 2
  2707385501144840649318225287225658788936804267575313519463743609750303402022n, // order 8
  55188659117513257062467267217118295137698188065244968500265048394206261417927n, // order 8
]);

/** Whether 32 bytes are the one form (RFC 8032, 5.1.2) of a point of the curve whose order is not small. */
export function isAcceptableEd25519Key(publicKey: Uint8Array): boolean {
  if (publicKey.length !== 32) return false;
  const y = readLittleEndian(publicKey) & (signBit - 1n);
  if (y >= fieldPrime || smallOrderY.has(y)) return false;
  // x^2 = (y^2 - 1) / (d y^2 + 1) has a solution exactly when numerator times denominator is a square. It is zero only
  // for y = 1 and y = -1, which are refused above; so the sign bit always chooses between two different points.
  const ySquared = (y * y) % fieldPrime;
  const product = ((ySquared - 1n) * (curveD * ySquared + 1n)) % fieldPrime;
  return power(product, (fieldPrime - 1n) / 2n) === 1n;
}

function readLittleEndian(bytes: Uint8Array): bigint {
  let value = 0n;
  for (let index = bytes.length - 1; index >= 0; index -= 1)
    value = (value << 8n) | BigInt(bytes[index] ?? 0);
  return value;
}

/** Square and multiply; the key is public, so time may tell about it. */
function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = base;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = (result * square) % fieldPrime;
    square = (square * square) % fieldPrime;
  }
  return result;
}

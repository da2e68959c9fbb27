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
  return isSquare(product);
}

function readLittleEndian(bytes: Uint8Array): bigint {
  let value = 0n;
  for (let index = bytes.length - 1; index >= 0; index -= 1)
    value = (value << 8n) | BigInt(bytes[index] ?? 0);
  return value;
}

/**
 * Whether a number is a square in the field, and not zero: its Jacobi symbol is 1. An agent that comes for the first time since a start
 * costs this, and by powers it is the dearest part of its handshake. The key is public, so time may tell about it.
 */
function isSquare(value: bigint): boolean {
  let [above, below] = [value, fieldPrime];
  let isOne = true;
  while (above !== 0n) {
    const zeros = trailingZeros(above);
    above >>= BigInt(zeros);
    const [lowAbove, lowBelow] = [Number(above & 7n), Number(below & 7n)];
    // (2 / n) is -1 for n = 3 and 5 modulo 8; turning the symbol round changes it where both are 3 modulo 4.
    if (zeros % 2 === 1 && (lowBelow === 3 || lowBelow === 5)) isOne = !isOne;
    if (lowAbove % 4 === 3 && lowBelow % 4 === 3) isOne = !isOne;
    [above, below] = [below % above, above];
  }
  return below === 1n && isOne;
}

/** How many zeros a number that is not 0 ends with, in binary. */
function trailingZeros(value: bigint): number {
  for (let zeros = 0, rest = value; ; zeros += 32, rest >>= 32n) {
    const low = Number(BigInt.asUintN(32, rest));
    if (low !== 0) return zeros + 31 - Math.clz32(low & -low);
  }
}

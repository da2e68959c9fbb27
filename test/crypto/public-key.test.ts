import fc from "fast-check";
import nacl from "tweetnacl";
import { expect, test, vi } from "vitest";
import { fromHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { isAcceptableEd25519Key } from "../../lib/crypto/public-key.ts";

const point = (text: string): Uint8Array => fromHex(text) ?? new Uint8Array();

test.each([
  ["the identity", "0100000000000000000000000000000000000000000000000000000000000000"],
  ["the identity with its sign bit set", "0100000000000000000000000000000000000000000000000000000000000080"],
  ["order 2", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"],
  ["order 2 with its sign bit set", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"],
  ["order 4", "0000000000000000000000000000000000000000000000000000000000000000"],
  ["order 4, negative", "0000000000000000000000000000000000000000000000000000000000000080"],
  ["order 8", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"],
  ["order 8, negative", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"],
  ["order 8, the other", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"],
  ["order 8, the other, negative", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"],
  ["p, a second form of zero", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"],
  [
    "p + 1, a second form of the identity",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  ],
  ["p + 1 with its sign bit set", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"],
  ["the largest y", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"],
  ["y = 2, which is not on the curve", "0200000000000000000000000000000000000000000000000000000000000000"],
  ["31 bytes", "00000000000000000000000000000000000000000000000000000000000000"],
  ["nothing", ""],
])("refuses %s", (_, text) => {
  expect(isAcceptableEd25519Key(point(text))).toBe(false);
  expect(nodeCrypto.isAcceptablePublicKey(point(text))).toBe(false);
});

test("accepts the base point", () => {
  expect(isAcceptableEd25519Key(point(`58${"66".repeat(31)}`))).toBe(true);
});

test("a key of small order verifies nothing, although its trivial signature fits in tweetnacl", () => {
  const identity = point("0100000000000000000000000000000000000000000000000000000000000000");
  const signature = new Uint8Array(64);
  signature[0] = 1;
  const message = new Uint8Array([1, 2, 3]);
  expect(nacl.sign.detached.verify(message, signature, identity)).toBe(true);
  expect(nodeCrypto.verify(identity, message, signature)).toBe(false);
});

test.each([
  ["that is new is tested", false],
  ["that is known is not tested again", true],
])("a key %s when a signature of it is verified", (_, isKnownKey) => {
  const { publicKey, secretKey } = nodeCrypto.createSigningKeyPair();
  const message = new Uint8Array([1, 2, 3]);
  const signature = nodeCrypto.createSigner(secretKey).sign(message);
  using tests = vi.spyOn(BigInt, "asUintN");
  expect(nodeCrypto.verify(publicKey, message, signature, { isKnownKey })).toBe(true);
  expect(tests.mock.calls.length === 0).toBe(isKnownKey);
  expect(nodeCrypto.verify(publicKey, new Uint8Array([1]), signature, { isKnownKey })).toBe(false);
  expect(nodeCrypto.verify(publicKey.subarray(1), message, signature, { isKnownKey })).toBe(false);
});

test("accepts about half of all random encodings: the rest is not on the curve", () => {
  let accepted = 0;
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (encoding) => {
      if (isAcceptableEd25519Key(encoding)) accepted += 1;
    }),
    { numRuns: 400, seed: 1 },
  );
  expect(accepted).toBeGreaterThan(120);
  expect(accepted).toBeLessThan(280);
});

test("finds the same keys as Euler's criterion, which the curve is defined by", () => {
  const p = 2n ** 255n - 19n;
  const power = (base: bigint, exponent: bigint): bigint => {
    let result = 1n;
    for (let [square, rest] = [base, exponent]; rest > 0n; rest >>= 1n, square = (square * square) % p)
      if (rest % 2n === 1n) result = (result * square) % p;
    return result;
  };
  const d = ((p - 121665n) * power(121666n, p - 2n)) % p;
  const small = fc.nat({ max: 5_000 }).map((y) => BigInt(y) + 2n);
  const any = fc.bigInt({ min: 2n, max: p - 2n });
  const nearTheTop = small.map((y) => p - y);
  const zeros = fc
    .tuple(fc.nat({ max: 250 }), fc.nat({ max: 15 }))
    .map(([by, low]) => (BigInt(low) + 2n) << BigInt(by));
  fc.assert(
    fc.property(fc.oneof(any, small, nearTheTop, zeros), (value) => {
      const y = value % p;
      const isOnCurve = power(((y * y - 1n) * ((d * y * y + 1n) % p)) % p, (p - 1n) / 2n) === 1n;
      const encoding = Uint8Array.from({ length: 32 }, (_, at) => Number((y >> BigInt(8 * at)) & 255n));
      fc.pre(y > 1n && y < p - 1n);
      expect(isAcceptableEd25519Key(encoding)).toBe(isOnCurve);
    }),
    { numRuns: 400 },
  );
});

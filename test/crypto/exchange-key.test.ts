import { describe, expect, it } from "vitest";
import { nodeCrypto } from "fleetwright";
import { isLowOrderExchangeKey } from "../../lib/crypto/exchange-key.ts";

const prime = 2n ** 255n - 19n;
const ofOrderEight = [
  325606250916557431795983626356110631294008115727848805560023387167927233504n,
  39382357235489614581723060781553021112529911719440698176882885853963445705823n,
];

function toBytes(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * at)) & 0xffn));
}

describe("a key of low order", () => {
  const points = [0n, 1n, ...ofOrderEight, prime - 1n, prime, prime + 1n];

  it.each(points.flatMap((point) => [point, point + 2n ** 255n]))("is found: %i", (point) => {
    const { secretKey } = nodeCrypto.createExchangeKeyPair();
    const bytes = toBytes(point);
    expect(isLowOrderExchangeKey(bytes)).toBe(true);
    // What the list says is what the exchange says.
    expect(nodeCrypto.exchange(secretKey, bytes)).toBeNull();
  });

  it("is no other: its neighbours, and keys that were made", () => {
    const { secretKey } = nodeCrypto.createExchangeKeyPair();
    const neighbours = [2n, 3n, prime - 2n, prime + 2n, ...ofOrderEight.flatMap((u) => [u - 1n, u + 1n])];
    const made = Array.from({ length: 50 }, () => nodeCrypto.createExchangeKeyPair().publicKey);
    for (const bytes of [...neighbours.map(toBytes), ...made]) {
      expect(isLowOrderExchangeKey(bytes)).toBe(false);
      expect(nodeCrypto.exchange(secretKey, bytes)).not.toBeNull();
    }
  });
});

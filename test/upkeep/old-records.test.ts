/** Which records are looked at as old: by their ids, also where the time by which they are old has fractions of a millisecond. */
import { expect, it } from "vitest";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { createIds, leastIdAt } from "../../lib/ids.ts";

const start = 1_893_456_000_000;

it("no id of an instant is less than its least, whole or not, and each of the millisecond before is", () => {
  const idAt = (atMs: number): string =>
    createIds({ now: () => atMs, monotonic: () => 0, setTimer: () => ({ cancel() {} }) }, nodeCrypto).next();
  for (const fraction of [0, 0.2, 0.999]) {
    expect(idAt(start) >= leastIdAt(start + fraction)).toBe(true);
    expect(idAt(start - 1) < leastIdAt(start + fraction)).toBe(true);
  }
});

import { expect, test } from "vitest";
import { retryMsOf, toCloseReason } from "../../lib/wire/close-reason.ts";

test.each([
  [3_200, "RATE_LIMITED retry=3200"],
  [0.2, "RATE_LIMITED retry=1"],
  [-5, "RATE_LIMITED retry=0"],
  [1e12, "RATE_LIMITED retry=60000"],
])("a wait of %d ms is written as %s", (ms, reason) => {
  expect(toCloseReason("RATE_LIMITED", ms)).toBe(reason);
});

test.each([
  ["RATE_LIMITED retry=3200", 3_200],
  ["UNAVAILABLE retry=0", 0],
  ["RATE_LIMITED retry=315360000000", 60_000],
  ["RATE_LIMITED retry=-1", null],
  ["RATE_LIMITED retry=1e9", null],
  ["RATE_LIMITED retry=99999999999999999999", null],
  ["RATE_LIMITED retry=", null],
  ["RATE_LIMITED retry=1 retry=2", null],
  ["RATE_LIMITED retry=1.5", null],
  ["RATE_LIMITED\nretry=1", null],
  ["retry=1", null],
  ["RATE_LIMITED", null],
  ["", null],
])("%j says %s", (reason, ms) => {
  expect(retryMsOf(reason)).toBe(ms);
});

test("the longest reason fits into a close frame", () => {
  const longest = toCloseReason("ORCHESTRATOR_KEY_CHANGED", Infinity);
  expect(Buffer.byteLength(longest)).toBeLessThanOrEqual(123);
});

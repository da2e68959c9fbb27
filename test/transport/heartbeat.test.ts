import { expect, test } from "vitest";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { startHeartbeat } from "../../lib/transport/heartbeat.ts";

function start(isReading = true) {
  const clock = new FakeClock();
  const seen: string[] = [];
  const state = { isReading };
  const heartbeat = startHeartbeat({
    clock,
    ping: () => seen.push("ping"),
    silent: () => seen.push("silent"),
    isReading: () => state.isReading,
  });
  return { clock, seen, heartbeat, state };
}

test("pings every 15 s and notices 45 s of silence, once", async () => {
  const { clock, seen } = start();
  await clock.advance(44_999);
  expect(seen).toEqual(["ping", "ping"]);
  await clock.advance(600_000);
  expect(seen).toEqual(["ping", "ping", "silent"]);
  expect(clock.pendingTimers).toBe(0);
});

test("does not give up a peer that is heard", async () => {
  const { clock, seen, heartbeat } = start();
  for (let count = 0; count < 100; count += 1) {
    await clock.advance(15_000);
    heartbeat.heard();
  }
  expect(seen).toHaveLength(100);
  expect(seen).not.toContain("silent");
});

test("does not blame the peer for silence while this side does not read", async () => {
  const { clock, seen, state } = start(false);
  await clock.advance(300_000);
  expect(seen).not.toContain("silent");
  state.isReading = true;
  await clock.advance(45_000);
  expect(seen).toContain("silent");
});

test("does not mind a wall clock that jumps", async () => {
  const { clock, seen } = start();
  clock.jump(86_400_000);
  await clock.advance(15_000);
  clock.jump(-2 * 86_400_000);
  await clock.advance(15_000);
  expect(seen).toEqual(["ping", "ping"]);
});

test("is silent after it was stopped", async () => {
  const { clock, seen, heartbeat } = start();
  heartbeat.stop();
  await clock.advance(100_000);
  expect(seen).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

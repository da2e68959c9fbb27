import { expect, onTestFinished, test } from "vitest";
import type { Clock, Timer } from "../../lib/clock.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { Heartbeat } from "../../lib/transport/heartbeat.ts";
import { settle } from "../support/deferred.ts";

function start(isReading = true) {
  const clock = new FakeClock();
  const seen: string[] = [];
  const state = { isReading };
  const heartbeat = new Heartbeat(clock, {
    ping: () => seen.push("ping"),
    silent: () => seen.push("silent"),
    get isReading() {
      return state.isReading;
    },
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

test("begins to count silence anew after a time in which this side did not read", async () => {
  const { clock, seen, state } = start();
  await clock.advance(30_000);
  state.isReading = false;
  await clock.advance(15_000);
  state.isReading = true;
  await clock.advance(30_000);
  await settle();
  expect(seen).toEqual(Array(5).fill("ping"));
  await clock.advance(15_000);
  await expect.poll(() => seen).toContain("silent");
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

test.each([true, false])(
  "stopped while silence is judged, it does nothing more, the peer was heard by then: %s",
  async (isHeard) => {
    const { clock, seen, heartbeat } = start();
    await clock.advance(44_999);
    setImmediate(() => {
      if (isHeard) heartbeat.heard();
      heartbeat.stop();
    });
    clock.leap(1);
    await clock.advance(0);
    await settle();
    await clock.advance(60_000);
    expect([seen, clock.pendingTimers]).toEqual([["ping", "ping"], 0]);
  },
);

test("does not blame the peer for silence while this process got no time", async () => {
  const { clock, seen, heartbeat } = start();
  await clock.advance(30_000);
  // What was received while nothing ran is read after the timers that are late by then.
  const advanced = clock.advance(15_000);
  setImmediate(() => heartbeat.heard());
  await advanced;
  await settle();
  expect(seen).toEqual(["ping", "ping", "ping"]);
  await clock.advance(45_000);
  expect(seen).not.toContain("silent");
  await clock.advance(15_000);
  await expect.poll(() => seen).toContain("silent");
});

test("a process that stood still for an hour counts one beat for it", async () => {
  const clock = new StandingClock();
  const seen: string[] = [];
  const heartbeat = new Heartbeat(clock, {
    ping: () => seen.push("ping"),
    silent: () => seen.push("silent"),
    isReading: true,
  });
  onTestFinished(() => heartbeat.stop());
  await clock.standStill(3_600_000);
  expect(seen).toEqual(["ping"]);
  await clock.standStill(3_600_000);
  expect(seen).toEqual(["ping", "ping"]);
  await clock.standStill(3_600_000);
  await expect.poll(() => seen).toEqual(["ping", "ping", "silent"]);
});

/** A clock of a process that gets no time for a while: a timer that was due meanwhile comes once, late. */
class StandingClock implements Clock {
  #nowMs = 0;
  #timers: { atMs: number; callback: () => void }[] = [];

  now = (): number => this.#nowMs;
  monotonic = (): number => this.#nowMs;

  setTimer(ms: number, callback: () => void): Timer {
    const timer = { atMs: this.#nowMs + ms, callback };
    this.#timers.push(timer);
    return { cancel: () => void (this.#timers = this.#timers.filter((one) => one !== timer)) };
  }

  async standStill(ms: number): Promise<void> {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.#nowMs);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { callback } of due) callback();
    await settle();
  }
}

/** What waits beside a signal leaves nothing at it, however the wait ends: a signal of a process or of a channel outlives millions. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { ReplayQueue } from "../../lib/event-feed/replay-queue.ts";
import { Bell } from "../../lib/internal/bell.ts";
import { orAborted, TimeLimit } from "../../lib/notifications/outbound/time-limit.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";

type Wait = (signal: AbortSignal, clock: FakeClock) => Promise<unknown>;

const bell = new Bell();

/** A wait, and how it comes to its end without the signal. */
const waits: Record<string, Wait> = {
  "a bell that rings": async (signal) => {
    const rung = bell.next(signal);
    bell.ring();
    await rung;
  },
  "a bell that is waited for long enough": async (signal, clock) => {
    const over = bell.next(signal, { clock, ms: 10 });
    await clock.advance(10);
    await over;
  },
  "a bell that rings before it was waited for long enough": async (signal, clock) => {
    const rung = bell.next(signal, { clock, ms: 10 });
    bell.ring();
    await rung;
  },
  "a page that is read": (signal, clock) =>
    new ReplayQueue(clock).read({ signal, toldMs: 0 }, () => Promise.resolve([])),
  "a page that can't be read": (signal, clock) =>
    new ReplayQueue(clock).read({ signal, toldMs: 0 }, () => Promise.reject(new Error("EIO"))),
  "a limit that is not needed": async (within, clock) => {
    using _limit = new TimeLimit(clock, 10, { within, error: "late" });
    await clock.advance(9);
  },
  "a limit that is reached": async (within, clock) => {
    using limit = new TimeLimit(clock, 10, { within, error: "late" });
    await Promise.all([clock.advance(10), orAborted(new Promise(() => {}), limit.signal)]);
  },
  "a promise that is kept": (signal) => orAborted(Promise.resolve(), signal),
  "a promise that is broken": (signal) => orAborted(Promise.reject(new Error("broken")), signal),
};

test.each(Object.entries(waits))("%s leaves nothing at its signal, and no timer", async (_name, wait) => {
  const { signal } = new AbortController();
  const clock = new FakeClock();
  for (let n = 0; n < 3; n++) await wait(signal, clock).catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

test.each(Object.entries(waits))("%s leaves nothing at one that was aborted before", async (_name, wait) => {
  const signal = AbortSignal.abort(new Error("gone"));
  const clock = new FakeClock();
  await wait(signal, clock).catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

test.each([
  ["and no time is set", undefined],
  ["long before its time", 60_000],
])("a bell that never rings keeps nobody at a signal that was aborted before, %s", async (_name, ms) => {
  const clock = new FakeClock();
  const over = new Bell().next(AbortSignal.abort(), ms === undefined ? undefined : { clock, ms });
  const later = new Promise((resolve) => setImmediate(resolve, "still waits"));
  expect(await Promise.race([over, later])).toBeUndefined();
});

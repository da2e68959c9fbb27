import { expect, test } from "vitest";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { ReturnSlots } from "../../lib/transport/return-slots.ts";

const alone = { source: "192.0.2.1", share: 1, isFull: false };

/** Slots of a server that has ended so many handshakes, one every so many milliseconds, and has so many in progress. */
async function measured({ ends, everyMs, going }: { ends: number; everyMs: number; going: number }) {
  const clock = new FakeClock();
  const slots = new ReturnSlots(clock, 4);
  for (let count = 0; count < ends + going; count += 1) slots.began();
  for (let count = 0; count < ends; count += 1) {
    await clock.advance(everyMs);
    slots.ended();
  }
  return { clock, slots };
}

test("slots are as far apart as handshakes end, behind those in progress", async () => {
  const { slots } = await measured({ ends: 4_000, everyMs: 5, going: 10 });
  const given = Array.from({ length: 100 }, () => slots.reserve(alone));
  expect(given[0]).toBeGreaterThan(50);
  expect(given[0]).toBeLessThan(60);
  for (let at = 1; at < given.length; at += 1) {
    expect(given[at]! - given[at - 1]!).toBeGreaterThan(4.5);
    expect(given[at]! - given[at - 1]!).toBeLessThan(5.5);
  }
});

test("a time in which nobody came counts for nothing", async () => {
  const { clock, slots } = await measured({ ends: 4_000, everyMs: 5, going: 0 });
  await clock.advance(3_600_000);
  expect(slots.reserve(alone)).toBeLessThan(6);
});

test("handshakes that do not end make later ones wait longer", async () => {
  const { clock, slots } = await measured({ ends: 4_000, everyMs: 5, going: 64 });
  const before = slots.reserve(alone);
  await clock.advance(20_000);
  expect(slots.reserve(alone)).toBeGreaterThan(before * 3);
});

test("a server that became faster is believed after some hundreds of handshakes", async () => {
  const { clock, slots } = await measured({ ends: 4_000, everyMs: 50, going: 0 });
  for (let count = 0; count < 5_000; count += 1) {
    slots.began();
    await clock.advance(1);
    slots.ended();
  }
  expect(slots.reserve(alone)).toBeLessThan(5);
});

test("nobody is told to wait longer than a minute", async () => {
  const { slots } = await measured({ ends: 1_000, everyMs: 50, going: 0 });
  const given = Array.from({ length: 5_000 }, () => slots.reserve(alone));
  expect(Math.max(...given)).toBe(60_000);
});

test("slots that are past are no debt", async () => {
  const { clock, slots } = await measured({ ends: 1_000, everyMs: 5, going: 0 });
  for (let count = 0; count < 1_000; count += 1) slots.reserve(alone);
  expect(slots.reserve(alone)).toBeGreaterThan(4_000);
  await clock.advance(6_000);
  expect(slots.reserve(alone)).toBeLessThan(10);
});

test("a source that is at its limit waits in a line of its own, at its share of the speed", async () => {
  const { slots } = await measured({ ends: 4_000, everyMs: 5, going: 0 });
  const crowd = { source: "192.0.2.1", share: 0.25, isFull: false };
  const first = slots.reserve(crowd);
  expect(slots.reserve(crowd) - first).toBeGreaterThan(18);
  expect(slots.reserve({ ...alone, source: "192.0.2.2" })).toBeLessThan(10);
  expect(slots.reserve({ source: "192.0.2.3", share: 1, isFull: true })).toBeLessThan(10);
});

test("where there is no room for anybody, those of many sources are given one slot after the other", async () => {
  const { slots } = await measured({ ends: 4_000, everyMs: 5, going: 0 });
  const given = Array.from({ length: 50 }, (_, n) =>
    slots.reserve({ source: `192.0.2.${n}`, share: 1, isFull: true }),
  );
  expect(given.at(-1)! - given[0]!).toBeGreaterThan(220);
});

test("a source that dials without end holds up the others by no more than it may hold slots", async () => {
  const { slots } = await measured({ ends: 4_000, everyMs: 5, going: 0 });
  for (let count = 0; count < 10_000; count += 1) slots.reserve({ ...alone, isFull: true });
  expect(slots.reserve({ source: "192.0.2.2", share: 1, isFull: true })).toBeLessThan(40);
});

test("sources that are through are forgotten", async () => {
  const { clock, slots } = await measured({ ends: 4_000, everyMs: 1, going: 0 });
  for (let count = 0; count < 20_000; count += 1) {
    slots.reserve({ source: `2001:db8::${count}`, share: 1, isFull: false });
    await clock.advance(10);
  }
  expect(slots.size).toBeLessThanOrEqual(1_001);
});

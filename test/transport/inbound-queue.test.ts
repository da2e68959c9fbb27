import { expect, test } from "vitest";
import { InboundQueue } from "../../lib/transport/inbound-queue.ts";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import { codeOf } from "../wire/support/peers.ts";

const mebibyte = 1024 * 1024;
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A queue whose handler waits until it is let go on. */
function held() {
  const [socket, peer] = createSocketPair();
  const handled: number[] = [];
  const failures: unknown[] = [];
  let release: (error?: Error) => void = () => {};
  const queue = new InboundQueue<number>(socket, {
    handle: (item) =>
      new Promise((resolve, reject) => {
        handled.push(item);
        release = (error) => (error ? reject(error) : resolve());
      }),
    failed: (error) => failures.push(error),
  });
  const goOn = async (error?: Error): Promise<void> => {
    release(error);
    await settle();
  };
  return { queue, handled, failures, goOn, peer };
}

test("hands nothing over before it is opened, then one at a time and in order", async () => {
  const { queue, handled, goOn } = held();
  for (const item of [1, 2, 3]) queue.push(item, 10);
  await settle();
  expect(handled).toEqual([]);
  queue.open();
  queue.open();
  await settle();
  expect(handled).toEqual([1]);
  await goOn();
  expect(handled).toEqual([1, 2]);
  await goOn();
  await goOn();
  queue.push(4, 10);
  await settle();
  expect(handled).toEqual([1, 2, 3, 4]);
});

test("asks the peer to wait above 1 MiB and to go on below half of it", async () => {
  const { queue, goOn } = held();
  queue.open();
  queue.push(0, 0);
  for (const item of [1, 2, 3]) queue.push(item, 0.4 * mebibyte);
  expect(queue.isPaused).toBe(true);
  await goOn();
  await goOn();
  expect(queue.isPaused).toBe(true);
  await goOn();
  await goOn();
  expect(queue.isPaused).toBe(false);
});

test("takes just as much as it may before it asks the peer to wait, goes on, or cuts it off", async () => {
  // What an object costs beside its text.
  const beside = 256;
  const { queue, goOn } = held();
  queue.open();
  queue.push(0, mebibyte / 2 - beside);
  queue.push(1, mebibyte / 2 - beside);
  expect(queue.isPaused).toBe(false);
  queue.push(2, 0);
  expect(queue.isPaused).toBe(true);
  await goOn();
  expect(queue.isPaused).toBe(true);
  await goOn();
  expect(queue.isPaused).toBe(false);

  const full = held().queue;
  for (let item = 0; item < 32; item += 1) full.push(item, mebibyte - beside);
  expect(codeOf(() => full.push(32, 0))).toBe("PROTOCOL_ERROR");
});

test("goes on below half of what it asked the peer to wait for, not at it", async () => {
  const { queue, goOn } = held();
  queue.open();
  queue.push(0, mebibyte);
  queue.push(1, mebibyte / 2 - 256);
  await goOn();
  expect(queue.isPaused).toBe(true);
  await goOn();
  expect(queue.isPaused).toBe(false);
});

test("cuts off a peer that sends on although it was asked to wait", () => {
  const { queue } = held();
  for (let item = 0; item < 31; item += 1) queue.push(item, mebibyte);
  const told = { code: "PROTOCOL_ERROR", message: "The peer sends faster than it is heard." };
  expect(() => queue.push(31, mebibyte)).toThrow(expect.objectContaining(told));
});

test("counts empty items too: a flood of them has an end", () => {
  const { queue } = held();
  expect(
    codeOf(() => {
      for (let item = 0; item < 200_000; item += 1) queue.push(item, 0);
    }),
  ).toBe("PROTOCOL_ERROR");
});

test("reports a handler that rejects once, and hands nothing over after it", async () => {
  const { queue, handled, failures, goOn } = held();
  queue.open();
  for (const item of [1, 2]) queue.push(item, 10);
  const failure = new Error("no");
  await goOn(failure);
  queue.push(3, 10);
  await settle();
  expect(failures).toEqual([failure]);
  expect(handled).toEqual([1]);
});

test("ended, it hands nothing over, and settles when the handler in progress is done", async () => {
  const { queue, handled, failures, goOn } = held();
  queue.open();
  for (const item of [1, 2]) queue.push(item, 10);
  queue.end();
  let isSettled = false;
  const settled = queue.settled().then(() => (isSettled = true));
  await settle();
  expect(isSettled).toBe(false);
  await goOn(new Error("late"));
  await settled;
  expect(handled).toEqual([1]);
  expect(failures).toEqual([]);
});

test("hands over what comes as it runs empty, at whatever moment that is", async () => {
  for (let turns = 0; turns < 12; turns += 1) {
    const [socket] = createSocketPair();
    const handled: number[] = [];
    const queue = new InboundQueue<number>(socket, {
      handle: (item) => Promise.resolve(void handled.push(item)),
      failed: () => {},
    });
    queue.open();
    queue.push(1, 10);
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    queue.push(2, 10);
    await settle();
    expect(handled, `${turns} turns after the first`).toEqual([1, 2]);
  }
});

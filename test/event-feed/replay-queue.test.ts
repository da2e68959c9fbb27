/** Readers that are far behind take turns, and hold up nobody. */
import { describe, expect, it } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { ReplayQueue } from "../../lib/event-feed/replay-queue.ts";
import { deferred, settle, settleAll } from "../support/deferred.ts";

const never = new AbortController().signal;

describe("the queue of replays", () => {
  it("reads one page at a time, and who comes again waits behind all others", async () => {
    const queue = new ReplayQueue(new FakeClock());
    const order: string[] = [];
    let reading = 0;
    const replay = async (name: string): Promise<void> => {
      for (let page = 1; page <= 3; page += 1)
        await queue.read({ signal: never, toldMs: 0 }, async () => {
          reading += 1;
          expect(reading).toBe(1);
          await settle();
          order.push(`${name}${page}`);
          reading -= 1;
        });
    };
    await Promise.all([replay("a"), replay("b"), replay("c")]);
    expect(order.join(" ")).toBe("a1 b1 c1 a2 b2 c2 a3 b3 c3");
  });

  it("rests three times as long as a page took and as it took to tell the one before, and leaves no timer", async () => {
    const clock = new FakeClock();
    const queue = new ReplayQueue(clock);
    const page = async (): Promise<number> => {
      clock.leap(10);
      return clock.monotonic();
    };
    expect(await queue.read({ signal: never, toldMs: 0 }, page)).toBe(10);
    expect(clock.pendingTimers).toBe(0);
    const second = queue.read({ signal: never, toldMs: 5 }, page);
    await clock.advance(44);
    expect(clock.monotonic()).toBe(54);
    await clock.advance(1);
    expect(await second).toBe(65);
    // One that is slow counts no more than four pages.
    const third = queue.read({ signal: never, toldMs: 60_000 }, page);
    await clock.advance(214 - clock.monotonic());
    expect(clock.monotonic()).toBe(214);
    await clock.advance(1);
    expect(await third).toBe(225);
    expect(clock.pendingTimers).toBe(0);
  });

  it("forgets a reader that left, and goes on where reading failed", async () => {
    const clock = new FakeClock();
    const queue = new ReplayQueue(clock);
    const held = deferred();
    const first = queue.read({ signal: never, toldMs: 0 }, async () => {
      await held.promise;
      clock.leap(10);
      throw new Error("for the test");
    });
    const leaves = new AbortController();
    const second = queue.read({ signal: leaves.signal, toldMs: 0 }, () =>
      Promise.reject(new Error("not read")),
    );
    const third = queue.read({ signal: never, toldMs: 0 }, async () => "read");
    leaves.abort();
    expect(await second).toBeNull();
    held.resolve();
    await expect(first).rejects.toThrow("for the test");
    await clock.advance(30);
    expect(await third).toBe("read");
    const late = new AbortController();
    const fourth = queue.read({ signal: never, toldMs: 0 }, async () => clock.leap(10));
    await fourth;
    const fifth = queue.read({ signal: late.signal, toldMs: 0 }, async () => "read");
    expect(clock.pendingTimers).toBe(1);
    late.abort();
    expect(await fifth).toBeNull();
    expect(clock.pendingTimers).toBe(0);
    expect(await queue.read({ signal: late.signal, toldMs: 0 }, async () => "read")).toBeNull();
  });
});

async function scene() {
  const clock = new FakeClock();
  const storage = new MemoryStorage({ clock });
  const test = await createTestOrchestrator({ clock, storage });
  const opened = test.orchestrator.events.stream(systemCaller);
  const start = (await opened.next()).value!.id;
  await opened.return();
  for (let n = 0; n < 4_600; n += 1)
    await test.orchestrator.audit.setRetention(systemCaller, { retention_days: 1 + (n % 1_000) });
  return { test, storage, start };
}

/** Reads from an item on until the end. */
async function replay(test: TestOrchestrator, lastEventId: string): Promise<string[]> {
  const read: string[] = [];
  for await (const { item } of test.orchestrator.events.stream(systemCaller, { lastEventId })) {
    if (item.type === "event") read.push(item.event.id);
    if (read.at(-1) === test.events.at(-1)?.id) break;
  }
  return read;
}

describe("streams that go on from far behind", () => {
  it("are read page by page in turns, and each is told all of it", async () => {
    const { test, storage, start } = await scene();
    await using _ = test;
    const all = test.events.map(({ id }) => id);
    const pages: number[] = [];
    let reading = 0;
    let most = 0;
    const readLog = storage.readLog.bind(storage);
    storage.readLog = async (log, query = {}) => {
      if (query.limit === 1) return readLog(log, query);
      pages.push(query.from ?? 0);
      most = Math.max(most, (reading += 1));
      await settle();
      reading -= 1;
      return readLog(log, query);
    };
    const read = await Promise.all([1, 2, 3, 4].map(() => replay(test, start)));
    for (const one of read) expect(one).toEqual(all);
    expect(most).toBe(1);
    // Nobody is a page ahead of the others.
    expect(pages.length).toBeGreaterThan(4);
    expect(pages).toEqual(pages.toSorted((a, b) => a - b));
  });

  it("hold up nobody who is up to date", async () => {
    const { test, storage, start } = await scene();
    await using _ = test;
    const held = deferred();
    const readLog = storage.readLog.bind(storage);
    storage.readLog = async (log, query = {}) => {
      if (query.limit !== 1) await held.promise;
      return readLog(log, query);
    };
    const behind = [replay(test, start), replay(test, start)];
    await settleAll();
    const near = test.orchestrator.events.stream(systemCaller);
    await near.next();
    await test.orchestrator.audit.setRetention(systemCaller, { retention_days: 7 });
    expect((await near.next()).value?.item).toEqual({ type: "event", event: test.events.at(-1) });
    await near.return();
    held.resolve();
    for (const one of await Promise.all(behind)) expect(one).toEqual(test.events.map(({ id }) => id));
  });
});

/** Work that one process does for all: never two at a time, and never nobody for long. */
import { expect, it } from "vitest";
import { MemoryStorage, MemoryTransport, type Storage } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import type { Clock } from "../../lib/clock.ts";
import { Context } from "../../lib/context.ts";
import { resolveOptions } from "../../lib/options.ts";
import type { Lease } from "../../lib/storage/storage.ts";
import { SoleDuty } from "../../lib/upkeep/sole-duty.ts";
import { deferred, settle } from "../support/deferred.ts";
import { seededRandom } from "../support/random.ts";
import { SideClock } from "../support/side-clock.ts";

/** For how long a process that says nothing keeps the duty, and how often the others look. */
const ttlMs = 15_000;
const beatMs = 5_000;

/** The storage as a process reaches it: its answers about leases come late, or never. */
interface Line {
  lateMs: () => number;
}

/** A storage that processes share, each by its own line. */
async function openStorage(clock: FakeClock) {
  const storage = new MemoryStorage({ clock });
  await storage.open({ version: 1, collections: {}, logs: {} });
  const late = async <T>(answer: Promise<T>, { lateMs }: Line): Promise<T> => {
    const known = await answer;
    const ms = lateMs();
    if (ms > 0) await new Promise<void>((resolve) => void clock.setTimer(ms, resolve));
    return known;
  };
  const over = (line: Line): Storage =>
    new Proxy<Storage>(storage, {
      get(target, name) {
        if (name !== "lease") return Reflect.get(target, name, target) as unknown;
        return async (key: string, ms: number): Promise<Lease | null> => {
          const lease = await late(target.lease(key, ms), line);
          return lease && { renew: () => late(lease.renew(), line), release: () => lease.release() };
        };
      },
    });
  return { storage, over };
}

/** A process that may do the work. */
function createProcess(storage: Storage, clock: Clock, given: { isNeeded?: () => boolean } = {}) {
  const began: number[] = [];
  const context = new Context(resolveOptions({ storage, clock, transport: new MemoryTransport() }));
  const duty = new SoleDuty(context, "rounds", {
    began: () => began.push(clock.monotonic()),
    isNeeded: given.isNeeded ?? (() => true),
  });
  return { duty, began };
}

const inTime: Line = { lateMs: () => 0 };

async function pass(clock: FakeClock, ms: number, each = (): void => {}): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    await clock.advance(500);
    await settle();
    each();
  }
}

it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "is never that of two processes, however late each hears of its lease, seed %i",
  async (seed) => {
    const random = seededRandom(seed);
    const clock = new FakeClock();
    const { storage, over } = await openStorage(clock);
    const upTo = [0, 200, 9_000, 14_900, 40_000];
    const line: Line = { lateMs: () => random() * upTo[Math.floor(random() * upTo.length)]! };
    const processes = [1, 2, 3].map(() => createProcess(over(line), clock));
    for (const { duty } of processes) void duty.start();
    await pass(clock, 600_000, () => {
      expect(processes.filter(({ duty }) => duty.isMine).length).toBeLessThanOrEqual(1);
    });
    expect(processes.flatMap(({ began }) => began).length).toBeGreaterThan(1);
    line.lateMs = () => 0;
    await clock.advance(60_000);
    await Promise.all(processes.map(({ duty }) => duty.stop()));
    await storage.close();
  },
);

it("stays with the process that has it", async () => {
  const clock = new FakeClock();
  const { storage, over } = await openStorage(clock);
  const [first, second] = [createProcess(over(inTime), clock), createProcess(over(inTime), clock)];
  await first.duty.start();
  await second.duty.start();
  await pass(clock, 10 * ttlMs, () => {
    expect([first.duty.isMine, second.duty.isMine]).toEqual([true, false]);
  });
  expect([first.began, second.began]).toEqual([[0], []]);
  await Promise.all([first.duty.stop(), second.duty.stop()]);
  await storage.close();
});

it("is taken over from a process that is gone, in no more than twenty seconds, and not before its time is over", async () => {
  const clock = new FakeClock();
  const { storage, over } = await openStorage(clock);
  let isGone = false;
  const dying: Line = { lateMs: () => (isGone ? Infinity : 0) };
  const [first, second] = [createProcess(over(dying), clock), createProcess(over(inTime), clock)];
  await first.duty.start();
  await pass(clock, 1_000);
  await second.duty.start();
  isGone = true;
  await pass(clock, ttlMs + beatMs);
  // It asked for the last time after five seconds, which counted: nobody knows that nobody hears the answer.
  expect(second.began[0]).toBeGreaterThanOrEqual(beatMs + ttlMs);
  expect(second.began[0]).toBeLessThanOrEqual(beatMs + ttlMs + beatMs);
  expect([first.duty.isMine, second.duty.isMine]).toEqual([false, true]);
  await second.duty.stop();
  await storage.close();
});

it("is free at once for the others when a process ends, and when it has nothing to do", async () => {
  const clock = new FakeClock();
  const { storage, over } = await openStorage(clock);
  let isNeeded = true;
  const first = createProcess(over(inTime), clock, { isNeeded: () => isNeeded });
  const second = createProcess(over(inTime), clock);
  await first.duty.start();
  await first.duty.stop();
  expect(first.duty.isMine).toBe(false);
  await second.duty.start();
  expect(second.duty.isMine).toBe(true);
  await second.duty.stop();

  const third = createProcess(over(inTime), clock, { isNeeded: () => isNeeded });
  await third.duty.start();
  isNeeded = false;
  await pass(clock, beatMs);
  expect(third.duty.isMine).toBe(false);
  const free = await storage.lease("rounds", 1);
  expect(free).not.toBeNull();
  await free?.release();
  isNeeded = true;
  await third.duty.look();
  expect(third.duty.isMine).toBe(true);
  await third.duty.stop();
  await storage.close();
});

it("is nobody's while it is given up, and of no other process before it is given up", async () => {
  const clock = new FakeClock();
  const { storage, over } = await openStorage(clock);
  const releasing: boolean[] = [];
  const watched = new Proxy<Storage>(over(inTime), {
    get(target, name) {
      if (name !== "lease") return Reflect.get(target, name, target) as unknown;
      return async (key: string, ms: number): Promise<Lease | null> => {
        const lease = await target.lease(key, ms);
        const release = async (): Promise<void> => {
          releasing.push(first.duty.isMine);
          await lease?.release();
        };
        return lease && { renew: () => lease.renew(), release };
      };
    },
  });
  const first = createProcess(watched, clock);
  await first.duty.start();
  expect(first.duty.isMine).toBe(true);
  await first.duty.stop();
  expect(releasing).toEqual([false]);
  await storage.close();
});

it("is taken again at once where something comes to do in the moment in which it is given up", async () => {
  const clock = new FakeClock();
  const { storage, over } = await openStorage(clock);
  let isNeeded = true;
  let came = (): void => {};
  const slow = new Proxy<Storage>(over(inTime), {
    get(target, name) {
      if (name !== "lease") return Reflect.get(target, name, target) as unknown;
      return async (key: string, ms: number): Promise<Lease | null> => {
        const lease = await target.lease(key, ms);
        const release = async (): Promise<void> => {
          came();
          await lease?.release();
        };
        return lease && { renew: () => lease.renew(), release };
      };
    },
  });
  const { duty, began } = createProcess(slow, clock, { isNeeded: () => isNeeded });
  await duty.start();
  isNeeded = false;
  came = () => {
    isNeeded = true;
    void duty.look();
  };
  await pass(clock, beatMs);
  expect([duty.isMine, began]).toEqual([true, [0, beatMs]]);
  came = () => {};
  await duty.stop();
  await storage.close();
});

it("is free for the others once the stop of a process that was about to get it has resolved", async () => {
  const clock = new FakeClock();
  const { storage, over } = await openStorage(clock);
  const { duty } = createProcess(over({ lateMs: () => 1_000 }), clock);
  void duty.start();
  const stopped = duty.stop();
  await pass(clock, 2_000);
  await stopped;
  expect(duty.isMine).toBe(false);
  const free = await storage.lease("rounds", 1);
  expect(free).not.toBeNull();
  await free?.release();
  expect(clock.pendingTimers).toBe(0);
  await storage.close();
});

it("begins anew where it was not certain for a while, though nobody else had it", async () => {
  const clock = new FakeClock();
  const { storage, over } = await openStorage(clock);
  let lateMs = 0;
  const { duty, began } = createProcess(over({ lateMs: () => lateMs }), clock);
  await duty.start();
  // What was asked for after five seconds is answered when the lease of the start is over, and before its own is.
  lateMs = 12_000;
  const seen: boolean[] = [];
  await pass(clock, 20_000, () => seen.push(duty.isMine));
  expect(seen.filter((isMine) => !isMine).length).toBeGreaterThan(0);
  expect(began).toEqual([0, 17_000]);
  lateMs = 0;
  const stopped = duty.stop();
  await pass(clock, 15_000);
  await stopped;
  await storage.close();
});

it("is looked for once, however many ask at once after the process was held up, and no more often from then on", async () => {
  const base = new FakeClock();
  const clock = new SideClock(base);
  const storage = new MemoryStorage({ clock });
  await storage.open({ version: 1, collections: {}, logs: {} });
  let asked = 0;
  const counted = new Proxy<Storage>(storage, {
    get(target, name) {
      if (name !== "lease") return Reflect.get(target, name, target) as unknown;
      return async (key: string, ms: number): Promise<Lease | null> => {
        asked += 1;
        const lease = await target.lease(key, ms);
        const renew = (): Promise<boolean> => ((asked += 1), lease!.renew());
        return lease && { renew, release: () => lease.release() };
      };
    },
  });
  const { duty } = createProcess(counted, clock);
  await duty.start();
  clock.aheadMs += ttlMs + 1;
  const answers = await Promise.all([duty.confirm(), duty.confirm(), duty.confirm()]);
  expect(answers).toEqual([true, true, true]);
  asked = 0;
  await pass(base, 12 * beatMs);
  expect([duty.isMine, asked]).toEqual([true, 12]);
  await duty.stop();
  await storage.close();
});

it("is not taken any more by a process that has stopped, though something comes to do while it is given up", async () => {
  const clock = new FakeClock();
  const { storage, over } = await openStorage(clock);
  let isNeeded = true;
  const released = deferred();
  const slow = new Proxy<Storage>(over(inTime), {
    get(target, name) {
      if (name !== "lease") return Reflect.get(target, name, target) as unknown;
      return async (key: string, ms: number): Promise<Lease | null> => {
        const lease = await target.lease(key, ms);
        const release = async (): Promise<void> => {
          await lease?.release();
          await released.promise;
        };
        return lease && { renew: () => lease.renew(), release };
      };
    },
  });
  const { duty, began } = createProcess(slow, clock, { isNeeded: () => isNeeded });
  await duty.start();
  isNeeded = false;
  await pass(clock, beatMs);
  const stopped = duty.stop();
  isNeeded = true;
  released.resolve();
  await stopped;
  const asked = [await duty.confirm(), await duty.look()];
  await pass(clock, 2 * beatMs);
  expect([duty.isMine, began, asked[0], clock.pendingTimers]).toEqual([false, [0], false, 0]);
  const free = await storage.lease("rounds", 1);
  expect(free).not.toBeNull();
  await free?.release();
  await storage.close();
});

it("is not asked for where somebody wants to be certain of it while there is nothing to do, or after the stop", async () => {
  const clock = new FakeClock();
  const { storage, over } = await openStorage(clock);
  const { duty } = createProcess(over(inTime), clock, { isNeeded: () => true });
  await duty.start();
  await duty.stop();
  expect(await duty.confirm()).toBe(false);
  const idle = createProcess(over(inTime), clock, { isNeeded: () => false });
  await idle.duty.start();
  expect(await idle.duty.confirm()).toBe(false);
  const free = await storage.lease("rounds", 1);
  expect(free).not.toBeNull();
  await free?.release();
  expect(clock.pendingTimers).toBe(0);
  await storage.close();
});

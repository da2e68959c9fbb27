/** Work that no caller waits for: when it is tried again, and that nothing is left of it. */
import { expect, it } from "vitest";
import { OrchestratorError, silentLogger } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { BackgroundWork } from "../../lib/upkeep/background-work.ts";
import { keepRounds } from "../../lib/upkeep/rounds.ts";
import { deferred, settle } from "../support/deferred.ts";

const secondMs = 1_000;

it("is tried again after a second, then after twice as long each time up to a minute, and each work from a second on", async () => {
  const clock = new FakeClock();
  const work = new BackgroundWork({ clock, logger: silentLogger });
  const tried: number[] = [];
  let failures = 9;
  const failing = async (): Promise<void> => {
    tried.push(clock.monotonic() / secondMs);
    if (failures-- > 0) throw new OrchestratorError("UNAVAILABLE");
  };
  work.do(failing);
  await settle();
  await clock.advance(600 * secondMs);
  expect(tried).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
  expect(clock.pendingTimers).toBe(0);
  failures = 1;
  work.do(failing);
  await settle();
  await clock.advance(600 * secondMs);
  expect(tried.slice(10)).toEqual([600, 601]);
  await work.stop();
});

it("is tried again where a storage of the embedder's fails in its own way, thrown at once or later", async () => {
  const clock = new FakeClock();
  const work = new BackgroundWork({ clock, logger: silentLogger });
  for (const failure of [new Error("connection lost"), new OrchestratorError("STORAGE_FAILED"), undefined])
    for (const fail of [() => Promise.reject(failure), throwing(failure)]) {
      let tried = 0;
      work.do(() => (++tried === 1 ? fail() : Promise.resolve()));
      await settle();
      await clock.advance(600 * secondMs);
      expect([tried, clock.pendingTimers]).toEqual([2, 0]);
    }
  await work.stop();
});

it("is not tried again where it fails for good, nor after the stop, which leaves no timer", async () => {
  const clock = new FakeClock();
  const work = new BackgroundWork({ clock, logger: silentLogger });
  let tried = 0;
  const failing = (code: "INTERNAL" | "UNAVAILABLE") => async (): Promise<void> => {
    tried += 1;
    throw new OrchestratorError(code);
  };
  work.do(failing("INTERNAL"));
  await settle();
  await clock.advance(600 * secondMs);
  expect(tried).toBe(1);
  work.do(failing("UNAVAILABLE"));
  work.after(secondMs, failing("UNAVAILABLE"));
  await settle();
  await work.stop();
  expect(clock.pendingTimers).toBe(0);
  work.do(failing("UNAVAILABLE"));
  expect(tried).toBe(2);
});

it("that fails while the stop waits for it, or is to begin later, leaves no timer either", async () => {
  const clock = new FakeClock();
  const work = new BackgroundWork({ clock, logger: silentLogger });
  const under = deferred();
  let tried = 0;
  work.do(async () => {
    tried += 1;
    await under.promise;
    work.after(secondMs, async () => void (tried += 1));
    throw new OrchestratorError("UNAVAILABLE");
  });
  const stopped = work.stop();
  under.resolve();
  await stopped;
  expect(clock.pendingTimers).toBe(0);
  await clock.advance(600 * secondMs);
  expect(tried).toBe(1);
});

it("is waited for at the stop, and what it begins on the way, too", async () => {
  const clock = new FakeClock();
  const work = new BackgroundWork({ clock, logger: silentLogger });
  const [first, second] = [deferred(), deferred()];
  work.do(() => {
    work.do(() => second.promise);
    return first.promise;
  });
  let isStopped = false;
  const stopped = work.stop().then(() => (isStopped = true));
  first.resolve();
  await settle();
  expect(isStopped).toBe(false);
  second.resolve();
  await stopped;
});

it("in rounds lets go of what a round holds where the stop comes in the middle of it, and leaves no timer", async () => {
  const clock = new FakeClock();
  const done: string[] = [];
  const round = async function* (): AsyncGenerator<void> {
    try {
      for (;;) {
        done.push("slice");
        yield;
      }
    } finally {
      done.push("let go");
    }
  };
  const failed = (error: unknown): void => void done.push(String(error));
  const stop = keepRounds({ clock, everyMs: secondMs, pauseMs: 100, round, failed });
  await clock.advance(100);
  await stop();
  expect(done).toEqual(["slice", "slice", "let go"]);
  expect(clock.pendingTimers).toBe(0);
});

it("in rounds comes again after one that failed, as long after it as after any", async () => {
  const clock = new FakeClock();
  const begun: number[] = [];
  const failed: unknown[] = [];
  const round = async function* (): AsyncGenerator<void> {
    begun.push(clock.monotonic());
    yield;
    if (begun.length === 1) throw new Error("no space");
  };
  const stop = keepRounds({ clock, everyMs: secondMs, pauseMs: 100, round, failed: (e) => failed.push(e) });
  await clock.advance(2_500);
  await stop();
  expect(begun).toEqual([0, 1_100, 2_200]);
  expect(failed).toHaveLength(1);
  expect(clock.pendingTimers).toBe(0);
});

function throwing(failure: unknown): () => never {
  return () => {
    throw failure;
  };
}

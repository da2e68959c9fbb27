import { expect, test } from "vitest";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { LifeProbe } from "../../lib/transport/life-probe.ts";
import { settle, settleAll } from "../support/deferred.ts";

function scene() {
  const clock = new FakeClock();
  const asked: (() => void)[] = [];
  const state = { isReading: true };
  const probe = new LifeProbe({
    socket: { probe: () => new Promise((resolve) => asked.push(resolve)) },
    clock,
    isReading: () => state.isReading,
  });
  return { clock, asked, state, probe };
}

test("the answer of the peer is life", async () => {
  const { clock, asked, probe } = scene();
  const alive = probe.ask();
  await clock.advance(1_999);
  asked[0]!();
  expect(await alive).toBe(true);
  expect(clock.pendingTimers).toBe(0);
});

test("nothing for two seconds is none, and an answer after that changes nothing", async () => {
  const { clock, asked, probe } = scene();
  const alive = probe.ask();
  await clock.advance(2_000);
  expect(await alive).toBe(false);
  asked[0]!();
  await settle();
  expect(clock.pendingTimers).toBe(0);
});

test("several that ask at once share one question, the next one has its own", async () => {
  const { asked, probe } = scene();
  const answers = [probe.ask(), probe.ask(), probe.ask()];
  expect(asked).toHaveLength(1);
  probe.heard();
  expect(await Promise.all(answers)).toEqual([true, true, true]);
  const next = probe.ask();
  expect(asked).toHaveLength(2);
  probe.over();
  expect(await next).toBe(false);
});

test("a peer that is not read can't be called dead", async () => {
  const { clock, state, probe } = scene();
  state.isReading = false;
  const alive = probe.ask();
  await clock.advance(2_000);
  expect(await alive).toBe(true);
});

test("silence counts from when the peer is read again", async () => {
  const { clock, state, probe } = scene();
  state.isReading = false;
  const alive = probe.ask();
  let isJudged = false;
  void alive.then(() => (isJudged = true));
  await clock.advance(1_990);
  state.isReading = true;
  await clock.advance(1_990);
  await settleAll();
  expect(isJudged).toBe(false);
  await clock.advance(250);
  expect(await alive).toBe(false);
  expect(clock.pendingTimers).toBe(0);
});

test.each([1, 2, 3, 4, 5, 6])(
  "a break in the reading after %s of eight steps has the silence count anew",
  async (steps) => {
    const { clock, state, probe } = scene();
    let answer: boolean | null = null;
    void probe.ask().then((isAlive) => (answer = isAlive));
    const pass = async (ms: number): Promise<void> => {
      await clock.advance(ms);
      await settleAll();
    };
    await pass(steps * 250 + 50);
    state.isReading = false;
    await pass(250);
    state.isReading = true;
    // The step in which reading began again does not count, as it was not read from its beginning.
    await pass(1_949 + 250);
    expect(answer).toBeNull();
    await pass(1);
    expect(answer).toBe(false);
  },
);

test("time in which the process got no time is no silence", async () => {
  const { clock, asked, probe } = scene();
  const alive = probe.ask();
  clock.leap(2_100);
  await clock.advance(0);
  await clock.advance(1_500);
  asked[0]!();
  expect(await alive).toBe(true);
  expect(clock.pendingTimers).toBe(0);
});

test("what was received in the moment before the time is over counts", async () => {
  const { clock, asked, probe } = scene();
  const alive = probe.ask();
  await clock.advance(1_999);
  setImmediate(() => asked[0]!());
  clock.leap(1);
  await clock.advance(0);
  expect(await alive).toBe(true);
});

test("a connection that is over is asked nothing", async () => {
  const { clock, asked, probe } = scene();
  probe.over();
  expect(await probe.ask()).toBe(false);
  expect(asked).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

test("silence of a question that was answered at last says nothing about the next one", async () => {
  const { clock, probe } = scene();
  const first = probe.ask();
  await clock.advance(1_999);
  setImmediate(() => {
    probe.heard();
    void probe.ask().then((isAlive) => answers.push(isAlive));
  });
  const answers: boolean[] = [];
  clock.leap(1);
  await clock.advance(0);
  await settleAll();
  expect([await first, answers]).toEqual([true, []]);
  probe.heard();
  await settle();
  expect([answers, clock.pendingTimers]).toEqual([[true], 0]);
});

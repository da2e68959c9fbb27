/** When samples are taken, and by which time, where clocks, machines and connections do what they like. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { AgentMetrics } from "../../../lib/agent/metrics/agent-metrics.ts";
import type { Space } from "../../../lib/agent/metrics/measured-machine.ts";
import type { Clock } from "../../../lib/clock.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import { deferred, settleAll } from "../../support/deferred.ts";
import { RecordedMachine } from "../../support/recorded-machine.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** What an agent measures of a recorded machine; the time of the orchestrator is ours to say. */
function measuring({ lateMs = 0, machine = new RecordedMachine() } = {}) {
  const inner = new FakeClock();
  const startMs = inner.monotonic();
  const clock: Clock = {
    now: () => inner.now(),
    monotonic: () => inner.monotonic(),
    setTimer: (delayMs, callback) => inner.setTimer(delayMs + lateMs, callback),
  };
  const time = { now: (): number => inner.now() };
  const sent: number[][] = [];
  const stateDir = temporaryFolder();
  const metrics = new AgentMetrics({
    machine,
    stateDir,
    host: new MemoryHost(),
    clock,
    logger: silentLogger,
    orchestratorNow: () => time.now(),
    send(message) {
      if (message.type === "metrics") sent.push(message.samples.map(({ at }) => Date.parse(at)));
      return true;
    },
  });
  onTestFinished(() => metrics.stop());
  const seconds = (): number[] => sent.flat().map((at) => (at - inner.now()) / 1000 + elapsed());
  const elapsed = (): number => (inner.monotonic() - startMs) / 1000;
  const kept = (): string[] =>
    existsSync(join(stateDir, "metrics")) ? readdirSync(join(stateDir, "metrics")) : [];
  return { metrics, clock: inner, time, sent, seconds, kept };
}

test("samples keep their step where each comes late, and what was slept through is not made up for", async () => {
  const { metrics, clock, seconds } = measuring({ lateMs: 3_000 });
  metrics.begin();
  await metrics.start();
  for (let second = 0; second < 60; second += 1) await clock.advance(1_000);
  expect(seconds()).toEqual([5, 20, 35, 50]);
  const sleepy = measuring({ lateMs: 100_000 });
  sleepy.metrics.begin();
  await sleepy.metrics.start();
  for (let second = 0; second < 250; second += 1) await sleepy.clock.advance(1_000);
  expect(sleepy.seconds()).toEqual([102, 209.5]);
});

test("a sample leaves no timer but that of the next one", async () => {
  const { metrics, clock } = measuring();
  await metrics.start();
  await clock.advance(2_000);
  await settleAll();
  expect(clock.pendingTimers).toBe(1);
  metrics.stop();
  expect(clock.pendingTimers).toBe(0);
});

/** A machine that can be slow to answer. */
class SlowMachine extends RecordedMachine {
  readonly asked = deferred<Space | null>();
  isSlow = false;

  override async space(path: string): Promise<Space | null> {
    return this.isSlow ? this.asked.promise : super.space(path);
  }
}

test("a sample that is being taken when the time turns out to be earlier is of no time to come", async () => {
  const machine = new SlowMachine();
  const { metrics, clock, time, sent } = measuring({ machine });
  time.now = () => clock.now() + 240_000;
  await metrics.start();
  machine.isSlow = true;
  await clock.advance(2_000);
  await settleAll();
  time.now = () => clock.now();
  metrics.accepted();
  metrics.begin();
  await clock.advance(1_000);
  machine.isSlow = false;
  machine.asked.resolve(null);
  await settleAll();
  await clock.advance(30_000);
  await settleAll();
  expect(sent.flat().length).toBeGreaterThan(1);
  expect(sent.flat().filter((at) => at > clock.now())).toEqual([]);
});

test("a sample that is still being taken when the agent stops is not kept", async () => {
  const machine = new SlowMachine();
  const { metrics, clock, kept, sent } = measuring({ machine });
  metrics.begin();
  await metrics.start();
  machine.isSlow = true;
  await clock.advance(2_000);
  metrics.stop();
  machine.asked.resolve(null);
  await settleAll();
  expect([kept(), sent]).toEqual([[], []]);
});

test("a time that stands still or goes back has no second sample", async () => {
  const { metrics, clock, time, sent } = measuring();
  const startMs = clock.now();
  metrics.begin();
  await metrics.start();
  const told = [startMs, startMs, startMs - 5_000, startMs + 1];
  for (const now of told) {
    time.now = () => now;
    await clock.advance(15_000);
    await settleAll();
  }
  expect(sent.flat()).toEqual([startMs, startMs + 1]);
});

test("what is taken after an orchestrator has set its time back is brought to it, also what was taken without a connection", async () => {
  const { metrics, clock, time, sent } = measuring();
  const hour = 3_600_000;
  time.now = () => clock.now() + hour;
  metrics.accepted();
  metrics.begin();
  await metrics.start();
  await clock.advance(2_000);
  await settleAll();
  metrics.acknowledge(sent[0]![0]!);
  metrics.pause();
  time.now = () => clock.now();
  metrics.accepted();
  await clock.advance(30_000);
  await settleAll();
  expect(sent).toHaveLength(1);
  metrics.begin();
  expect(sent.slice(1).flat()).toEqual([clock.now() - 15_000, clock.now()]);
});

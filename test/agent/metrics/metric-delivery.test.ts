import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MetricDelivery } from "../../../lib/agent/metrics/metric-delivery.ts";
import { SampleBacklog } from "../../../lib/agent/metrics/sample-backlog.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import type { AgentMessage } from "../../../lib/wire/messages.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

test("a gap that could not be told is told with the next connection, once", () => {
  const backlog = new SampleBacklog(join(temporaryFolder(), "metrics"), new RecordingLogger());
  const gaps: boolean[] = [];
  let isUp = false;
  const send = (message: AgentMessage): boolean => {
    if (isUp && message.type === "metrics") gaps.push(message.gap);
    return isUp;
  };
  const delivery = new MetricDelivery({ backlog, clock: new FakeClock(), send });
  for (const at of [1_000, 2_000, 9_000]) backlog.add({ at, values: { "load.1": 1 } });
  backlog.dropAfter(5_000);
  delivery.begin();
  expect(gaps).toEqual([]);
  isUp = true;
  delivery.begin();
  delivery.acknowledge(2_000);
  backlog.add({ at: 3_000, values: { "load.1": 1 } });
  delivery.taken({ at: 3_000, values: { "load.1": 1 } });
  expect(gaps).toEqual([true, false]);
  delivery.pause();
});

test.each([
  { end: "of which all is acknowledged", acknowledged: 3_000, told: [true, false, false, false] },
  { end: "of which a part is acknowledged", acknowledged: 2_000, told: [true, true, false, false] },
  { end: "of which nothing is acknowledged", acknowledged: 0, told: [true, true, false, false] },
])("a gap is told again after a connection $end", ({ acknowledged, told }) => {
  const backlog = new SampleBacklog(join(temporaryFolder(), "metrics"), new RecordingLogger());
  const gaps: boolean[] = [];
  const send = (message: AgentMessage): boolean => message.type === "metrics" && gaps.push(message.gap) > 0;
  const delivery = new MetricDelivery({ backlog, clock: new FakeClock(), send });
  const take = (at: number): void => {
    backlog.add({ at, values: { "load.1": 1 } });
    delivery.taken({ at, values: { "load.1": 1 } });
  };
  for (const at of [1_000, 2_000, 3_000, 9_000]) take(at);
  backlog.dropAfter(5_000);
  delivery.begin();
  delivery.acknowledge(acknowledged);
  delivery.pause();
  take(4_000);
  delivery.begin();
  delivery.acknowledge(4_000);
  take(5_000);
  delivery.acknowledge(5_000);
  delivery.pause();
  take(6_000);
  delivery.begin();
  expect(gaps).toEqual(told);
  delivery.pause();
});

test("a gap that nobody has acknowledged in three minutes is told again with what is sent then", async () => {
  const backlog = new SampleBacklog(join(temporaryFolder(), "metrics"), new RecordingLogger());
  const clock = new FakeClock();
  const gaps: boolean[] = [];
  const send = (message: AgentMessage): boolean => message.type === "metrics" && gaps.push(message.gap) > 0;
  const delivery = new MetricDelivery({ backlog, clock, send });
  for (const at of [1_000, 9_000]) backlog.add({ at, values: { "load.1": 1 } });
  backlog.dropAfter(5_000);
  delivery.begin();
  await clock.advance(180_000);
  delivery.acknowledge(1_000);
  await clock.advance(180_000);
  expect(gaps).toEqual([true, true]);
  delivery.pause();
});

test("a connection begins anew: all is sent at once, and waited for as at first, however long nobody answered before", async () => {
  const backlog = new SampleBacklog(join(temporaryFolder(), "metrics"), new RecordingLogger());
  const clock = new FakeClock();
  const sizes: number[] = [];
  const send = (message: AgentMessage): boolean =>
    message.type === "metrics" && sizes.push(message.samples.length) > 0;
  const delivery = new MetricDelivery({ backlog, clock, send });
  for (let at = 1; at <= 5; at += 1) backlog.add({ at, values: { "load.1": 1 } });
  const minutes = async (count: number): Promise<number[]> => {
    await clock.advance(count * 60_000);
    return sizes.splice(0);
  };
  delivery.begin();
  expect(await minutes(3)).toEqual([5, 1]);
  expect(await minutes(5)).toEqual([]);
  expect(await minutes(1)).toEqual([1]);
  delivery.pause();
  delivery.begin();
  expect(await minutes(2)).toEqual([5]);
  expect(await minutes(1)).toEqual([1]);
  // An answer counts as one, too.
  expect(await minutes(6)).toEqual([1]);
  delivery.acknowledge(1);
  expect(await minutes(2)).toEqual([4]);
  expect(await minutes(1)).toEqual([1]);
  delivery.pause();
  expect(clock.pendingTimers).toBe(0);
});

test("an orchestrator that never answers is asked again after twice as long each time, up to an hour", async () => {
  const backlog = new SampleBacklog(join(temporaryFolder(), "metrics"), new RecordingLogger());
  const clock = new FakeClock();
  const startMs = clock.monotonic();
  const sentAt: number[] = [];
  const send = (): boolean => sentAt.push((clock.monotonic() - startMs) / 60_000) > 0;
  const delivery = new MetricDelivery({ backlog, clock, send });
  backlog.add({ at: 1, values: { "load.1": 1 } });
  delivery.begin();
  await clock.advance(300 * 60_000);
  expect(sentAt).toEqual([0, 3, 9, 21, 45, 93, 153, 213, 273]);
  delivery.pause();
});

test("a sample that could not be sent goes with the next one", () => {
  const backlog = new SampleBacklog(join(temporaryFolder(), "metrics"), new RecordingLogger());
  let isUp = true;
  const sent: number[] = [];
  const send = (message: AgentMessage): boolean => {
    if (isUp && message.type === "metrics") sent.push(message.samples.length);
    return isUp;
  };
  const delivery = new MetricDelivery({ backlog, clock: new FakeClock(), send });
  const take = (at: number): void => {
    backlog.add({ at, values: { "load.1": 1 } });
    delivery.taken({ at, values: { "load.1": 1 } });
  };
  delivery.begin();
  take(1);
  delivery.acknowledge(1);
  isUp = false;
  take(2);
  isUp = true;
  take(3);
  expect(sent).toEqual([1, 2]);
  delivery.pause();
});

test("what is taken is sent though the samples before it can't be read any more", () => {
  const folder = join(temporaryFolder(), "metrics");
  const backlog = new SampleBacklog(folder, new RecordingLogger());
  const sent: number[] = [];
  const send = (message: AgentMessage): boolean => {
    if (message.type === "metrics") sent.push(...message.samples.map(({ at }) => Date.parse(at)));
    return true;
  };
  const delivery = new MetricDelivery({ backlog, clock: new FakeClock(), send });
  const take = (at: number): void => {
    backlog.add({ at, values: { "load.1": 1 } });
    delivery.taken({ at, values: { "load.1": 1 } });
  };
  delivery.begin();
  take(1_000);
  delivery.pause();
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  take(2_000);
  delivery.begin();
  for (const at of [3_000, 4_000]) take(at);
  expect(sent).toEqual([1_000, 3_000, 4_000]);
  delivery.pause();
});

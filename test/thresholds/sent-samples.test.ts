/** Thresholds where samples come late, all at once, over a restart, from many machines, and onto a disk that is full. */
import { expect, onTestFinished, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import type { TestAgent } from "../../lib/testing/test-agent.ts";
import { pairsAfter } from "../../lib/thresholds/agent-pairs.ts";
import { itemsOf } from "../support/all-pages.ts";
import { pass } from "../support/channel-scene.ts";
import { cpuMsOf } from "../support/cpu-time.ts";
import { deferred, settleAll, type Deferred } from "../support/deferred.ts";
import { approved, connect } from "../support/leaving-agents.ts";
import { waitFor } from "../support/wait-for.ts";

/** Has the commit of an alarm wait. */
class HeldStorage extends MemoryStorage {
  held: Deferred | null = null;
  written = 0;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const isAlarm = writes.some((write) => write.kind === "put" && write.collection === "alarms");
    if (isAlarm) await this.held?.promise;
    if (isAlarm) this.written += 1;
    return super.commit(writes, options);
  }
}

const busy = { name: "Busy", metric: "load.1", condition: "above", value: 4 } as const;

function toThreshold(at: number): Parameters<typeof pairsAfter>[2]["thresholds"][number] {
  const since = "2030-01-01T00:00:00.000Z";
  return {
    ...busy,
    id: `threshold-${at}`,
    metric: "mount.used_bytes",
    for_seconds: 300,
    recovery_seconds: 60,
    severity: "warning",
    enabled: true,
    created_by: "ada",
    created_at: since,
    changed_at: since,
  };
}

/** Processes that follow each other on one storage and one clock. */
function restartable(): { clock: FakeClock; begin: () => Promise<TestOrchestrator> } {
  const data = new MemoryData();
  const clock = new FakeClock();
  const begin = async (): Promise<TestOrchestrator> => ({
    ...(await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) })),
    clock,
  });
  return { clock, begin };
}

/** Sends samples of `load.1`, 15 s apart, the newest of them `ageSeconds` ago. */
async function send(
  product: TestOrchestrator,
  agent: TestAgent,
  values: readonly number[],
  ageSeconds = 0,
): Promise<void> {
  const last = product.clock.now() - ageSeconds * 1_000;
  const samples = values.map((value, index) => ({
    at: new Date(last - (values.length - 1 - index) * 15_000).toISOString(),
    values: { "load.1": value },
  }));
  agent.say({ type: "metrics", samples, gap: false });
  for (let turn = 0; turn < 10; turn += 1) await settleAll();
}

const toldOf = ({ events }: TestOrchestrator) =>
  events.flatMap(({ event_type, timestamp }) =>
    /^metric\.threshold(Crossed|Recovered)$/.test(event_type)
      ? [{ type: event_type.slice("metric.threshold".length), timestamp }]
      : [],
  );
const namesOf = (product: TestOrchestrator): string[] => toldOf(product).map(({ type }) => type);
const alarmsOf = async ({ orchestrator }: TestOrchestrator) =>
  (await orchestrator.thresholds.alarms(systemCaller)).items;

test("a duration goes on over a restart, from the samples that are stored", async () => {
  const { clock, begin } = restartable();
  const first = await begin();
  await first.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: 120 });
  await approved(first, 1);
  await clock.advance(3_600_000);
  await send(first, await connect(first, 1), [1, 5, 5, 5]);
  expect(namesOf(first)).toEqual([]);
  await first.orchestrator.stop();

  const again = await begin();
  onTestFinished(() => again.orchestrator.stop());
  await clock.advance(75_000);
  const agent = await connect(again, 1);
  await send(again, agent, [5, 5, 5, 5, 5]);
  expect(namesOf(again)).toEqual([]);
  await clock.advance(15_000);
  await send(again, agent, [5]);
  expect(namesOf(again)).toEqual(["Crossed"]);
  const [alarm] = await alarmsOf(again);
  expect(Date.parse(alarm!.crossed_at) - Date.parse(alarm!.since)).toBe(120_000);
});

test("what comes late counts for durations, and nothing is told of what is over", async () => {
  await using product = await createTestOrchestrator();
  await product.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: 60 });
  await approved(product, 1);
  await product.clock.advance(7_200_000);
  const agent = await connect(product, 1);
  await send(product, agent, Array<number>(30).fill(9), 3_600);
  expect(namesOf(product)).toEqual([]);
  await send(product, agent, [...Array<number>(200).fill(9), ...Array<number>(30).fill(1)]);
  expect(namesOf(product)).toEqual([]);
  await product.clock.advance(3_600_000);
  await send(product, await connect(product, 1), Array<number>(60).fill(9));
  expect(namesOf(product)).toEqual(["Crossed"]);
  const [alarm] = await alarmsOf(product);
  // Of a long history only what may count is looked at.
  expect(Date.parse(alarm!.since)).toBeLessThanOrEqual(product.clock.now() - 360_000);
});

test("what comes late over a connection that stands counts as far back as a duration reaches", async () => {
  await using product = await createTestOrchestrator();
  await product.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: 1_800 });
  await approved(product, 1);
  await product.clock.advance(3_600_000);
  const agent = await connect(product, 1);
  await send(product, agent, [1], 1_830);
  await send(product, agent, Array<number>(121).fill(9), 15);
  expect(namesOf(product)).toEqual(["Crossed"]);
  const [alarm] = await alarmsOf(product);
  expect(Date.parse(alarm!.since)).toBe(product.clock.now() - 1_815_000);
});

test("one message may begin an alarm, end it and begin it again", async () => {
  await using product = await createTestOrchestrator();
  const limits = { ...busy, for_seconds: 0, recovery_seconds: 0 };
  await product.orchestrator.thresholds.create(systemCaller, limits);
  await approved(product, 1);
  await product.clock.advance(300_000);
  const agent = await connect(product, 1);
  await send(product, agent, [5, 1, 5, 5, 1, 5]);
  expect(namesOf(product)).toEqual(["Crossed", "Recovered", "Crossed", "Recovered", "Crossed"]);
  expect(await alarmsOf(product)).toHaveLength(1);
  expect(product.loggedErrors).toEqual([]);
});

test("alarms of one threshold on many machines are one notification, and those of another are another", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds, notifications } = product.orchestrator;
  await thresholds.create(systemCaller, { ...busy, for_seconds: 0 });
  await thresholds.create(systemCaller, { ...busy, name: "Idle", condition: "below", for_seconds: 0 });
  const agents = [await approved(product, 1), await approved(product, 2), await approved(product, 3)];
  await pass(product, 40_000);
  const { items: before } = await notifications.list(systemCaller);
  for (const [index, agent] of agents.entries()) await send(product, agent, [index === 2 ? 1 : 5]);
  await pass(product, 3_000);
  const { items } = await notifications.list(systemCaller);
  const made = items.slice(0, items.length - before.length);
  expect(made.map(({ title, count, severity }) => ({ title, count, severity })).toReversed()).toEqual([
    { title: "Busy: 2 alarms", count: 2, severity: "warning" },
    {
      title: expect.stringMatching(/^Idle: load\.1 of machine-3 is 1, below 4$/),
      count: 1,
      severity: "warning",
    },
  ]);
});

test("thresholds of the same name are told apart", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds, notifications } = product.orchestrator;
  for (let each = 0; each < 2; each += 1)
    await thresholds.create(systemCaller, { ...busy, value: 4 - each, for_seconds: 0 });
  const agents = [await approved(product, 1), await approved(product, 2)];
  await pass(product, 40_000);
  const { items: before } = await notifications.list(systemCaller);
  for (const agent of agents) await send(product, agent, [5]);
  await pass(product, 3_000);
  const { items } = await notifications.list(systemCaller);
  expect(items.slice(0, items.length - before.length).map(({ title }) => title)).toEqual([
    "Busy: 2 alarms",
    "Busy: 2 alarms",
  ]);
});

test.each(["its threshold is removed", "its agent is rejected"])(
  "an alarm that is written while %s does not stay",
  async (what) => {
    const clock = new FakeClock();
    const storage = new HeldStorage({ clock });
    await using product = await createTestOrchestrator({ clock, storage });
    const here = { ...product, clock };
    const { thresholds, agents } = product.orchestrator;
    const { id } = await thresholds.create(systemCaller, { ...busy, for_seconds: 0 });
    const agent = await approved(here, 1);
    await clock.advance(15_000);
    storage.held = deferred();
    await send(here, agent, [5]);
    if (what === "its threshold is removed") await thresholds.remove(systemCaller, { id });
    else await agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "rejected" });
    await settleAll();
    storage.held.resolve();
    storage.held = null;
    await waitFor(async () => expect(await alarmsOf(product)).toEqual([]));
    for (let turn = 0; turn < 10; turn += 1) await settleAll();
    expect(storage.written).toBe(1);
    expect(await alarmsOf(product)).toEqual([]);
  },
);

test("a threshold counts nothing of what was measured before it was made or changed, over a restart, too", async () => {
  const { clock, begin } = restartable();
  const first = await begin();
  const agent = await approved(first, 1);
  await clock.advance(15_000);
  await send(first, agent, [5]);
  const { thresholds } = first.orchestrator;
  const { id } = await thresholds.create(systemCaller, { ...busy, value: 9, for_seconds: 30 });
  for (let each = 0; each < 3; each += 1) {
    await clock.advance(15_000);
    await send(first, agent, [5]);
  }
  await thresholds.update(systemCaller, { id, value: 4 });
  await first.orchestrator.stop();
  const again = await begin();
  onTestFinished(() => again.orchestrator.stop());
  const same = await connect(again, 1);
  await clock.advance(15_000);
  await send(again, same, [5]);
  expect(namesOf(again)).toEqual([]);
  await clock.advance(15_000);
  await send(again, same, [5]);
  expect(namesOf(again)).toEqual([]);
  await clock.advance(15_000);
  await send(again, same, [5]);
  expect(namesOf(again)).toEqual(["Crossed"]);
});

test("a sample of a hostile agent that is beyond every limit is compared in a few milliseconds", async () => {
  const thresholds = Array.from({ length: 100 }, (_, at) => toThreshold(at));
  const values = Object.fromEntries(
    Array.from({ length: 100 }, (_, at) => [`mount.used_bytes{path=/${at}}`, 5]),
  );
  const watched = { thresholds, alarms: new Map(), gapMs: 60_000 };
  let pairs = pairsAfter(new Map(), { at: 0, values }, watched);
  expect(pairs.size).toBe(200);
  // Other series with each sample: those of before are missing, and are not followed beside them.
  const others = Object.fromEntries(Object.keys(values).map((name) => [name.replace("=/", "=/other"), 5]));
  expect(pairsAfter(pairs, { at: 15_000, values: others }, watched).size).toBe(200);
  const took = cpuMsOf(() => {
    for (let each = 1; each <= 20; each += 1)
      pairs = pairsAfter(pairs, { at: each * 15_000, values }, watched);
  });
  expect(took / 20).toBeLessThan(20);
  expect(pairs.size).toBe(200);
});

test("an alarm that a full disk keeps out begins with the first sample after it", async () => {
  const data = new MemoryData();
  await using product = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  await product.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: 0 });
  const agent = await approved(product, 1);
  await product.clock.advance(15_000);
  data.freeBytes = 0;
  await send(product, agent, [5]);
  expect(namesOf(product)).toEqual([]);
  expect(await alarmsOf(product)).toEqual([]);
  data.freeBytes = Infinity;
  await product.clock.advance(15_000);
  await send(product, agent, [5]);
  expect(namesOf(product)).toEqual(["Crossed"]);
  const [alarm] = await alarmsOf(product);
  expect(alarm!.since).toBe(new Date(product.clock.now() - 15_000).toISOString());
  // It was tried again with each sample, and none of that is an event that is missing.
  const { entries } = await product.storage.readLog<{ missing?: number }>("events", { limit: 1_000 });
  expect(entries.filter(({ value }) => value.missing !== undefined)).toEqual([]);
});

test("a machine that is beyond every limit has 50 alarms, and begins or ends 60 at once and one a second", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds } = product.orchestrator;
  for (let each = 0; each < 60; each += 1)
    await thresholds.create(systemCaller, { ...busy, for_seconds: 0, recovery_seconds: 0 });
  const agent = await approved(product, 1);
  await product.clock.advance(15_000);
  await send(product, agent, [5]);
  expect(await alarmsOf(product)).toHaveLength(50);
  await product.clock.advance(15_000);
  await send(product, agent, [1]);
  expect(await alarmsOf(product)).toHaveLength(25);
  await product.clock.advance(60_000);
  await send(product, await connect(product, 1), [1]);
  expect(await alarmsOf(product)).toEqual([]);
  // Sixty of them are told one by one.
  expect(namesOf(product)).toHaveLength(60);
});

test("the hundred-and-first threshold is refused, and one more fits once one is removed", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds } = product.orchestrator;
  const made = [];
  for (let each = 0; each < 90; each += 1) made.push(await thresholds.create(systemCaller, busy));
  // Many at once: each has to see the others.
  const asked = Array.from({ length: 40 }, () => thresholds.create(systemCaller, busy));
  const ended = await Promise.allSettled(asked);
  const refused = ended.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
  expect(refused).toHaveLength(30);
  for (const error of refused) expect(error).toMatchObject({ code: "VALIDATION_FAILED" });
  await thresholds.remove(systemCaller, { id: made[0]!.id });
  await thresholds.create(systemCaller, busy);
  const all = await itemsOf((page) => thresholds.list(systemCaller, page), 33);
  const ids = all.map(({ id }) => id);
  expect(ids).toHaveLength(100);
  expect(new Set(ids).size).toBe(100);
});

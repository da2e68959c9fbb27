/** Alarms that begin and end all the time: what one agent has told is bounded, and nothing else is held up. */
import { expect, onTestFinished, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { TestAgent } from "../../lib/testing/test-agent.ts";
import { settleAll } from "../support/deferred.ts";
import { approved, connect, leave } from "../support/leaving-agents.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { alarmEvents, alarmsNow, sendSample } from "../support/sent-samples.ts";
import { waitFor } from "../support/wait-for.ts";

const busy = {
  name: "Busy",
  metric: "load.1",
  condition: "above",
  value: 4,
  for_seconds: 0,
  recovery_seconds: 0,
} as const;

const typesOf = (test: TestOrchestrator, nodeId?: string): string[] =>
  alarmEvents(test, nodeId).map(({ event_type }) => event_type.slice("metric.".length));

/** Crosses a limit with one sample and comes back with the next, for so many samples. */
async function flap(
  test: TestOrchestrator,
  agent: TestAgent,
  { samples, names = ["load.1"] }: { samples: number; names?: readonly string[] },
): Promise<void> {
  for (let each = 0; each < samples; each += 1) {
    await test.clock.advance(15_000);
    const value = each % 2 === 0 ? 5 : 1;
    await sendSample(test, agent, Object.fromEntries(names.map((name) => [name, value])));
  }
}

test("a value that crosses its limit all the time is told twenty times and ten times an hour, then in sum", async () => {
  await using product = await createTestOrchestrator();
  await product.orchestrator.thresholds.create(systemCaller, busy);
  const agent = await approved(product, 1);
  await flap(product, agent, { samples: 61 });
  const types = typesOf(product);
  const oneByOne = types.filter((type) => type.startsWith("threshold")).length;
  expect(oneByOne).toBeGreaterThanOrEqual(20);
  expect(oneByOne).toBeLessThanOrEqual(22);
  expect(types.filter((type) => type === "alarmsFlapped")).toHaveLength(1);
  const flapped = alarmEvents(product).find(({ event_type }) => event_type === "metric.alarmsFlapped");
  expect(flapped).toMatchObject({
    severity: "warning",
    summary: "Busy: alarms of machine-1 begin and end too often to be told one by one",
    target: { type: "agent", id: agent.nodeId, name: "machine-1" },
  });
  // What there is is listed all the same: the last sample is beyond the limit.
  expect(await alarmsNow(product)).toHaveLength(1);
  for (let minute = 0; minute < 32; minute += 1) {
    await product.clock.advance(60_000);
    await settleAll();
  }
  const settled = alarmEvents(product).at(-1)!;
  const began = 31 - types.filter((type) => type === "thresholdCrossed").length;
  const ended = 30 - types.filter((type) => type === "thresholdRecovered").length;
  expect(settled).toMatchObject({
    event_type: "metric.alarmsSettled",
    severity: "warning",
    metadata: { threshold: "Busy", began, ended, alarms: 1 },
  });
  expect(settled.summary).toBe(
    `Busy: alarms of machine-1 are told one by one again: ${began} more began and ${ended} ended meanwhile, 1 is there now`,
  );
  // It is: what ends the alarm is told again.
  await sendSample(product, await connect(product, 1), { "load.1": 1 });
  expect(typesOf(product).at(-1)).toBe("thresholdRecovered");
  expect(product.loggedErrors).toEqual([]);
});

test("a hostile agent has less than forty lines an hour after the first, and keeps no other from being told", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds } = product.orchestrator;
  for (let each = 0; each < 10; each += 1)
    await thresholds.create(systemCaller, { ...busy, name: `Busy ${each}` });
  const [hostile, honest] = [await approved(product, 1), await approved(product, 2)];
  await leave(product, hostile, honest);
  const hours: number[] = [];
  const rest = async (): Promise<void> => {
    for (let minute = 0; minute < 31; minute += 1) {
      await product.clock.advance(60_000);
      await settleAll();
    }
  };
  for (let hour = 0; hour < 12; hour += 1) {
    const before = alarmEvents(product, hostile.nodeId).length;
    // It rests as long as it must to be told one by one again.
    for (let half = 0; half < 2; half += 1) {
      await flap(product, await connect(product, 1), { samples: 20 });
      await rest();
    }
    hours.push(alarmEvents(product, hostile.nodeId).length - before);
  }
  expect(Math.max(...hours)).toBeLessThan(100);
  for (const told of hours.slice(1)) expect(told).toBeLessThan(40);
  await flap(product, await connect(product, 1), { samples: 9 });
  await sendSample(product, await connect(product, 2), { "load.1": 5 });
  expect(typesOf(product, honest.nodeId)).toEqual(Array(10).fill("thresholdCrossed"));
  expect(await alarmsNow(product)).toHaveLength(20);
}, 60_000);

test("thresholds of one machine are bounded by themselves, up to sixty of the machine", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds } = product.orchestrator;
  await thresholds.create(systemCaller, busy);
  await thresholds.create(systemCaller, { ...busy, name: "Tasks", metric: "process.count" });
  const agent = await approved(product, 1);
  await flap(product, agent, { samples: 40 });
  expect(typesOf(product)).toContain("alarmsFlapped");
  await product.clock.advance(15_000);
  await sendSample(product, agent, { "load.1": 5, "process.count": 5 });
  expect(alarmEvents(product).at(-1)).toMatchObject({
    event_type: "metric.thresholdCrossed",
    metadata: { threshold: "Tasks" },
  });
});

test("an alarm more severe than what was told of a machine that flaps is told by itself", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds } = product.orchestrator;
  for (let each = 0; each < 10; each += 1) await thresholds.create(systemCaller, busy);
  const disk = { name: "Disk", metric: "mount.used_bytes", severity: "critical" } as const;
  await thresholds.create(systemCaller, { ...busy, ...disk });
  const agent = await approved(product, 1);
  await flap(product, agent, { samples: 8 });
  expect(typesOf(product).at(-1)).toBe("alarmsFlapped");
  for (let each = 0; each < 2; each += 1) {
    await product.clock.advance(15_000);
    await sendSample(product, agent, { "load.1": 1, "mount.used_bytes": 5 - 4 * each });
  }
  await product.clock.advance(15_000);
  await sendSample(product, agent, { "load.1": 1, "mount.used_bytes": 5 });
  const critical = alarmEvents(product).filter(({ severity }) => severity === "critical");
  expect(critical.map(({ event_type }) => event_type)).toEqual(["metric.thresholdCrossed"]);
  expect(await alarmsNow(product)).toMatchObject([{ threshold: "Disk" }]);
});

/** Begins an orchestrator, each time on the same storage and clock. */
function restarts(): () => Promise<TestOrchestrator> {
  const data = new MemoryData();
  const clock = new FakeClock();
  return async () => ({
    ...(await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) })),
    clock,
  });
}

/** Three thresholds that spend all that is told of an agent, one of a disk and one of processes that have no part in it. */
async function withNoise({ orchestrator: { thresholds } }: TestOrchestrator): Promise<void> {
  for (let each = 0; each < 3; each += 1)
    await thresholds.create(systemCaller, { ...busy, name: `Noise ${each}` });
  await thresholds.create(systemCaller, { ...busy, name: "Disk", metric: "mount.used_bytes" });
  await thresholds.create(systemCaller, { ...busy, name: "Tasks", metric: "process.count" });
}

/** The alarms that were told to begin, of all but the noise. */
const toldOf = (test: TestOrchestrator): string[] =>
  alarmEvents(test)
    .flatMap((event) => (event.event_type === "metric.thresholdCrossed" ? [event.metadata.threshold] : []))
    .filter((threshold) => !threshold.startsWith("Noise"));

test("of a machine that flaps each threshold that has no part in it has its first alarm told", async () => {
  await using product = await createTestOrchestrator();
  await withNoise(product);
  const agent = await approved(product, 1);
  await flap(product, agent, { samples: 24 });
  expect(typesOf(product).at(-1)).toBe("alarmsFlapped");
  const before = alarmEvents(product).length;
  await flap(product, agent, { samples: 1, names: ["mount.used_bytes"] });
  expect(toldOf(product)).toEqual(["Disk"]);
  await flap(product, agent, { samples: 12, names: ["load.1", "mount.used_bytes"] });
  await flap(product, agent, { samples: 1, names: ["process.count"] });
  expect(toldOf(product)).toEqual(["Disk", "Tasks"]);
  // Hours later it is no more: what was told of the noise is long forgotten, and that it is noise is not.
  for (let each = 0; each < 12; each += 1) {
    await product.clock.advance(1_200_000);
    await flap(product, await connect(product, 1), { samples: 4 });
  }
  expect(alarmEvents(product)).toHaveLength(before + 2);
  await product.clock.advance(60_000 * 31);
  await waitFor(() => expect(typesOf(product).at(-1)).toBe("alarmsSettled"));
});

test("the alarm with which a machine begins to flap is told where its threshold has no part in it", async () => {
  await using product = await createTestOrchestrator();
  await withNoise(product);
  const agent = await approved(product, 1);
  await flap(product, agent, { samples: 20 });
  expect(typesOf(product)).toHaveLength(60);
  // One has come back meanwhile, which the disk takes; the processes are one too many.
  await flap(product, agent, { samples: 1, names: ["mount.used_bytes", "process.count"] });
  expect(typesOf(product).slice(60)).toEqual(["thresholdCrossed", "alarmsFlapped", "thresholdCrossed"]);
  expect(toldOf(product)).toEqual(["Disk", "Tasks"]);
});

test("a restart makes no threshold of a machine that flaps be told once more", async () => {
  const begin = restarts();
  const first = await begin();
  await withNoise(first);
  const agent = await approved(first, 1);
  await flap(first, agent, { samples: 24 });
  await flap(first, agent, { samples: 2, names: ["mount.used_bytes"] });
  expect(toldOf(first)).toEqual(["Disk"]);
  await first.orchestrator.stop();
  const again = await begin();
  onTestFinished(() => again.orchestrator.stop());
  const names = ["load.1", "mount.used_bytes", "process.count"];
  await flap(again, await connect(again, 1), { samples: 5, names });
  expect(toldOf(again)).toEqual(["Tasks"]);
  expect(typesOf(again)).toEqual(["thresholdCrossed"]);
});

test("an alarm that is told while a machine flaps keeps it from being told in sum for half an hour", async () => {
  await using product = await createTestOrchestrator();
  await withNoise(product);
  const memory = { name: "Memory", metric: "memory.used_bytes", severity: "critical" } as const;
  await product.orchestrator.thresholds.create(systemCaller, { ...busy, ...memory });
  await flap(product, await approved(product, 1), { samples: 24 });
  const rest = async (minutes: number): Promise<void> => {
    for (let minute = 0; minute < minutes; minute += 1) {
      await product.clock.advance(60_000);
      await settleAll();
    }
  };
  await rest(20);
  await flap(product, await connect(product, 1), { samples: 1, names: ["memory.used_bytes"] });
  expect(alarmEvents(product).at(-1)).toMatchObject({ severity: "critical" });
  await rest(28);
  expect(typesOf(product)).not.toContain("alarmsSettled");
  await rest(4);
  expect(typesOf(product).at(-1)).toBe("alarmsSettled");
});

test("what flaps is told in sum after a restart, once, and of who is rejected nothing is", async () => {
  const begin = restarts();
  const first = await begin();
  await first.orchestrator.thresholds.create(systemCaller, busy);
  const agents = [await approved(first, 1), await approved(first, 2)];
  for (const agent of agents) await flap(first, agent, { samples: 30 });
  await first.orchestrator.agents.setStatus(systemCaller, {
    node_id: agents[1]!.nodeId,
    status: "rejected",
  });
  await first.orchestrator.stop();
  const again = await begin();
  onTestFinished(() => again.orchestrator.stop());
  // It still flaps: it is not told that it does once more.
  await flap(again, await connect(again, 1), { samples: 4 });
  expect(typesOf(again)).toEqual([]);
  for (let minute = 0; minute < 40; minute += 1) {
    await again.clock.advance(60_000);
    await settleAll();
  }
  await waitFor(() => expect(typesOf(again)).toEqual(["alarmsSettled"]));
  expect(alarmEvents(again)[0]).toMatchObject({
    severity: "info",
    target: { id: agents[0]!.nodeId },
    metadata: { began: 7, ended: 7, alarms: 0 },
  });
});

test("a day that never gets quiet is told in sum all the same, and not before", async () => {
  await using product = await createTestOrchestrator();
  await product.orchestrator.thresholds.create(systemCaller, busy);
  await flap(product, await approved(product, 1), { samples: 30 });
  for (let quarter = 0; quarter < 97; quarter += 1) {
    await product.clock.advance(870_000);
    // It was away for so long that it comes again.
    await flap(product, await connect(product, 1), { samples: 2 });
  }
  const types = typesOf(product);
  const timesOf = (kind: string): number[] =>
    alarmEvents(product).flatMap(({ event_type, timestamp }) =>
      event_type === `metric.${kind}` ? Date.parse(timestamp) : [],
    );
  const [flapped, settled] = [timesOf("alarmsFlapped"), timesOf("alarmsSettled")];
  expect(settled).toHaveLength(1);
  const hours = (settled[0]! - flapped[0]!) / 3_600_000;
  expect(hours).toBeGreaterThanOrEqual(24);
  expect(hours).toBeLessThan(24.1);
  expect(types.length).toBeLessThan(60);
});

test("nothing is told of a machine that was rejected while it was written that it flaps", async () => {
  await using product = await createTestOrchestrator();
  const node_id = "0".repeat(32);
  const since = product.clock.now();
  const value = { node_id, severity: "warning", since, changed_at: since, began: 3, ended: 2 };
  await product.storage.commit([{ kind: "put", collection: "flapping_alarms", key: node_id, value }]);
  for (let minute = 0; minute < 33; minute += 1) {
    await product.clock.advance(60_000);
    await settleAll();
  }
  expect(await product.storage.count("flapping_alarms")).toBe(0);
  expect(typesOf(product)).toEqual([]);
});

test("a full disk spends nothing of what may be told", async () => {
  const data = new MemoryData();
  await using product = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  await product.orchestrator.thresholds.create(systemCaller, busy);
  const agent = await approved(product, 1);
  data.freeBytes = 0;
  for (let each = 0; each < 30; each += 1) {
    await product.clock.advance(15_000);
    await sendSample(product, agent, { "load.1": 5 });
  }
  data.freeBytes = Infinity;
  await product.clock.advance(15_000);
  await sendSample(product, agent, { "load.1": 5 });
  expect(typesOf(product)).toEqual(["thresholdCrossed"]);
});

test("who is approved again is told one by one as a newcomer is", async () => {
  await using product = await createTestOrchestrator();
  await product.orchestrator.thresholds.create(systemCaller, busy);
  let agent = await approved(product, 1);
  await flap(product, agent, { samples: 18 });
  for (const status of ["rejected", "approved"] as const)
    await product.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status });
  agent = await connect(product, 1);
  await flap(product, agent, { samples: 18 });
  expect(typesOf(product)).toHaveLength(36);
  expect(typesOf(product)).not.toContain("alarmsFlapped");
});

test("that alarms can't be written is logged once for each time that the disk is full", async () => {
  const data = new MemoryData();
  const logger = new RecordingLogger();
  await using product = await createTestOrchestrator({ storage: new MemoryStorage({ data }), logger });
  await product.orchestrator.thresholds.create(systemCaller, busy);
  const agent = await approved(product, 1);
  const warned: number[] = [];
  for (const { freeBytes, loads } of [
    { freeBytes: 0, loads: [5, 5, 5] },
    { freeBytes: Infinity, loads: [5] },
    { freeBytes: 0, loads: [1, 1, 1] },
  ]) {
    data.freeBytes = freeBytes;
    for (const load of loads) {
      await product.clock.advance(15_000);
      await sendSample(product, agent, { "load.1": load });
    }
    warned.push(logger.of("warn").filter((line) => line.startsWith("Alarms of an agent")).length);
  }
  data.freeBytes = Infinity;
  expect(warned).toEqual([1, 1, 2]);
});

test("what flapped of one threshold goes on in what is told of its machine", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds } = product.orchestrator;
  await thresholds.create(systemCaller, { ...busy, name: "Load", severity: "critical" });
  const others = ["process.count", "memory.used_bytes", "mount.used_bytes"];
  for (const metric of others) await thresholds.create(systemCaller, { ...busy, name: metric, metric });
  let agent = await approved(product, 1);
  await flap(product, agent, { samples: 26 });
  expect(typesOf(product).at(-1)).toBe("alarmsFlapped");
  // For so long that what was told of it one by one is forgotten.
  for (let each = 0; each < 10; each += 1) {
    await product.clock.advance(870_000);
    agent = await connect(product, 1);
    await flap(product, agent, { samples: 2 });
  }
  await flap(product, agent, { samples: 24, names: others });
  expect(typesOf(product).at(-1)).toBe("alarmsFlapped");
  const before = alarmEvents(product).length;
  await flap(product, agent, { samples: 2 });
  expect(alarmEvents(product)).toHaveLength(before);
  for (let minute = 0; minute < 32; minute += 1) {
    await product.clock.advance(60_000);
    await settleAll();
  }
  const types = typesOf(product);
  const [began, ended] = ["thresholdCrossed", "thresholdRecovered"].map(
    (told) => 24 + 3 * 12 - types.filter((type) => type === told).length,
  );
  const settled = alarmEvents(product).slice(before);
  expect(settled.map(({ event_type }) => event_type)).toEqual(["metric.alarmsSettled"]);
  expect(settled[0]!.metadata).toMatchObject({ threshold: null, began, ended, alarms: 0 });
});

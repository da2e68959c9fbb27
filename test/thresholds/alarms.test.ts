/** Thresholds with a real agent, whose machine is a recorded one. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { itemsOf } from "../support/all-pages.ts";
import { newFolders, startApprovedAgent, type TestAgent } from "../support/fleet.ts";
import { RecordedMachine } from "../support/recorded-machine.ts";
import { waitFor } from "../support/wait-for.ts";

type Machine = TestAgent & { machine: RecordedMachine; setLoad(load: string): void };

async function begin(product: TestOrchestrator): Promise<Machine> {
  const machine = new RecordedMachine();
  const agent = await startApprovedAgent(product, {
    ...newFolders(),
    clock: product.clock,
    measured: machine,
  });
  let now = "0.52";
  const setLoad = (load: string): void => {
    machine.change("/proc/loadavg", now, load);
    now = load;
  };
  return Object.assign(agent, { machine, setLoad });
}

const load = { name: "Busy", metric: "load.1", condition: "above", value: 4 } as const;

function told(product: TestOrchestrator): { type: string; facts: unknown }[] {
  return product.events
    .filter(({ event_type }) => /^metric\.threshold(Crossed|Recovered)$/.test(event_type))
    .map(({ event_type, metadata }) => ({
      type: event_type.slice("metric.threshold".length),
      facts: metadata,
    }));
}

const alarmsOf = async (product: TestOrchestrator) =>
  (await product.orchestrator.thresholds.alarms(systemCaller)).items;

/** Lets samples come for so many seconds. */
async function pass(product: TestOrchestrator, seconds: number): Promise<void> {
  for (let each = 0; each < seconds; each += 15) {
    await product.clock.advance(15_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("an alarm begins after its duration, is listed and told, recovers, and begins again", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds } = product.orchestrator;
  await using agent = await begin(product);
  const { id } = await thresholds.create(systemCaller, { ...load, for_seconds: 60, severity: "critical" });
  await pass(product, 120);
  expect(told(product)).toEqual([]);
  agent.setLoad("5.25");
  await pass(product, 45);
  expect(await alarmsOf(product)).toEqual([]);
  await pass(product, 60);
  await waitFor(async () => expect(await alarmsOf(product)).toHaveLength(1));
  const [alarm] = await alarmsOf(product);
  expect(alarm).toMatchObject({
    threshold_id: id,
    threshold: "Busy",
    severity: "critical",
    series: "load.1",
  });
  expect(alarm).toMatchObject({ node_id: agent.nodeId, value: 5.25 });
  expect(Date.parse(alarm!.crossed_at) - Date.parse(alarm!.since)).toBe(60_000);
  const crossed = product.events.find(({ event_type }) => event_type === "metric.thresholdCrossed");
  expect(crossed).toMatchObject({ severity: "critical", target: { type: "agent", id: agent.nodeId } });
  expect(crossed?.summary).toMatch(/^Busy: load\.1 of .* is 5\.25, above 4$/);
  agent.setLoad("1.00");
  await pass(product, 120);
  await waitFor(async () => expect(await alarmsOf(product)).toEqual([]));
  agent.setLoad("9.00");
  await pass(product, 120);
  await waitFor(async () => expect(await alarmsOf(product)).toHaveLength(1));
  expect(told(product).map(({ type }) => type)).toEqual(["Crossed", "Recovered", "Crossed"]);
  expect(told(product)[1]?.facts).toMatchObject({ value: 1, reason: "recovered" });
});

test("alarms outlive the process, and end in the next one where nothing stands behind them any more", async () => {
  const data = new MemoryData();
  const clock = new FakeClock();
  const first = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const product = { ...first, clock };
  const { thresholds } = product.orchestrator;
  const agent = await begin(product);
  const { id } = await thresholds.create(systemCaller, { ...load, for_seconds: 0 });
  agent.setLoad("5.00");
  await pass(product, 30);
  await waitFor(async () => expect(await alarmsOf(product)).toHaveLength(1));
  const before = await alarmsOf(product);
  await agent.agent.stop();
  await product.orchestrator.stop();
  await using again = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  expect(await alarmsOf(again)).toEqual(before);
  await again.orchestrator.thresholds.remove(systemCaller, { id });
  await waitFor(async () => expect(await alarmsOf(again)).toEqual([]));
  expect(told(again).map(({ type }) => type)).toEqual(["Recovered"]);
});

test.each<[what: string, change: object]>([
  ["limit", { value: 8 }],
  ["limit of recovery", { recovery_value: 2 }],
  ["duration", { for_seconds: 61 }],
  ["duration of recovery", { recovery_seconds: 30 }],
  ["severity", { severity: "critical" }],
  ["name", { name: "Busier" }],
])(
  "durations begin with a change of the %s: what was measured before counts for nothing",
  async (_what, change) => {
    await using product = await createTestOrchestrator();
    const { thresholds } = product.orchestrator;
    await using agent = await begin(product);
    const { id } = await thresholds.create(systemCaller, { ...load, for_seconds: 60 });
    agent.setLoad("9.00");
    await pass(product, 60);
    const { changed_at } = await thresholds.update(systemCaller, { id, ...change });
    await pass(product, 45);
    expect(await alarmsOf(product)).toEqual([]);
    await pass(product, 60);
    await waitFor(async () => expect(await alarmsOf(product)).toHaveLength(1));
    const [alarm] = await alarmsOf(product);
    expect(Date.parse(alarm!.since)).toBeGreaterThan(Date.parse(changed_at));
  },
);

test("an alarm ends where its threshold is removed, disabled, for others or for something else", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds } = product.orchestrator;
  await using agent = await begin(product);
  agent.setLoad("5.00");
  const changes = [
    (id: string) => thresholds.remove(systemCaller, { id }),
    (id: string) => thresholds.update(systemCaller, { id, enabled: false }),
    (id: string) => thresholds.update(systemCaller, { id, selector: "role=none" }),
    (id: string) => thresholds.update(systemCaller, { id, metric: "load.15" }),
  ];
  for (const change of changes) {
    const { id } = await thresholds.create(systemCaller, { ...load, for_seconds: 0 });
    await pass(product, 30);
    await waitFor(async () => expect(await alarmsOf(product)).toHaveLength(1));
    await change(id);
    await waitFor(async () => expect(await alarmsOf(product)).toEqual([]));
    expect(told(product).at(-1)).toMatchObject({
      type: "Recovered",
      facts: { reason: "withdrawn", value: null },
    });
  }
});

test("an agent that is rejected takes its alarms along", async () => {
  await using product = await createTestOrchestrator();
  await using agent = await begin(product);
  await product.orchestrator.thresholds.create(systemCaller, { ...load, for_seconds: 0 });
  agent.setLoad("5.00");
  await pass(product, 30);
  await waitFor(async () => expect(await alarmsOf(product)).toHaveLength(1));
  await product.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "rejected" });
  await waitFor(async () => expect(await alarmsOf(product)).toEqual([]));
});

test("a threshold is read, changed and removed as it was given, and refused where it makes no sense", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds } = product.orchestrator;
  const disk = { metric: "mount.used_bytes", percent_of: "mount.total_bytes", condition: "above" } as const;
  const made = await thresholds.create(systemCaller, {
    name: "Disk full",
    ...disk,
    value: 90,
    recovery_value: 85,
  });
  expect(made).toMatchObject({
    ...disk,
    for_seconds: 300,
    recovery_seconds: 60,
    severity: "warning",
    enabled: true,
  });
  const { id } = made;
  expect(await thresholds.get(systemCaller, { id })).toEqual(made);
  expect((await thresholds.list(systemCaller)).items).toEqual([made]);
  const changed = await thresholds.update(systemCaller, {
    id,
    percent_of: null,
    recovery_value: null,
    value: 5,
  });
  expect(changed).not.toHaveProperty("percent_of");
  expect(changed).toMatchObject({ value: 5, version: 2, for_seconds: 300 });
  const wrong: [object, string][] = [
    [{ recovery_value: 6 }, "recovery_value"],
    [{ metric: "Load 5" }, "metric"],
    [{ for_seconds: 86_401 }, "for_seconds"],
    [{ value: Number.NaN }, "value"],
    [{ name: "two\nlines" }, "name"],
  ];
  for (const [input, place] of wrong)
    await expect(thresholds.update(systemCaller, { id, ...input })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [expect.objectContaining({ path: [place] })],
    });
  await expect(thresholds.update(systemCaller, { id, selector: "role=" })).rejects.toMatchObject({
    code: "SELECTOR_INVALID",
  });
  await expect(thresholds.remove(systemCaller, { id }, { ifVersion: [1] })).rejects.toMatchObject({
    code: "PRECONDITION_FAILED",
  });
  expect(await thresholds.get(systemCaller, { id })).toEqual(changed);
  await thresholds.remove(systemCaller, { id });
  await expect(thresholds.get(systemCaller, { id })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("pages of alarms, put together, are the whole list, whatever is filtered", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds } = product.orchestrator;
  await using agent = await begin(product);
  for (const severity of ["info", "critical", "info", "critical", "info"] as const)
    await thresholds.create(systemCaller, { ...load, value: 0, for_seconds: 0, severity });
  await pass(product, 30);
  await waitFor(async () => expect(await alarmsOf(product)).toHaveLength(5));
  const all = await alarmsOf(product);
  for (const filter of [{}, { severity: "info" }, { node_id: agent.nodeId, severity: "critical" }] as const)
    for (const limit of [1, 2, 3, 5]) {
      const found = await itemsOf((page) => thresholds.alarms(systemCaller, { ...filter, ...page }), limit);
      const wanted = all.filter(({ severity }) => !("severity" in filter) || severity === filter.severity);
      expect(found.map(({ id }) => id).toSorted()).toEqual(wanted.map(({ id }) => id).toSorted());
    }
});

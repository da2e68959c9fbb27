import { expect, onTestFinished, test, vi } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { SeriesStorage } from "../../lib/storage/storage.ts";
import type { AgentMessage } from "../../lib/wire/messages.ts";
import { deferred, settleAll } from "../support/deferred.ts";
import { eventOf, newFolders, startApprovedAgent, type TestAgent } from "../support/fleet.ts";
import { approved } from "../support/leaving-agents.ts";
import { RecordedMachine } from "../support/recorded-machine.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { sendSample } from "../support/sent-samples.ts";
import { waitFor } from "../support/wait-for.ts";

async function begin(test: TestOrchestrator): Promise<TestAgent & { machine: RecordedMachine }> {
  const machine = new RecordedMachine();
  const agent = await startApprovedAgent(test, { ...newFolders(), clock: test.clock, measured: machine });
  return Object.assign(agent, { machine });
}

const latest = (test: TestOrchestrator, node_id: string) =>
  test.orchestrator.metrics.latest(systemCaller, { node_id });

test("an agent's newest sample is there when it was taken", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await begin(test);
  const { nodeId: node_id } = agent;
  await expect(latest(test, node_id)).rejects.toMatchObject({ code: "NO_METRICS" });
  await test.clock.advance(2_000);
  await waitFor(async () =>
    expect(await latest(test, node_id)).toMatchObject({
      node_id,
      collected_at: "2030-01-01T00:00:02.000Z",
      values: { "load.1": 0.52, "memory.total_bytes": 8_192_000_000 },
    }),
  );
  agent.machine.change("/proc/loadavg", "0.52", "3.25");
  await test.clock.advance(15_000);
  await waitFor(async () => expect((await latest(test, node_id)).values["load.1"]).toBe(3.25));
});

test("history is points of equal steps, of the series that were asked for, with gaps where nothing was measured", async () => {
  await using test = await createTestOrchestrator();
  const agent = await begin(test);
  const { nodeId: node_id } = agent;
  for (let minute = 0; minute < 30; minute++) await test.clock.advance(60_000);
  await agent.agent.stop();
  await eventOf(test, "agent.disconnected", node_id);
  await test.clock.advance(600_000);
  await using _again = await startApprovedAgainAs(test, agent);
  for (let minute = 0; minute < 5; minute++) await test.clock.advance(60_000);
  const { orchestrator } = test;
  const series = ["load.1", "nothing.of_that_name"];
  const history = await orchestrator.metrics.history(systemCaller, { node_id, series });
  expect(history).toMatchObject({ node_id, step_seconds: 15, series: [{ name: "load.1", unit: "count" }] });
  const points = history.series[0]?.points ?? [];
  expect(points.length).toBeGreaterThan(130);
  expect(points.filter(([, value]) => value === null)).toEqual([
    [Date.parse("2030-01-01T00:30:00.000Z"), null],
  ]);
  expect(points.filter(([, value]) => value !== null && value !== 0.52)).toEqual([]);
  const range = { from: "2030-01-01T00:00:00Z", to: "2030-01-01T00:10:00Z", step_seconds: 60 };
  const minutes = await orchestrator.metrics.history(systemCaller, { node_id, ...range });
  expect(minutes).toMatchObject({
    from: "2030-01-01T00:00:00.000Z",
    to: "2030-01-01T00:10:00.000Z",
    step_seconds: 60,
  });
  expect(minutes.series.length).toBeGreaterThan(20);
  expect(minutes.series.find(({ name }) => name === "load.1")?.points).toHaveLength(10);
});

test("samples are acknowledged when they are durable, and then the agent keeps none", async () => {
  await using test = await createTestOrchestrator();
  const said: unknown[] = [];
  const send = test.transport.send.bind(test.transport);
  test.transport.send = (nodeId, message) => {
    said.push(message.type);
    return send(nodeId, message);
  };
  await using agent = await begin(test);
  await test.clock.advance(2_000);
  await waitFor(() => latest(test, agent.nodeId));
  expect(said).not.toContain("metrics.ack");
  await test.clock.advance(1_000);
  await waitFor(() => expect(said.filter((type) => type === "metrics.ack")).toHaveLength(1));
  // Then once a minute, while it sends one sample at a time.
  for (let step = 0; step < 20; step++) await test.clock.advance(15_000);
  await waitFor(() => expect(said.filter((type) => type === "metrics.ack")).toHaveLength(6));
});

test("samples that can't be made durable are not acknowledged, and come again", async () => {
  await using test = await createTestOrchestrator();
  const series = test.storage.series!;
  let isFull = true;
  const sync = series.sync.bind(series);
  series.sync = () => (isFull ? Promise.reject(new Error("full")) : sync());
  const heard: AgentMessage[] = [];
  await using agent = await begin(test);
  const { nodeId: node_id } = agent;
  for (let step = 0; step < 40; step++) await test.clock.advance(15_000);
  isFull = false;
  for (let step = 0; step < 80; step++) await test.clock.advance(15_000);
  const history = await test.orchestrator.metrics.history(systemCaller, { node_id, series: ["load.1"] });
  const points = history.series[0]?.points ?? [];
  // Each time once, without a gap.
  expect(points.length).toBeGreaterThan(110);
  expect(points.filter(([, value]) => value !== 0.52)).toEqual([]);
  expect(heard).toEqual([]);
});

test("agents are told of an interval that is not the usual one", async () => {
  await using test = await createTestOrchestrator({ metricsIntervalSeconds: 60 });
  await using agent = await begin(test);
  const { nodeId: node_id } = agent;
  for (let step = 0; step < 40; step++) await test.clock.advance(15_000);
  const history = await test.orchestrator.metrics.history(systemCaller, { node_id, series: ["load.1"] });
  expect(history.step_seconds).toBe(60);
  expect(history.series[0]?.points.length).toBeGreaterThan(8);
  expect(history.series[0]?.points.length).toBeLessThan(13);
});

test("an agent is told its interval with a time until which that is of use", async () => {
  await using test = await createTestOrchestrator({ metricsIntervalSeconds: 60 });
  await using agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const { not_after, metrics_interval_seconds } = await agent.next("config");
  expect([Date.parse(not_after) - test.clock.now(), metrics_interval_seconds]).toEqual([300_000, 60]);
});

test("with an agent its metrics go, and its key comes back with none", async () => {
  await using test = await createTestOrchestrator();
  const { orchestrator } = test;
  const agent = await begin(test);
  const { nodeId: node_id } = agent;
  await test.clock.advance(20_000);
  await waitFor(() => latest(test, node_id));
  await agent.agent.stop();
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await orchestrator.agents.remove(systemCaller, { node_id });
  await expect(latest(test, node_id)).rejects.toMatchObject({ code: "NOT_FOUND" });
  await waitFor(async () =>
    expect(await test.storage.series?.query(node_id, { from: 0, to: Infinity })).toEqual({}),
  );
});

test.each([
  ["20 hours", 20, 15_000],
  ["20 days", 480, 300_000],
])(
  "the newest sample of an agent that was away for %s is found without reading all that there is",
  async (_, hours, intervalMs) => {
    await using test = await createTestOrchestrator();
    await using agent = await connectScriptedAgent(test);
    const { nodeId: node_id } = agent;
    const series = test.storage.series!;
    const end = test.clock.now();
    const rows = Array.from({ length: 3_000 }, (_, n) => ({
      at: end - n * intervalMs,
      values: { "load.1": n },
    }));
    await series.append(node_id, rows.toReversed());
    await test.clock.advance(hours * 3_600_000);
    const query = vi.spyOn(series, "query");
    onTestFinished(() => query.mockRestore());
    expect(await latest(test, node_id)).toEqual({
      node_id,
      collected_at: new Date(end).toISOString(),
      values: { "load.1": 0 },
    });
    // The storage looks for it from its newest chunk on.
    expect(query).not.toHaveBeenCalled();
  },
);

test("an agent that was removed while its samples were taken in leaves none", async () => {
  await using test = await createTestOrchestrator();
  const { orchestrator, storage } = test;
  const series = storage.series!;
  await using agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const [asked, held] = [deferred(), deferred()];
  const newest = vi.spyOn(series, "newest").mockImplementationOnce(async () => {
    asked.resolve();
    await held.promise;
    return null;
  });
  onTestFinished(() => newest.mockRestore());
  const at = new Date(test.clock.now()).toISOString();
  agent.link.send({ type: "metrics", samples: [{ at, values: { "load.1": 1 } }], gap: false });
  await asked.promise;
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await orchestrator.agents.remove(systemCaller, { node_id });
  await settleAll();
  held.resolve();
  await settleAll();
  expect(await series.query(node_id, { from: 0, to: Infinity })).toEqual({});
});

test("an agent that was removed and taken in again keeps over a restart what it measured since", async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  const start = async (): Promise<TestOrchestrator> => {
    const storage = new MemoryStorage({ clock, data });
    return { ...(await createTestOrchestrator({ clock, storage })), clock };
  };
  const first = await start();
  const { nodeId: node_id } = await approved(first, 1);
  const { agents } = first.orchestrator;
  await agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await agents.remove(systemCaller, { node_id });
  await settleAll();
  const again = await approved(first, 1);
  await sendSample(first, again, { "load.1": 5 });
  await first.orchestrator.stop();
  await using second = await start();
  await settleAll();
  expect(await latest(second, node_id)).toMatchObject({ values: { "load.1": 5 } });
});

test("an agent that was removed and taken in again may bring as many new names as any other", async () => {
  await using test = await createTestOrchestrator();
  const { agents } = test.orchestrator;
  let agent = await connectScriptedAgent(test);
  const { keys, nodeId: node_id } = agent;
  for (const turn of ["first", "second"]) {
    if (turn === "second") agent = await connectScriptedAgent(test, keys);
    const { link } = agent;
    await agents.setStatus(systemCaller, { node_id, status: "approved" });
    for (let part = 0; part < 5; part += 1) {
      const values = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`${turn}.n_${part}_${n}`, n]));
      const at = new Date(test.clock.now()).toISOString();
      link.send({ type: "metrics", samples: [{ at, values }], gap: false });
      await waitFor(async () => expect((await latest(test, node_id)).collected_at).toBe(at));
      await test.clock.advance(15_000);
    }
    const stored = await test.storage.series!.query(node_id, { from: 0, to: Infinity });
    expect(Object.keys(stored)).toHaveLength(1_000);
    await link.stop();
    await waitFor(() => expect(test.transport.isConnected(node_id)).toBe(false));
    await agents.setStatus(systemCaller, { node_id, status: "rejected" });
    await agents.remove(systemCaller, { node_id });
    await settleAll();
  }
});

test("an agent brings 1,000 new names an hour, also where it comes again and again; what it brought before is not new", async () => {
  await using test = await createTestOrchestrator();
  const first = await connectScriptedAgent(test);
  const { keys, nodeId: node_id } = first;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await first.link.stop();
  const known = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`known.n_${n}`, n]));
  /** Comes, brings what is known and two samples with names that were never there, and leaves. */
  const visit = async (turn: number): Promise<void> => {
    await waitFor(() => expect(test.transport.isConnected(node_id)).toBe(false));
    await using agent = await connectScriptedAgent(test, keys);
    const sample = (offset: number, values: Record<string, number>) => ({
      at: new Date(test.clock.now() - 30_000 + offset * 15_000).toISOString(),
      values: { ...known, ...values },
    });
    const fresh = (half: number) =>
      Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`fresh.turn_${turn}_${half}_${n}`, n]));
    agent.link.send({
      type: "metrics",
      samples: [sample(0, fresh(0)), sample(1, fresh(1)), sample(2, {})],
      gap: false,
    });
    await waitFor(async () => expect((await latest(test, node_id)).collected_at).toBe(sample(2, {}).at));
    await test.clock.advance(60_000);
  };
  for (let turn = 0; turn < 12; turn++) await visit(turn);
  const stored = await test.storage.series!.query(node_id, { from: 0, to: Infinity });
  const names = Object.keys(stored);
  expect(names).toHaveLength(1_000);
  expect(stored["known.n_7"]).toHaveLength(36);
});

test("a range that ends before it begins is refused", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await begin(test);
  const range = { from: "2030-01-01T01:00:00Z", to: "2030-01-01T00:00:00Z" };
  const history = test.orchestrator.metrics.history(systemCaller, { node_id: agent.nodeId, ...range });
  await expect(history).rejects.toMatchObject({ code: "VALIDATION_FAILED", issues: [{ path: ["to"] }] });
});

/** The same machine, with an agent that was started anew. */
async function startApprovedAgainAs(
  test: TestOrchestrator,
  { root, stateDir, machine }: Awaited<ReturnType<typeof begin>>,
) {
  const { startAgent } = await import("../support/fleet.ts");
  return startAgent(test, { root, stateDir, clock: test.clock, measured: machine });
}

test.each([
  [
    "could not be stored",
    (full: () => boolean, series: SeriesStorage) => {
      const append = series.append.bind(series);
      series.append = (...given) =>
        full() ? Promise.reject(new OrchestratorError("STORAGE_FULL")) : append(...given);
    },
  ],
  [
    "were not read while the disk was full",
    (full: () => boolean, series: SeriesStorage) => {
      series.fault = () => (full() ? "full" : null);
    },
  ],
])("samples that %s come again, wherever that begins and ends", async (_, breakIt) => {
  for (const [from, to] of [
    [0, 1],
    [0, 3],
    [2, 3],
    [2, 6],
  ] as const) {
    await using test = await createTestOrchestrator();
    let step = 0;
    breakIt(() => step >= from && step < to, test.storage.series!);
    await using agent = await begin(test);
    const { nodeId: node_id } = agent;
    for (; step < 60; step += 1) await test.clock.advance(15_000);
    const range = { from: "2030-01-01T00:00:00Z", to: "2030-01-01T00:10:00Z", step_seconds: 15 };
    const { series } = await test.orchestrator.metrics.history(systemCaller, {
      node_id,
      series: ["load.1"],
      ...range,
    });
    expect(
      series[0]?.points.map(([, value]) => value),
      `${from} to ${to}`,
    ).toEqual(Array.from({ length: 40 }, () => 0.52));
  }
});

test("nothing behind a sample that is missing is acknowledged, also where the agent says that it dropped some", async () => {
  await using test = await createTestOrchestrator();
  const send = vi.spyOn(test.transport, "send");
  const agent = await approved(test, 1);
  const append = vi.spyOn(test.storage.series!, "append");
  append.mockRejectedValueOnce(new OrchestratorError("STORAGE_FULL"));
  const start = test.clock.now();
  const say = async (second: number, gap: boolean): Promise<void> => {
    const at = new Date(start + second * 1_000).toISOString();
    agent.say({ type: "metrics", samples: [{ at, values: { "load.1": second } }], gap });
    await settleAll();
    await test.clock.advance(2_000);
  };
  const acknowledged = (): unknown[] =>
    send.mock.calls.map(([, message]) => message).filter(({ type }) => type === "metrics.ack");
  await say(0, false);
  await say(15, true);
  expect([append.mock.calls.length, acknowledged()]).toEqual([1, []]);
  // It goes back to the oldest that it has.
  await say(0, false);
  expect(append.mock.calls.length).toBe(2);
  expect(acknowledged()).toMatchObject([{ through: new Date(start).toISOString() }]);
});

test.each([1, 3])(
  "samples that could not be stored are taken when they come again, %i in one message",
  async (count) => {
    await using test = await createTestOrchestrator();
    const agent = await approved(test, 1);
    vi.spyOn(test.storage.series!, "append").mockRejectedValueOnce(new OrchestratorError("STORAGE_FULL"));
    const start = test.clock.now();
    const samples = Array.from({ length: count }, (_, at) => ({
      at: new Date(start + (at + 1 - count) * 15_000).toISOString(),
      values: { "load.1": at },
    }));
    const stored: unknown[] = [];
    for (let time = 0; time < 2; time += 1) {
      agent.say({ type: "metrics", samples, gap: false });
      await settleAll();
      await test.clock.advance(2_000);
      stored.push((await test.storage.series!.newest(agent.nodeId))?.values["load.1"]);
    }
    expect(stored).toEqual([undefined, count - 1]);
  },
);

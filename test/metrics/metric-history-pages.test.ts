import { describe, expect, test, vi } from "vitest";
import { systemCaller, type Caller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { toTimestamp } from "../../lib/clock.ts";
import { encodeCursor } from "../../lib/internal/cursor.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { waitFor } from "../support/wait-for.ts";

// An agent may bring 1,000 new names an hour. One answer had the series of all of them: 24,000 for a day, and the memory that they take.

const names = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `custom.n_${String(n).padStart(4, "0")}`);

/** An agent of whom so many series are stored. */
async function agentWith(test: TestOrchestrator, count: number): Promise<string> {
  await using agent = await connectScriptedAgent(test);
  const at = test.clock.now();
  for (const [index, name] of names(count).entries())
    await test.storage.series?.append(agent.nodeId, [{ at: at + index, values: { [name]: index } }]);
  await test.clock.advance(60_000);
  return agent.nodeId;
}

const from = "2030-01-01T00:00:00Z";

describe("the history of an agent with many series", () => {
  test("an answer has the first 200 by name, and the cursor for the next of the same range", async () => {
    await using test = await createTestOrchestrator();
    const node_id = await agentWith(test, 450);
    const { metrics } = test.orchestrator;
    const ask = (more: object = {}) => metrics.history(systemCaller, { node_id, from, ...more });
    const first = await ask();
    expect(first.series.map(({ name }) => name)).toEqual(names(200));
    await test.clock.advance(600_000);
    const second = await ask({ cursor: first.next_cursor });
    expect(second).toMatchObject({ from: first.from, to: first.to, step_seconds: first.step_seconds });
    const third = await ask({ cursor: second.next_cursor });
    expect([second, third].flatMap(({ series }) => series.map(({ name }) => name))).toEqual(
      names(450).slice(200),
    );
    expect(third.next_cursor).toBeNull();
    const some = await ask({ limit: 3, series: names(5) });
    expect(some.series.map(({ name }) => name)).toEqual(names(3));
    const rest = await ask({ limit: 3, series: names(5), cursor: some.next_cursor });
    expect(rest.series.map(({ name }) => name)).toEqual(names(5).slice(3));
    expect(rest.next_cursor).toBeNull();
  });

  test("a cursor is for the question that it came of", async () => {
    await using test = await createTestOrchestrator();
    const node_id = await agentWith(test, 3);
    const { metrics } = test.orchestrator;
    const ask = (caller: Caller, more: object) =>
      metrics.history(caller, { node_id, from, limit: 1, ...more });
    const { next_cursor: cursor } = await ask(systemCaller, {});
    for (const more of [{ cursor, step_seconds: 60 }, { cursor, series: ["a"] }, { cursor: "e30" }])
      await expect(ask(systemCaller, more)).rejects.toMatchObject({ code: "CURSOR_INVALID" });
    for (const limit of [0, 201])
      await expect(ask(systemCaller, { limit })).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  });

  test("a cursor that somebody made up asks for no range that could not be asked for", async () => {
    await using test = await createTestOrchestrator();
    const node_id = await agentWith(test, 3);
    const { metrics } = test.orchestrator;
    const at = test.clock.now();
    const ask = (place: unknown) => {
      const position = typeof place === "string" ? place : JSON.stringify(place);
      const cursor = encodeCursor("metric_history", { node_id, from }, position);
      return metrics.history(systemCaller, { node_id, from, cursor });
    };
    expect(await ask([at - 60_000, at, 60_000, ""])).toMatchObject({ series: [{}, {}, {}] });
    expect(await ask([at - 2_001_000, at, 1_000, ""])).toMatchObject({ step_seconds: 1 });
    const made: unknown[] = [
      "no list",
      "null",
      {},
      [],
      [at, at, 60_000, ""],
      [at, at - 60_000, 60_000, ""],
      [at - 60_000, at, 0, ""],
      [at - 60_000, at, 0.5, ""],
      [at - 60_000, at, -60_000, ""],
      [at - 2_002_000, at, 1_000, ""],
      [at - 60_000, at, 60_000],
      [at - 60_000, at, 60_000, 5],
      [`${at - 60_000}`, at, 60_000, ""],
      [at - 60_000, `${at}`, 60_000, ""],
      [at - 60_000, at, "60000", ""],
      [null, at, at, ""],
      [at - 60_000, 9e15, 9e15, ""],
      [-9e15, at, 8e15, ""],
      `[0, 1e999, 1, ""]`,
    ];
    for (const place of made)
      await expect(ask(place), JSON.stringify(place)).rejects.toMatchObject({ code: "CURSOR_INVALID" });
  });

  test("a storage is asked for no more series than are told", async () => {
    await using test = await createTestOrchestrator();
    const node_id = await agentWith(test, 450);
    const query = vi.spyOn(test.storage.series!, "query");
    await test.orchestrator.metrics.history(systemCaller, { node_id, from });
    expect(Object.keys((await query.mock.results[0]?.value) as object)).toHaveLength(201);
    query.mockRestore();
  });

  test("is in the order of names, whatever order a storage gives them in", async () => {
    await using test = await createTestOrchestrator();
    const node_id = await agentWith(test, 5);
    const query = test.storage.series!.query.bind(test.storage.series);
    const other = vi.spyOn(test.storage.series!, "query");
    other.mockImplementation(async (...asked) => {
      const found = Object.entries(await query(...asked));
      return Object.fromEntries([3, 0, 4, 1, 2].map((at) => found[at]!));
    });
    const { series } = await test.orchestrator.metrics.history(systemCaller, { node_id, from });
    expect(series.map(({ name }) => name)).toEqual(names(5));
    other.mockRestore();
  });
});

test("the first samples of a connection have nothing read but the newest that is stored", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const query = vi.spyOn(test.storage.series!, "query");
  const at = (ago: number) => new Date(test.clock.now() - ago).toISOString();
  agent.link.send({
    type: "metrics",
    samples: [{ at: at(86_000_000), values: { "load.1": 1 } }],
    gap: false,
  });
  await waitFor(async () =>
    expect(await test.orchestrator.metrics.latest(systemCaller, { node_id })).toMatchObject({
      collected_at: at(86_000_000),
    }),
  );
  expect(query).not.toHaveBeenCalled();
  query.mockRestore();
});

test.each([
  ["an hour ago have gone by the next start", 1, {}],
  ["two days ago are not looked for any more", 48, { "load.1": expect.anything() as unknown }],
])("the metrics that a process left of an agent that it removed %s", async (_when, hours, left) => {
  const clock = new FakeClock();
  const data = new MemoryData();
  const first = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const node_id = "ab".repeat(32);
  const removed_at = toTimestamp(clock.now() - hours * 3_600_000);
  await first.storage.commit([
    { kind: "put", collection: "removed_agents", key: node_id, value: { node_id, removed_at } },
  ]);
  await first.storage.series?.append(node_id, [{ at: clock.now(), values: { "load.1": 1 } }]);
  await first.orchestrator.stop();
  await using second = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  await settleAll();
  expect(await second.storage.series?.query(node_id, { from: 0, to: Infinity })).toEqual(left);
});

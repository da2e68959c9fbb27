/** In which order alarms and thresholds are listed, and how many thresholds there may be. */
import { expect, test } from "vitest";
import { systemCaller, type Alarm, type Threshold } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { itemsOf } from "../support/all-pages.ts";
import { approved } from "../support/leaving-agents.ts";
import { sendSample } from "../support/sent-samples.ts";

const limit = { condition: "above", value: 4, for_seconds: 0, recovery_seconds: 0 } as const;

test("alarms are listed newest first, whatever they are filtered by and however long the pages are", async () => {
  await using fleet = await createTestOrchestrator();
  const { thresholds } = fleet.orchestrator;
  const metrics = ["load.1", "load.5", "load.15"];
  const made: Threshold[] = [];
  for (const [at, metric] of metrics.entries()) {
    const severity = at === 1 ? "critical" : "warning";
    made.push(await thresholds.create(systemCaller, { ...limit, name: metric, metric, severity }));
  }
  const agents = [];
  for (let number = 1; number <= 3; number += 1) agents.push(await approved(fleet, number));
  // Each a while after the one before, machines and metrics by turns.
  const values = new Map(agents.map((agent) => [agent, {} as Record<string, number>]));
  const expected: string[] = [];
  for (const [turn, metric] of [...metrics, ...metrics.toReversed(), ...metrics].entries()) {
    const agent = agents[(turn + Math.floor(turn / 3)) % 3]!;
    await fleet.clock.advance(15_000);
    const own = values.get(agent)!;
    if (!(metric in own)) expected.unshift(`${agent.nodeId} ${metric}`);
    own[metric] = 5;
    for (const [each, measured] of values) await sendSample(fleet, each, { "cpu.percent": 1, ...measured });
  }
  expect(expected.length).toBeGreaterThan(5);
  const textOf = ({ node_id, series }: Alarm): string => `${node_id} ${series}`;
  const filters = [
    {},
    { node_id: agents[0]!.nodeId },
    { threshold_id: made[0]!.id },
    { severity: "warning" },
    { severity: "critical", node_id: agents[1]!.nodeId },
    { threshold_id: made[2]!.id, node_id: agents[2]!.nodeId, severity: "warning" },
    { threshold_id: made[2]!.id, severity: "critical" },
  ] as const;
  const all = await thresholds.alarms(systemCaller);
  expect(all.items.map(textOf)).toEqual(expected);
  for (const filter of filters)
    for (const most of [1, 2, 3, 100]) {
      const found = await itemsOf((page) => thresholds.alarms(systemCaller, { ...filter, ...page }), most);
      const wanted = all.items.filter((alarm) =>
        Object.entries(filter).every(([field, value]) => alarm[field as keyof Alarm] === value),
      );
      expect([filter, found.map(textOf)]).toEqual([filter, wanted.map(textOf)]);
    }
  const { next_cursor } = await thresholds.alarms(systemCaller, { severity: "warning", limit: 1 });
  for (const other of [{}, { severity: "critical" }, { node_id: agents[0]!.nodeId }] as const)
    await expect(thresholds.alarms(systemCaller, { ...other, cursor: next_cursor! })).rejects.toMatchObject({
      code: "CURSOR_INVALID",
    });
});

test("there are a hundred thresholds at most, listed newest first, and one that is removed makes room", async () => {
  await using fleet = await createTestOrchestrator();
  const { thresholds } = fleet.orchestrator;
  const create = (name: string): Promise<Threshold> =>
    thresholds.create(systemCaller, { ...limit, name, metric: "load.1" });
  const made = [];
  for (let at = 0; at < 100; at += 1) made.push(await create(`t${at}`));
  const names = async (most: number) =>
    (await itemsOf((page) => thresholds.list(systemCaller, page), most)).map(({ name }) => name);
  const expected = made.map(({ name }) => name).toReversed();
  for (const most of [33, 99, 100, 101]) expect(await names(most)).toEqual(expected);
  const full = { code: "VALIDATION_FAILED" };
  await expect(create("one too many")).rejects.toMatchObject(full);
  const { id } = made[50]!;
  await expect(thresholds.remove(systemCaller, { id }, { ifVersion: [2] })).rejects.toMatchObject({
    code: "PRECONDITION_FAILED",
  });
  await expect(create("one too many")).rejects.toMatchObject(full);
  await thresholds.update(systemCaller, { id, enabled: false });
  await expect(create("one too many")).rejects.toMatchObject(full);
  await thresholds.remove(systemCaller, { id });
  await create("again");
  await expect(create("one too many")).rejects.toMatchObject(full);
});

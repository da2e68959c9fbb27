/**
 * Symptom: of two operations that waited for one agent, the later one ran first. Cause: after a start they were taken up in the order of
 * their ids, which go by a wall clock; that was set back between the two.
 */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { toJsonObject } from "../../lib/json.ts";
import type { OperationDocument } from "../../lib/operations/documents.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { createClockScene, year, type ClockScene } from "../support/clock-scene.ts";

async function queue(scene: ClockScene): Promise<string> {
  const input = { node_id: scene.nodeId, modules: ["motd"], wait_seconds: 0, when_offline: "queue" as const };
  return (await scene.server.orchestrator.operations.apply(systemCaller, input)).operation_id;
}

it("what waits begins in the order in which it was asked for, also over restarts with the clock set back", async () => {
  await using scene = await createClockScene();
  await scene.stopAgent();
  const asked = [await queue(scene)];
  for (const jump of [-year, 0, -year]) {
    await scene.stopServer();
    scene.serverClock.wallOffsetMs += jump;
    await scene.startServer();
    asked.push(await queue(scene), await queue(scene));
  }
  await scene.stopServer();
  await scene.startServer();
  const begun: string[] = [];
  servicesOf(scene.server.orchestrator).operations.store.watch((after, before) => {
    if (after.status === "running" && before === "queued") begun.push(after.operation_id);
  });
  await scene.startAgent();
  await scene.meet();
  await scene.pass(10_000);
  expect(begun).toEqual(asked);
});

it("what a freeze held goes on in the order in which it was asked for, also after a restart with the clock set back", async () => {
  await using scene = await createClockScene();
  await scene.stopAgent();
  const asked = [await queue(scene)];
  await scene.stopServer();
  scene.serverClock.wallOffsetMs -= year;
  await scene.startServer();
  const { maintenanceWindows } = scene.server.orchestrator;
  const inMs = (ms: number): { ends_at: string } => ({
    ends_at: new Date(scene.serverClock.now() + ms).toISOString(),
  });
  asked.push(await queue(scene));
  const freeze = { reason: "the database moves", mode: "freeze" as const, ...inMs(600_000) };
  const { id } = await maintenanceWindows.create(systemCaller, freeze);
  const begun: string[] = [];
  servicesOf(scene.server.orchestrator).operations.store.watch((after, before) => {
    if (after.status === "running" && before === "queued") begun.push(after.operation_id);
  });
  await scene.startAgent();
  await scene.meet();
  expect(begun).toEqual([]);
  await maintenanceWindows.update(systemCaller, { id, ...inMs(0) });
  for (let second = 0; second < 10; second += 1) await scene.pass(1_000);
  expect(begun).toEqual(asked);
});

it.each([
  ["that waits", "queued"],
  ["whose end nobody knows", "unknown"],
])(
  "an apply %s, of after a clock that was a year ahead, is newer than the baseline of that year",
  async (_what, status) => {
    await using scene = await createClockScene();
    await scene.stopServer();
    scene.serverClock.wallOffsetMs += year;
    await scene.startServer();
    await scene.meet();
    const { operation_id: operationId } = await scene.apply();
    await scene.stopAgent();
    await scene.stopServer();
    scene.serverClock.wallOffsetMs -= year;
    await scene.startServer();
    const repeatable = () =>
      servicesOf(scene.server.orchestrator).operations.repeatable(scene.nodeId, {
        operationId,
        modules: ["motd"],
      });
    expect(await repeatable()).not.toBeNull();
    const later = await queue(scene);
    expect(later < operationId).toBe(true);
    const { storage } = scene.server;
    const { value } = (await storage.get<OperationDocument>("operations", later))!;
    const ended = { ...value, status, ...(status === "unknown" && { begun_at: value.queued_at }) };
    await storage.commit([{ kind: "put", collection: "operations", key: later, value: toJsonObject(ended) }]);
    expect(await repeatable()).toBeNull();
  },
);

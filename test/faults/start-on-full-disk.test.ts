/** A server whose disk is full starts and serves reads, whatever its clock did meanwhile and whatever was open. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";

const hour = 3_600_000;
const day = 24 * hour;

it.each([
  ["as it was", 0, 0],
  ["an hour on", hour, 0],
  ["ten days ahead", 10 * day, 0],
  ["ten days ahead until then", -10 * day, 10 * day],
  ["ten days behind", -10 * day, 0],
])("with a clock that is %s", async (_, atStart, before) => {
  for (const reserveBytes of [65_536, 0]) {
    const clock = new FakeClock();
    const data = new MemoryData();
    clock.jump(before);
    const options = { clock, secretsKey: new Uint8Array(32).fill(1) };
    const scene = await createScene(2, () => ({}), {
      ...options,
      storage: new MemoryStorage({ clock, data }),
      operationGraceSeconds: 600,
    });
    const { orchestrator } = scene.test;
    const schedule = { cron: "0 * * * *" };
    await orchestrator.assignments.update(systemCaller, { name: "all", schedule });
    await orchestrator.maintenanceWindows.create(systemCaller, {
      reason: "x",
      mode: "mute",
      schedule: { cron: "* * * * *", duration_minutes: 1 },
    });
    await orchestrator.secrets.create(systemCaller, { name: "db", value: "hush-hush" });
    await orchestrator.rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
    await clock.advance(5_000);
    await settleAll();
    for (const { agent } of scene.agents) await agent.link.stop();
    await orchestrator.stop();
    data.freeBytes = 0;
    data.reserveBytes = reserveBytes;
    clock.jump(atStart);
    const again = await createTestOrchestrator({
      ...options,
      storage: new MemoryStorage({ clock, data }),
      operationGraceSeconds: 1,
    });
    expect((await again.orchestrator.agents.list(systemCaller)).items).toHaveLength(2);
    await again.orchestrator.stop();
  }
});

/** What a freeze held and whose time is over before its turn has come again says so, and not that its agent is away. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { settle } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

it("work that expires while what was held goes on ends for want of the window", async () => {
  await using scene = await createScene(5, undefined, { driftIntervalSeconds: 0 });
  const { operations, maintenanceWindows } = scene.test.orchestrator;
  const pass = async (ms: number, stepMs: number): Promise<void> => {
    for (let left = ms; left > 0; left -= stepMs) {
      await scene.clock.advance(Math.min(left, stepMs));
      for (let turn = 0; turn < 4; turn += 1) await settle();
    }
  };
  const ids: string[] = [];
  for (const { agent, nodeId } of scene.agents) {
    await agent.link.stop();
    const waiting = { when_offline: "queue", expires_in_seconds: 123, wait_seconds: 0 } as const;
    const asked = await operations.apply(systemCaller, { node_id: nodeId, modules: ["motd"], ...waiting });
    ids.push(asked.operation_id);
  }
  const ends_at = new Date(scene.clock.now() + 120_000).toISOString();
  await maintenanceWindows.create(systemCaller, { reason: "the database moves", mode: "freeze", ends_at });
  for (const { keys } of scene.agents) await connectScriptedAgent(scene.test, keys, scene.clock);
  await pass(119_000, 1_000);
  await pass(8_000, 100);
  const all = await Promise.all(ids.map((operation_id) => operations.get(systemCaller, { operation_id })));
  const codes = all.flatMap(({ error }) => (error ? [error.code] : []));
  expect(codes.length).toBeGreaterThan(0);
  expect(new Set(codes)).toEqual(new Set(["MAINTENANCE_WINDOW"]));
});

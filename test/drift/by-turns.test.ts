/**
 * Two enforced assignments whose modules spoil each other's work.
 *
 * Symptom: what drifted was applied again at every check, without a wait and without an end, and `drift.enforcementStopped` was never
 * told. Cause: repairs were counted for the part that was put back, and each time it was another part.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { servicesOf } from "../../lib/orchestrator.ts";
import { settleAll } from "../support/deferred.ts";
import { driftingAgent } from "../support/drifting-agent.ts";
import { endOf } from "../support/end-of-operation.ts";

const scene = driftingAgent();

async function check(): Promise<void> {
  const { nodeId: node_id } = scene.agent;
  await scene.fleet.orchestrator.drift.check(systemCaller, { node_id });
  await settleAll();
  const { items } = await scene.fleet.orchestrator.operations.list(systemCaller, { node_id });
  const { operations } = servicesOf(scene.fleet.orchestrator);
  await Promise.all(items.map(({ operation_id }) => endOf(operations, operation_id, 30)));
}

const timesTold = (): unknown[] =>
  scene.fleet.events.flatMap((event) =>
    event.event_type === "drift.enforced" ? [event.metadata.times] : [],
  );

it("parts of a machine that drift by turns are counted together until it is in sync", async () => {
  const { modules, assignments, operations } = scene.fleet.orchestrator;
  for (const name of ["web", "db"]) {
    const content = `name: ${name}\nresources:\n  - { id: f, type: file, path: /${name}, content: ours }\n`;
    await modules.upload(systemCaller, { content });
    await assignments.create(systemCaller, { name, selector: "*", modules: [name], enforce: true });
  }
  await operations.apply(systemCaller, { node_id: scene.agent.nodeId });
  const waitsMs = [0, 300_000, 900_000, 3_600_000, 14_400_000, 14_400_000];
  for (const [round, waitMs] of waitsMs.entries()) {
    await scene.fleet.clock.advance(waitMs);
    for (const name of round % 2 === 0 ? ["web", "db"] : ["db", "web"]) {
      writeFileSync(join(scene.agent.root, name), "theirs");
      await check();
      await scene.fleet.clock.advance(1_000);
    }
    // What another part needs at once waits with the first.
    expect(timesTold()).toEqual([1, 2, 3, 4, 5].slice(0, round + 1));
  }
  const stops = scene.fleet.events.filter(({ event_type }) => event_type === "drift.enforcementStopped");
  expect(stops).toHaveLength(1);
});

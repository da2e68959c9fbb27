/** An operation that is cancelled before, or in the moment in which, it begins: its agent never hears of it. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import type { Write } from "../../lib/storage/storage.ts";
import { settleAll } from "../support/deferred.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { createScene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

const begins = (write: Write): boolean =>
  write.kind === "put" &&
  write.collection === "operations" &&
  (write.value as { status?: unknown }).status === "running";

async function setUp() {
  const clock = new FakeClock();
  const storage = new RacingStorage((writes) => writes.some(begins), { clock });
  const scene = await createScene(1, () => ({}), { clock, storage, driftIntervalSeconds: 0 });
  const { agent, nodeId: node_id } = scene.agents[0]!;
  const { operations } = scene.test.orchestrator;
  const apply = () => operations.apply(systemCaller, { node_id, modules: ["motd"], wait_seconds: 0 });
  const statusOf = async (operation_id: string): Promise<string> =>
    (await operations.get(systemCaller, { operation_id })).status;
  return { scene, storage, agent, operations, apply, statusOf };
}

test("one that is cancelled while its beginning is written does not begin, and the next does", async () => {
  const { scene, storage, agent, operations, apply, statusOf } = await setUp();
  await using _ = scene;
  const cancelled: string[] = [];
  storage.before = async () => {
    const { items } = await operations.list(systemCaller, { status: "queued" });
    for (const { operation_id } of items) {
      const { status } = await operations.cancel(systemCaller, { operation_id });
      expect(status).toBe("cancelled");
      cancelled.push(operation_id);
    }
  };
  const { operation_id: first } = await apply();
  await settleAll();
  expect([cancelled, agent.commands]).toEqual([[first], []]);
  const { operation_id: second } = await apply();
  expect(await agent.next("apply")).toMatchObject({ operation_id: second });
  agent.link.send(emptyResult(second));
  await agent.next("ack");
  await settleAll();
  expect([await statusOf(first), await statusOf(second)]).toEqual(["cancelled", "succeeded"]);
});

test("one that waits behind another leaves the line, and nothing is said of it to the agent", async () => {
  const { scene, agent, operations, apply, statusOf } = await setUp();
  await using _ = scene;
  const { operation_id: first } = await apply();
  await agent.next("apply");
  const [{ operation_id: second }, { operation_id: third }] = [await apply(), await apply()];
  expect(await operations.cancel(systemCaller, { operation_id: second })).toMatchObject({
    status: "cancelled",
  });
  agent.link.send(emptyResult(first));
  expect(await agent.next("apply")).toMatchObject({ operation_id: third });
  await settleAll();
  expect(agent.commands.map(({ type }) => type)).toEqual(["apply", "ack", "apply"]);
  expect(await statusOf(second)).toBe("cancelled");
});

/** All that is open of a rollout is cancelled, whatever becomes of one of its operations in that moment. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import type { OperationDocument } from "../../lib/operations/documents.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { createScene } from "../support/rollout-scene.ts";

const isCancel = (value: unknown): boolean => (value as OperationDocument).cancel_requested === true;

it("where one has ended in the moment of its cancel the others are asked, and that is no failure", async () => {
  const storage = new RacingStorage((writes) =>
    writes.some(
      (write) => write.kind === "put" && write.collection === "operations" && isCancel(write.value),
    ),
  );
  await using scene = await createScene(3, undefined, {
    storage,
    secretsKey: new Uint8Array(32).fill(1),
  });
  const { runs } = scene.test.orchestrator;
  const run = { selector: "*", command: ["true"], wait_seconds: 0 };
  const { rollout_id } = await runs.start(systemCaller, run);
  const ids: string[] = [];
  for (const { agent } of scene.agents) ids.push((await agent.next("run")).operation_id);
  const { operations } = servicesOf(scene.test.orchestrator);
  storage.before = () => operations.outcomes.record(ids[0]!, { status: "succeeded" });
  await operations.cancelAll(systemCaller, rollout_id);
  expect(storage.before).toBeNull();
  const found = await Promise.all(ids.map((id) => operations.store.read(id)));
  expect(found.map(({ status, cancel_requested = false }) => [status, cancel_requested])).toEqual([
    ["succeeded", false],
    ["running", true],
    ["running", true],
  ]);
});

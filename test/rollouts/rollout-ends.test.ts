import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { settleAll } from "../support/deferred.ts";

it("the wait for the end of a rollout that is not there is refused at once, and leaves nothing that waits", async () => {
  await using test = await createTestOrchestrator();
  const before = test.clock.pendingTimers;
  const rollout_id = "019b0000-0000-7000-8000-000000000000";
  const asked = test.orchestrator.rollouts.get(systemCaller, { rollout_id, wait_seconds: 300 }).then(
    () => "found",
    (error: unknown) => (error as { code: string }).code,
  );
  const waited = settleAll().then(() => "waits");
  expect(await Promise.race([asked, waited])).toBe("NOT_FOUND");
  expect(test.clock.pendingTimers).toBe(before);
});

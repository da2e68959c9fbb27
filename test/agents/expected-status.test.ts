/** A decision about an agent that is meant for one that still waits. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { Write } from "../../lib/storage/storage.ts";
import { connect } from "../support/leaving-agents.ts";
import { RacingStorage } from "../support/racing-storage.ts";

const isApproval = (writes: readonly Write[]): boolean =>
  writes.some(
    (write) => write.kind === "put" && write.collection === "agents" && write.value["status"] === "approved",
  );

it("is refused where somebody decided between its look and its commit, and made where nothing but the agent moved", async () => {
  const storage = new RacingStorage(isApproval);
  await using test = await createTestOrchestrator({ storage });
  const { agents } = test.orchestrator;
  const { nodeId: node_id } = await connect(test, 1);
  const approve = { node_id, status: "approved", expected_status: "pending" } as const;
  storage.before = () => agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await expect(agents.setStatus(systemCaller, approve)).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
  expect(await agents.get(systemCaller, { node_id })).toMatchObject({ status: "rejected" });
  expect(test.events.filter(({ event_type }) => event_type === "agent.approved")).toEqual([]);

  const other = { ...approve, node_id: (await connect(test, 2)).nodeId };
  storage.before = () => agents.tags.set(systemCaller, { node_id: other.node_id, key: "a", value: "b" });
  expect(await agents.setStatus(systemCaller, other)).toMatchObject({ status: "approved" });
  await expect(agents.setStatus(systemCaller, { ...other, status: "rejected" })).rejects.toMatchObject({
    code: "INVALID_TRANSITION",
  });
});

it("pending agents are rejected although they move, and none about whom somebody decided", async () => {
  const storage = new RacingStorage();
  await using test = await createTestOrchestrator({ storage });
  const { agents } = test.orchestrator;
  const { nodeId: node_id } = await connect(test, 1);
  storage.before = () => agents.tags.set(systemCaller, { node_id, key: "a", value: "b" });
  expect(await agents.rejectPending(systemCaller)).toMatchObject({ rejected: 1 });
  const { nodeId: second } = await connect(test, 2);
  storage.before = () => agents.setStatus(systemCaller, { node_id: second, status: "approved" });
  expect(await agents.rejectPending(systemCaller)).toMatchObject({ rejected: 0 });
  expect(await agents.get(systemCaller, { node_id: second })).toMatchObject({ status: "approved" });
});

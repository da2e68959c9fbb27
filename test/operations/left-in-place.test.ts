/** What an apply was to take away and did not is believed to be there, whatever kept it from that; what is gone is not. */
import { expect, it } from "vitest";
import { systemCaller, type ResourceResult } from "fleetwright";
import { createScene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

const resource = {
  module: "motd",
  resource_id: "file:/etc/motd",
  type: "file",
  identity: "/etc/motd",
  changes: [],
  caused_by: [],
  attempts: 1,
  duration_ms: 1,
} satisfies Partial<ResourceResult>;

type Left = Pick<ResourceResult, "outcome" | "skipped_because"> & {
  status: "succeeded" | "partial" | "failed" | "cancelled";
  isThere: boolean;
};

const ends: Left[] = [
  { outcome: "failed", status: "failed", isThere: true },
  { outcome: "failed", status: "partial", isThere: true },
  { outcome: "skipped", skipped_because: "unattended", status: "succeeded", isThere: true },
  { outcome: "skipped", skipped_because: "cancelled", status: "cancelled", isThere: true },
  { outcome: "skipped", skipped_because: "dependency", status: "succeeded", isThere: true },
  { outcome: "skipped", skipped_because: "dependency", status: "partial", isThere: true },
  { outcome: "changed", status: "succeeded", isThere: false },
  { outcome: "changed", status: "cancelled", isThere: false },
  { outcome: "unchanged", status: "succeeded", isThere: false },
];

it.each(ends)("a removal that ended so: %j", async ({ outcome, skipped_because, status, isThere }) => {
  await using scene = await createScene(1);
  const { operations } = scene.test.orchestrator;
  const [member] = scene.agents;
  const { agent, nodeId: node_id } = member!;
  const end = async (
    result: Pick<ResourceResult, "outcome" | "action"> & Partial<ResourceResult>,
    how: Left["status"],
  ): Promise<void> => {
    const { operation_id } = await agent.next("apply");
    const results: ResourceResult[] = [{ ...resource, ...result }];
    agent.link.send({ ...emptyResult(operation_id), status: how, results });
    await agent.next("ack");
  };
  // By a call, so that nothing else wants it.
  await scene.test.orchestrator.assignments.remove(systemCaller, { name: "all" });
  await operations.apply(systemCaller, { node_id, modules: ["motd"], wait_seconds: 0 });
  await end({ outcome: "changed", action: "create" }, "succeeded");
  await operations.apply(systemCaller, { node_id, remove_modules: ["motd"], wait_seconds: 0 });
  await end({ outcome, action: "remove", ...(skipped_because && { skipped_because }) }, status);
  const { module, resource_id, type, identity } = resource;
  const left = isThere ? [{ module, resource_id, type, identity }] : [];
  const believed = await operations.believed(systemCaller, { node_id });
  expect(believed).toMatchObject({ applied: left, pending_removals: left });
  const leaving = expect.objectContaining({ name: "motd", leaving: true }) as object;
  expect(believed.modules).toEqual(isThere ? [leaving] : status === "cancelled" ? [leaving] : []);
});

/** Why a resource is skipped is told of each agent, and is no part of what the agents have in common. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { startApprovedAgent } from "../support/fleet.ts";

const moduleOf = (when: string, params = ""): string =>
  `name: web\n${params}resources:\n  - { id: f, type: file, path: /f, when: ${JSON.stringify(when)} }\n`;

test("however long the texts are that decided, an agent takes the command and tells it", async () => {
  await using fleet = await createTestOrchestrator();
  await using agent = await startApprovedAgent(fleet);
  const { modules, operations } = fleet.orchestrator;
  const names = Array.from({ length: 20 }, (_, at) => `${"a".repeat(60)}${at}`);
  const value = '"\n\t'.repeat(200);
  const params = `params:\n${names.map((name) => `  ${name}: { type: string, default: ${JSON.stringify(value)} }\n`).join("")}`;
  const when = names.map((name) => `param.${name} = "'\\"x"`).join(" or ");
  await modules.upload(systemCaller, { content: moduleOf(when, params) });
  const applied = await operations.apply(systemCaller, { node_id: agent.nodeId, modules: ["web"] });
  expect(applied).toMatchObject({ status: "succeeded", counts: { skipped: 1 } });
  const { resources } = await operations.get(systemCaller, { operation_id: applied.operation_id });
  expect(resources[0]?.message).toMatch(/^when: /);
  expect(resources[0]!.message!.length).toBeLessThanOrEqual(4096);
});

test("a value that moves makes no plan stale as long as it decides the same", async () => {
  await using fleet = await createTestOrchestrator();
  await using agent = await startApprovedAgent(fleet);
  const { agents, modules, operations } = fleet.orchestrator;
  const { nodeId: node_id } = agent;
  const rest = "  - { type: file, path: /g, content: x }\n";
  await modules.upload(systemCaller, { content: moduleOf("load > 50") + rest });
  await agents.tags.set(systemCaller, { node_id, key: "load", value: "10" });
  const { operation_id: plan_id } = await operations.plan(systemCaller, { node_id, modules: ["web"] });
  await agents.tags.set(systemCaller, { node_id, key: "load", value: "11" });
  const applied = await operations.apply(systemCaller, { node_id, plan_id });
  expect(applied).toMatchObject({ status: "succeeded", counts: { changed: 1, skipped: 1 } });
  const { resources } = await operations.get(systemCaller, { operation_id: applied.operation_id });
  expect(resources[0]?.message).toBe('when: "load > 50": load is 11');
});

test("agents that skip the same have one snapshot, each with its own reason", async () => {
  await using fleet = await createTestOrchestrator();
  await using one = await startApprovedAgent(fleet);
  await using two = await startApprovedAgent(fleet);
  const { modules, operations } = fleet.orchestrator;
  await modules.upload(systemCaller, { content: moduleOf("node_id = nobody") });
  const snapshots = new Set<string>();
  for (const { nodeId: node_id } of [one, two]) {
    const { operation_id } = await operations.apply(systemCaller, { node_id, modules: ["web"] });
    const { resources } = await operations.get(systemCaller, { operation_id });
    expect(resources[0]?.message).toBe(`when: "node_id = nobody": node_id is ${node_id}`);
    snapshots.add((await servicesOf(fleet.orchestrator).operations.store.find(operation_id))!.snapshot);
  }
  expect(snapshots.size).toBe(1);
});

/** What is kept of an agent that is removed, or forgotten: its history, and nothing that one with its key would inherit. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { storageSchema } from "../../lib/storage-schema.ts";
import { eachDocument } from "../../lib/storage/each-document.ts";
import { settleAll } from "../support/deferred.ts";
import { newFolders, startApprovedAgent } from "../support/fleet.ts";
import { approved, connect, leave } from "../support/leaving-agents.ts";
import { MemorySecretsKey } from "../support/secrets-key.ts";
import { waitFor } from "../support/wait-for.ts";

const content = `name: web
resources:
  - { id: f, type: file, path: /etc/web, content: "{{ secrets.db }}" }
`;

/** The collections in which something names an agent. */
async function naming({ storage }: TestOrchestrator, nodeId: string): Promise<string[]> {
  const found: string[] = [];
  for (const collection of Object.keys(storageSchema.collections))
    for await (const document of eachDocument(storage, collection))
      if (JSON.stringify(document).includes(nodeId)) found.push(collection);
  return [...new Set(found)].sort();
}

it("of one that did and told everything its operations and checks are left, and that its key is known", async () => {
  const clock = new FakeClock();
  await using test = await createTestOrchestrator({ clock, secretsKey: new MemorySecretsKey() });
  const { agents, drift, modules, operations, secrets } = test.orchestrator;
  const folders = newFolders();
  const agent = await startApprovedAgent(test, folders);
  const { nodeId: node_id } = agent;
  await agents.rename(systemCaller, { node_id, name: "Web-1" });
  await agents.tags.set(systemCaller, { node_id, key: "role", value: "web" });
  await secrets.create(systemCaller, { name: "db", value: "secret" });
  await modules.upload(systemCaller, { content });
  await operations.apply(systemCaller, { node_id, modules: ["web"] });
  writeFileSync(join(folders.root, "etc/web"), "theirs");
  await drift.check(systemCaller, { node_id });
  await waitFor(async () => expect(await naming(test, node_id)).toContain("agent_attributes"));
  await agent.agent.stop();
  await settleAll();
  for (let minute = 0; minute < 4; minute += 1) await clock.advance(60_000);
  await waitFor(async () => expect(await naming(test, node_id)).toContain("offline_agents"));
  expect(await naming(test, node_id)).toEqual([
    "agent_attributes",
    "agent_findings",
    "agent_names",
    "agent_states",
    "agents",
    "applied_modules",
    "applied_secrets",
    "drift_records",
    "drift_states",
    "notifications",
    "offline_agents",
    "operations",
  ]);
  await agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await agents.remove(systemCaller, { node_id });
  await settleAll();
  expect(await naming(test, node_id)).toEqual([
    "drift_records",
    "notifications",
    "operations",
    "removed_agents",
  ]);
});

it("of one that nobody approved nothing is left but that it had asked", async () => {
  await using test = await createTestOrchestrator({ pendingAgents: 1 });
  const first = await connect(test, 1);
  expect(await naming(test, first.nodeId)).toEqual(["agents"]);
  await leave(test, first);
  await test.clock.advance(120_000);
  await connect(test, 2);
  expect(await naming(test, first.nodeId)).toEqual(["notifications"]);
});

it("of one that was removed and comes again nothing counts that was written while it was gone", async () => {
  await using test = await createTestOrchestrator();
  const { agents } = test.orchestrator;
  const agent = await approved(test, 1);
  const { nodeId: node_id } = agent;
  await agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await agents.remove(systemCaller, { node_id });
  await settleAll();
  const at = "2030-01-01T00:00:00.000Z";
  const last_apply = {
    operation_id: "019b0000-0000-7000-8000-000000000000",
    status: "failed",
    finished_at: at,
  };
  const told = {
    agent_findings: { last_apply },
    agent_attributes: { node_id, attributes: { serial: "7" }, collected_at: at },
  };
  await test.storage.commit(
    Object.entries(told).map(([collection, value]) => ({ kind: "put", collection, key: node_id, value })),
  );
  const again = await connect(test, 1);
  expect(again.nodeId).toBe(node_id);
  expect(await naming(test, node_id)).not.toEqual(expect.arrayContaining(["agent_findings"]));
  expect(await naming(test, node_id)).not.toEqual(expect.arrayContaining(["agent_attributes"]));
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  const now = await agents.get(systemCaller, { node_id });
  expect(now).not.toHaveProperty("last_apply");
  expect(now.attributes ?? {}).not.toHaveProperty("serial");
});

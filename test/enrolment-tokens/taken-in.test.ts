/** What an agent that comes with a token is taken in with: nothing of anybody else, and a name that is its own. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { takeName } from "../../lib/agents/agent-names.ts";
import type { JsonObject } from "../../lib/json.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import type { Write } from "../../lib/storage/storage.ts";
import { RacingStorage } from "../support/racing-storage.ts";

const introduction = {
  node_id: "1".padStart(32, "0"),
  public_key: "1".padStart(64, "0"),
  box_public_key: "0".repeat(64),
  hostname: "machine-1",
  platform: "linux",
  agent_version: "1.0.0",
  remote_address: "192.0.2.1",
};

async function come({ orchestrator }: TestOrchestrator, enrolment_token: string): Promise<string> {
  const { enrolment } = servicesOf(orchestrator).agents;
  return (await enrolment.admit({ ...introduction, enrolment_token })).status;
}

const agentOf = ({ orchestrator }: TestOrchestrator) =>
  orchestrator.agents.get(systemCaller, { node_id: introduction.node_id });

it("inherits nothing that was written while one of its key was removed", async () => {
  await using test = await createTestOrchestrator();
  const { token } = await test.orchestrator.enrolmentTokens.create(systemCaller);
  const { node_id } = introduction;
  const put = (collection: string, value: JsonObject): Write => {
    return { kind: "put", collection, key: node_id, value: { node_id, ...value } };
  };
  const last_apply = { operation_id: "o", status: "failed", finished_at: "2030-01-01T00:00:00.000Z" };
  await test.storage.commit([
    put("agent_attributes", { attributes: { rack: "old" }, collected_at: "2030-01-01T00:00:00.000Z" }),
    put("agent_findings", { last_apply, apply_failed: true }),
  ]);
  expect(await come(test, token)).toBe("approved");
  const agent = await agentOf(test);
  expect(agent.attributes).toEqual({});
  expect(agent).not.toHaveProperty("last_apply");
});

it("gets a name of its own where every other is taken in the moment in which it would get it", async () => {
  const storage = new RacingStorage((writes) => writes.some(({ kind }) => kind === "put"));
  await using test = await createTestOrchestrator({ storage });
  const { token } = await test.orchestrator.enrolmentTokens.create(systemCaller);
  const taken: string[] = [];
  const take = async (): Promise<void> => {
    const suffix = taken.length === 0 ? "" : `-${taken.length + 1}`;
    taken.push(`machine-1${suffix}`);
    await storage.commit([takeName(taken.at(-1)!, "f".repeat(32))]);
    if (taken.length < 6) storage.before = take;
  };
  storage.before = take;
  expect(await come(test, token)).toBe("approved");
  storage.before = null;
  expect((await agentOf(test)).name).toBe(`machine-1-${introduction.node_id.slice(0, 8)}`);
  expect(taken.length).toBeLessThan(6);
});

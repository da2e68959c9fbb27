/** Whatever is decided about agents, in any order: each name is held by the agent that has it, and by nobody else. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isOrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { AgentDocument } from "../../lib/agents/documents.ts";
import { agentSchema } from "../../lib/agents/schemas.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { eachDocument } from "../../lib/storage/each-document.ts";
import { evilName } from "../support/evil.ts";

const ids = [1, 2, 3, 4, 5].map((n) => String(n).repeat(32));
const at = "2026-01-01T00:00:00.000Z";
const key = "0".repeat(64);

const node_id = fc.constantFrom(...ids);
/** Names that differ in their case alone, and what machines say of themselves. */
const name = fc.constantFrom("Web", "web", "WEB", "Web-2", "db");
const hostname = fc.oneof(fc.constantFrom("Web.example", "web", "WEB-2"), evilName);

const step = fc.oneof(
  fc.record({ kind: fc.constant("comes" as const), node_id, hostname }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("approves" as const),
      node_id,
      name: fc.option(name, { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("rejects" as const), node_id }) },
  fc.record({ kind: fc.constant("renames" as const), node_id, name }),
  fc.record({
    kind: fc.constant("names" as const),
    names: fc.uniqueArray(fc.record({ node_id, name }), {
      minLength: 1,
      maxLength: 3,
      selector: (each) => each.node_id,
    }),
  }),
  fc.record({
    kind: fc.constant("namesAfter" as const),
    node_ids: fc.uniqueArray(node_id, { minLength: 1 }),
  }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("replaces" as const), node_id, by: node_id }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("returns" as const), node_id }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("removes" as const), node_id }) },
);
type Step = typeof step extends fc.Arbitrary<infer Made> ? Made : never;

async function take({ orchestrator, storage }: TestOrchestrator, step: Step): Promise<unknown> {
  const { agents } = orchestrator;
  switch (step.kind) {
    case "comes": {
      const seen = { first_seen_at: at, last_seen_at: at, public_key: key, box_public_key: key };
      const { node_id, hostname } = step;
      const facts = { node_id, hostname, platform: "linux", agent_version: "1.0.0", remote_address: null };
      const value = { ...facts, ...seen, status: "pending", tags: { from: hostname } };
      return storage.commit([{ kind: "put", collection: "agents", key: node_id, value, expected: 0 }]);
    }
    case "approves": {
      const { kind: _, name, ...which } = step;
      const how = { status: "approved" as const, ...(name !== undefined && { name }) };
      return agents.setStatus(systemCaller, { ...which, ...how });
    }
    case "rejects":
      return agents.setStatus(systemCaller, { node_id: step.node_id, status: "rejected" });
    case "renames":
      return agents.rename(systemCaller, { node_id: step.node_id, name: step.name });
    case "names":
      return agents.setNames(systemCaller, { names: step.names });
    case "namesAfter":
      return agents.setNames(systemCaller, { node_ids: step.node_ids, from: "hostname" });
    case "replaces":
      return agents.replace(systemCaller, { node_id: step.node_id, by: step.by, force: true });
    case "returns": {
      const { replaced_by } = await agents.get(systemCaller, { node_id: step.node_id });
      if (replaced_by === undefined) return undefined;
      return agents.replace(systemCaller, { node_id: replaced_by, by: step.node_id, force: true });
    }
    case "removes":
      return agents.remove(systemCaller, { node_id: step.node_id });
  }
}

async function all<T>({ storage }: TestOrchestrator, collection: string): Promise<[string, Readonly<T>][]> {
  const found: [string, Readonly<T>][] = [];
  for await (const { key: of, value } of eachDocument<T>(storage, collection)) found.push([of, value]);
  return found;
}

/** Refusals are for the tests of each verb; what they leave is looked at as well. */
async function takeOrRefuse(scene: TestOrchestrator, made: Step): Promise<void> {
  await take(scene, made).catch((error: unknown) => {
    if (!isOrchestratorError(error) || error.code === "INTERNAL") throw error;
  });
}

async function requireAgreement(scene: TestOrchestrator): Promise<void> {
  const documents = (await all<AgentDocument>(scene, "agents")).map(([, agent]) => agent);
  const named = documents.flatMap((agent) =>
    agent.name === undefined ? [] : [[agent.name.toLowerCase(), { node_id: agent.node_id }]],
  );
  expect(await all(scene, "agent_names")).toEqual(named.toSorted(([a], [b]) => (a! < b! ? -1 : 1)));
  const countOf = (status: string): number => documents.filter((agent) => agent.status === status).length;
  expect(servicesOf(scene.orchestrator).agents.registry.counts()).toEqual({
    pending: countOf("pending"),
    approved: countOf("approved"),
    rejected: countOf("rejected"),
  });
  expect(documents.filter((agent) => agent.status === "approved" && agent.name === undefined)).toEqual([]);
  // What a replacement keeps for the way back is for nobody else.
  for (const agent of (await scene.orchestrator.agents.list(systemCaller)).items)
    expect(agentSchema.strict().parse(agent)).toEqual(agent);
}

test("names, and how many agents have each status, are those of the agents after each decision", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      await using scene = await createTestOrchestrator();
      for (const node_id of ids) await take(scene, { kind: "comes", node_id, hostname: "Web.example" });
      for (const made of steps) {
        await takeOrRefuse(scene, made);
        await requireAgreement(scene);
      }
    }),
    { numRuns: 60, seed: 1 },
  );
});

test("two decisions at once leave the names to those that have them", async () => {
  const pairs = fc.array(fc.tuple(step, step), { minLength: 5, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(pairs, async (steps) => {
      await using scene = await createTestOrchestrator();
      for (const node_id of ids) await take(scene, { kind: "comes", node_id, hostname: "web" });
      for (const both of steps) {
        await Promise.all(both.map((made) => takeOrRefuse(scene, made)));
        await requireAgreement(scene);
      }
    }),
    { numRuns: 40, seed: 1 },
  );
});

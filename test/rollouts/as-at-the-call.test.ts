/** A rollout brings every agent what the assignment said at the call, whatever becomes of the assignment and of the process. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { readContent, saveContent } from "../../lib/contents/content-blob.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { toJsonObject } from "../../lib/json.ts";
import type { RolloutDocument } from "../../lib/rollouts/documents.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { createScene, type Scene, type SceneAgent } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

const name = "own";
const moduleOf = (text: string): string =>
  `name: p\nparams:\n  x: { type: string, default: none }\nresources:\n  - { id: f, type: file, path: /etc/p, content: "${text} {{ params.x }}" }\n`;

/** Has the first of two agents apply an assignment, and pauses. */
async function begun(scene: Scene): Promise<{ rolloutId: string; second: SceneAgent }> {
  const { modules, assignments, rollouts } = scene.test.orchestrator;
  await modules.upload(systemCaller, { content: moduleOf("old") });
  await modules.upload(systemCaller, { content: moduleOf("new") });
  const own = { selector: "role=web", modules: ["p@1"], params: { x: "at the call" } };
  await assignments.create(systemCaller, { name, ...own });
  const apply = { name, wait_seconds: 0, rollout: { batch: 1 } };
  const { rollout_id } = await rollouts.apply(systemCaller, apply);
  await settleAll();
  await rollouts.pause(systemCaller, { rollout_id });
  const [first, second] = scene.agents;
  expect(contentsOf(await scene.finish(first))).toEqual(["old at the call"]);
  return { rolloutId: rollout_id, second: second! };
}

function contentsOf({ resources }: Awaited<ReturnType<Scene["finish"]>>): unknown[] {
  return resources.map(({ spec }) => spec["content"]);
}

/** What the second agent is told once the rollout goes on. */
async function told(test: TestOrchestrator, rolloutId: string, agent: SceneAgent["agent"]) {
  await test.orchestrator.rollouts.resume(systemCaller, { rollout_id: rolloutId });
  const command = await agent.next("apply");
  agent.link.send(emptyResult(command.operation_id));
  await agent.next("ack");
  await settleAll();
  return contentsOf(command);
}

async function restarted(scene: Scene, second: SceneAgent) {
  await scene[Symbol.asyncDispose]();
  const { clock, data } = scene;
  const test = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const agent = await connectScriptedAgent(test, second.keys, clock);
  const end = async (): Promise<void> => {
    await agent.link.stop();
    await test[Symbol.asyncDispose]();
  };
  return { test, agent, end };
}

type Change = (orchestrator: TestOrchestrator["orchestrator"], nodeId: string) => Promise<unknown>;

const changes: [string, Change][] = [
  ["the agent's tag", ({ agents }, node_id) => agents.tags.replace(systemCaller, { node_id, tags: {} })],
  ["the selector", ({ assignments }) => assignments.update(systemCaller, { name, selector: "role=nobody" })],
  ["the params", ({ assignments }) => assignments.update(systemCaller, { name, params: { x: "changed" } })],
  ["the pin", ({ assignments }) => assignments.update(systemCaller, { name, modules: ["p"] })],
  [
    "the modules",
    ({ assignments }) => assignments.update(systemCaller, { name, modules: ["motd"], params: {} }),
  ],
  ["that there is an assignment", ({ assignments }) => assignments.remove(systemCaller, { name })],
];

it.each(changes)("a later agent gets what it was at the call where %s changes", async (_, change) => {
  await using scene = await createScene(2, () => ({ role: "web" }));
  const { rolloutId, second } = await begun(scene);
  await change(scene.test.orchestrator, second.nodeId);
  expect(await told(scene.test, rolloutId, second.agent)).toEqual(["old at the call"]);
});

it.each(changes)("the same after a restart where %s changes", async (_, change) => {
  const scene = await createScene(2, () => ({ role: "web" }));
  const { rolloutId, second } = await begun(scene);
  await change(scene.test.orchestrator, second.nodeId);
  const { test, agent, end } = await restarted(scene, second);
  expect(await told(test, rolloutId, agent)).toEqual(["old at the call"]);
  const { modules } = await test.orchestrator.operations.believed(systemCaller, { node_id: second.nodeId });
  expect(modules).toMatchObject([{ name: "p", assignments: [name] }]);
  await end();
});

it("a module that the assignment brings by now is not taken away by a rollout from before", async () => {
  const scene = await createScene(2, () => ({ role: "web" }));
  const { rolloutId, second } = await begun(scene);
  const { assignments, operations } = scene.test.orchestrator;
  await assignments.update(systemCaller, { name, modules: ["motd"], params: {} });
  const apply = operations.apply(systemCaller, { node_id: second.nodeId, wait_seconds: 60 });
  await scene.finish(second);
  await apply;
  const { test, agent, end } = await restarted(scene, second);
  expect(await told(test, rolloutId, agent)).toEqual(["old at the call"]);
  const { modules } = await test.orchestrator.operations.believed(systemCaller, { node_id: second.nodeId });
  expect(modules.map((each) => each.name)).toEqual(["motd", "p"]);
  await end();
});

it("a rollout that an earlier version began, which kept no params, goes on as the assignment says now", async () => {
  const scene = await createScene(2, () => ({ role: "web" }));
  const { rolloutId, second } = await begun(scene);
  const { storage } = scene.test;
  const { value } = (await storage.get<RolloutDocument>("rollouts", rolloutId))!;
  const parts = { storage, crypto: nodeCrypto };
  const [agents, ends] = JSON.parse(
    new TextDecoder().decode(await readContent(parts, "rollout", value.targets)),
  ) as unknown[];
  const old = new TextEncoder().encode(JSON.stringify([agents, ends]));
  const targets = await saveContent(parts, "rollout", old);
  await storage.commit([
    { kind: "put", collection: "rollouts", key: rolloutId, value: toJsonObject({ ...value, targets }) },
  ]);
  await scene.test.orchestrator.assignments.update(systemCaller, { name, params: { x: "now" } });
  const { test, agent, end } = await restarted(scene, second);
  expect(await told(test, rolloutId, agent)).toEqual(["old now"]);
  await end();
});

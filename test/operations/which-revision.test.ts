/** In which revision a machine gets a module, where one of the same name or number could be taken for it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { settleAll } from "../support/deferred.ts";
import { startApprovedAgent } from "../support/fleet.ts";
import { createScene } from "../support/rollout-scene.ts";
import { MemorySecretsKey } from "../support/secrets-key.ts";

const file = (name: string, path: string, content: string): string =>
  `name: ${name}\nresources:\n  - { id: f, type: file, path: ${path}, content: "${content}" }\n`;

it("a module that was removed and uploaded anew is what it says now, though its revision is the first again", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await startApprovedAgent(test);
  const { modules, operations } = test.orchestrator;
  for (const content of ["before", "after", "later"]) {
    const { revision } = await modules.upload(systemCaller, { content: file("web", "/etc/f", content) });
    expect(revision).toBe(1);
    await operations.apply(systemCaller, { node_id: agent.nodeId, modules: ["web"] });
    expect(readFileSync(join(agent.root, "etc/f"), "utf8")).toBe(content);
    await modules.remove(systemCaller, { name: "web" });
  }
});

it.each([
  ["first", "a", ["a", "b"]],
  ["second", "b", ["a", "b"]],
  ["third", "c", ["a", "c"]],
  ["last", "d", ["a", "d"]],
])("of four assignments the %s alone may not pin a module", async (_which, pinning, assignments) => {
  await using scene = await createScene(1);
  const { agents, assignments: all, modules, operations } = scene.test.orchestrator;
  await modules.upload(systemCaller, { content: file("web", "/etc/f", "1") });
  // They come to share an agent: nobody is asked about that.
  for (const name of ["a", "b", "c", "d"]) {
    const references = [name === pinning ? "web@1" : "web"];
    await all.create(systemCaller, { name, selector: `${name}=yes`, modules: references });
  }
  const node_id = scene.agents[0]!.nodeId;
  await agents.tags.replace(systemCaller, { node_id, tags: { a: "yes", b: "yes", c: "yes", d: "yes" } });
  await expect(operations.plan(systemCaller, { node_id, wait_seconds: 0 })).rejects.toMatchObject({
    code: "RESOURCE_CONFLICT",
    details: { module: "web", assignments },
  });
});

it("each agent of a rollout is held against the revision of another module that it has itself", async () => {
  await using scene = await createScene(2);
  const { agents, assignments, modules, rollouts } = scene.test.orchestrator;
  await modules.upload(systemCaller, { content: file("base", "/etc/base", "1") });
  await modules.upload(systemCaller, { content: file("base", "/etc/motd", "contradicts") });
  for (const [at, { nodeId: node_id }] of scene.agents.entries()) {
    const what = { name: `base-${at + 1}`, selector: `base=${at + 1}`, modules: [`base@${at + 1}`] };
    await assignments.create(systemCaller, what);
    await agents.tags.set(systemCaller, { node_id, key: "base", value: `${at + 1}` });
  }
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
  await settleAll();
  expect(scene.asked()).toEqual(["a1"]);
  await scene.finish(scene.agents[0]);
  await settleAll();
  expect(scene.asked()).toEqual(["a1"]);
  const { items } = await rollouts.agents(systemCaller, { rollout_id });
  expect(items.map(({ name, status, error }) => [name, status, error?.code])).toEqual([
    ["a1", "succeeded", undefined],
    ["a2", "failed", "RESOURCE_CONFLICT"],
  ]);
});

it("a module that is named is held against one that uses a secret, too", async () => {
  await using scene = await createScene(1, undefined, { secretsKey: new MemorySecretsKey() });
  const { assignments, modules, operations, secrets } = scene.test.orchestrator;
  await secrets.create(systemCaller, { name: "db", value: "hunter22" });
  await modules.upload(systemCaller, { content: file("app", "/etc/app", "{{ secrets.db }}") });
  await modules.upload(systemCaller, { content: file("other", "/etc/app", "plain") });
  await assignments.create(systemCaller, { name: "app", selector: "*", modules: ["app"] });
  const node_id = scene.agents[0]!.nodeId;
  await expect(
    operations.plan(systemCaller, { node_id, modules: ["other"], wait_seconds: 0 }),
  ).rejects.toMatchObject({
    code: "RESOURCE_CONFLICT",
  });
});

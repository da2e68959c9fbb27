/** Forgetting: an agent drops ownership of what it applied, and touches nothing. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemCaller, type Operation } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent, type TestAgent } from "../support/fleet.ts";

const web = `name: web
resources:
  - { id: conf, type: file, path: /conf, content: ours }
  - { id: site, type: file, path: /site, content: ours }
`;
const base = `name: base
resources:
  - { id: conf, type: file, path: /conf, content: ours }
`;

let fleet: TestOrchestrator;
let agent: TestAgent;
beforeEach(async () => {
  fleet = await createTestOrchestrator();
  agent = await startApprovedAgent(fleet);
  for (const content of [web, base]) await fleet.orchestrator.modules.upload(systemCaller, { content });
  writeFileSync(join(agent.root, "conf"), "theirs");
});
afterEach(async () => {
  await agent[Symbol.asyncDispose]();
  await fleet[Symbol.asyncDispose]();
});

const apply = (input: object): Promise<Operation> =>
  fleet.orchestrator.operations.apply(systemCaller, { node_id: agent.nodeId, ...input });
const forget = (...resources: string[]): Promise<Operation> =>
  fleet.orchestrator.operations.forget(systemCaller, { node_id: agent.nodeId, resources });
const read = (name: string): string => readFileSync(join(agent.root, name), "utf8");
const isThere = (name: string): boolean => existsSync(join(agent.root, name));
const driftOf = async (): Promise<{ status: string; resources: { resource_id: string }[] }> =>
  fleet.orchestrator.drift.check(systemCaller, { node_id: agent.nodeId });

test("one resource leaves it as it is, and its module goes without it", async () => {
  await apply({ modules: ["web"] });
  const operation = await forget("web/conf");
  expect(operation).toMatchObject({ kind: "forget", status: "succeeded", counts: { total: 1, changed: 1 } });
  expect(read("conf")).toBe("ours");
  await apply({ remove_modules: ["web"] });
  expect(read("conf")).toBe("ours");
  expect(isThere("site")).toBe(false);
});

test("what is named twice is forgotten, and told, once", async () => {
  await apply({ modules: ["web"] });
  const operation = await forget("web/conf", "web/site", "web/conf");
  expect(operation).toMatchObject({ status: "succeeded", counts: { total: 2, changed: 2 } });
  const told = fleet.events.findLast(({ event_type }) => event_type === "operation.requested");
  expect(told?.metadata).toMatchObject({ forgets: ["web/conf", "web/site"] });
});

test("a whole module names it no longer: nothing brings it back, and nothing takes it away", async () => {
  await apply({ modules: ["web"] });
  await forget("web");
  writeFileSync(join(agent.root, "site"), "changed since");
  expect(await driftOf()).toMatchObject({ status: "in_sync", resources: [] });
  expect(await apply({ allow_empty: true })).toMatchObject({ status: "succeeded", modules: [] });
  expect([read("conf"), read("site")]).toEqual(["ours", "changed since"]);
});

test("what another module says the same of stays owned by that one", async () => {
  await apply({ modules: ["web", "base"] });
  await forget("web/conf", "web/site");
  await apply({ remove_modules: ["base"] });
  expect([read("conf"), read("site")]).toEqual(["theirs", "ours"]);
});

test("what is still desired is owned again with its next apply, and what stands then is what it comes back to", async () => {
  await fleet.orchestrator.assignments.create(systemCaller, { name: "a", selector: "*", modules: ["web"] });
  await apply({});
  await forget("web");
  expect(await apply({})).toMatchObject({ counts: { unchanged: 2 } });
  await fleet.orchestrator.assignments.remove(systemCaller, { name: "a" });
  await apply({ allow_empty: true });
  expect([read("conf"), read("site")]).toEqual(["ours", "ours"]);
});

test("one resource of a module that never succeeded leaves the rest wanted", async () => {
  const failing = `${web}  - { id: no, type: script, run: "exit 1", creates: /never }\n`;
  await fleet.orchestrator.modules.upload(systemCaller, { content: failing });
  expect(await apply({ modules: ["web"] })).toMatchObject({ status: "partial" });
  await forget("web/conf");
  expect(await apply({ allow_empty: true })).toMatchObject({
    modules: [{ name: "web" }],
    counts: { removed: 0 },
  });
  expect(read("site")).toBe("ours");
});

test("drift and enforcement go on without what is forgotten", async () => {
  await apply({ modules: ["web"] });
  await forget("web/site");
  for (const name of ["conf", "site"]) writeFileSync(join(agent.root, name), "drifted");
  const { resources } = await driftOf();
  const believed = await fleet.orchestrator.operations.believed(systemCaller, { node_id: agent.nodeId });
  expect(believed.applied.map(({ resource_id }) => resource_id)).toEqual(["conf"]);
  expect(resources.map(({ resource_id }) => resource_id)).toEqual(["conf"]);
});

test("one resource after another stays forgotten", async () => {
  const third = `${web}  - { id: tail, type: file, path: /tail, content: ours }\n`;
  await fleet.orchestrator.modules.upload(systemCaller, { content: third });
  await apply({ modules: ["web"] });
  for (const name of ["web/conf", "web/site"]) await forget(name);
  const believed = await fleet.orchestrator.operations.believed(systemCaller, { node_id: agent.nodeId });
  expect(believed.applied.map(({ resource_id }) => resource_id)).toEqual(["tail"]);
});

test.each([
  [["web/nope"], "The agent owns no web/nope. Nothing was forgotten."],
  [["web", "nope"], "The agent owns no nope. Nothing was forgotten."],
  [
    ["a", "b", "c", "d", "e", "f", "g"],
    "The agent owns no a, no b, no c, no d, no e and 2 more. Nothing was forgotten.",
  ],
])("of what is not owned is refused, and named: %j", async (names, message) => {
  await apply({ modules: ["web"] });
  const before = await fleet.orchestrator.operations.believed(systemCaller, { node_id: agent.nodeId });
  await expect(forget(...names)).rejects.toMatchObject({ code: "NOT_FOUND", message });
  await apply({ remove_modules: ["web"] });
  expect(before.applied).toHaveLength(2);
  expect(read("conf")).toBe("theirs");
  expect(isThere("site")).toBe(false);
});

test.each([["Web"], ["web/"], ["../x"], ["web\n"], [""]])(
  "of %j is refused as it is written",
  async (name) => {
    await expect(forget(name)).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  },
);

test("what watched it or required it is still compared without it, and repaired", async () => {
  const content = `name: app
resources:
  - { id: conf, type: file, path: /app.conf, content: ours }
  - { id: reload, type: script, run: "true", run_on: [conf] }
  - { id: page, type: file, path: /page, content: ours, requires: [conf, reload] }
`;
  await fleet.orchestrator.modules.upload(systemCaller, { content });
  await apply({ modules: ["app"] });
  await forget("app/conf");
  expect(await driftOf()).toMatchObject({ status: "in_sync" });
  await forget("app/reload");
  expect(await driftOf()).toMatchObject({ status: "in_sync", resources: [{ resource_id: "page" }] });
  writeFileSync(join(agent.root, "page"), "changed since");
  expect(await driftOf()).toMatchObject({ status: "drifted" });
});

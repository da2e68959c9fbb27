/** What is known of a machine is all that is applied there, of every scope. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemCaller, type DriftDetail } from "fleetwright";
import { startApprovedAgent } from "../support/fleet.ts";
import { ScopeScene } from "../support/scope-scene.ts";

let scene: ScopeScene;
beforeEach(async () => {
  scene = await ScopeScene.start();
});
afterEach(() => scene.end());

const upload: ScopeScene["upload"] = (...input) => scene.upload(...input);
const assign: ScopeScene["assign"] = (...input) => scene.assign(...input);
const unassign: ScopeScene["unassign"] = (name) => scene.unassign(name);
const apply: ScopeScene["apply"] = (input) => scene.apply(input);
const rollOut: ScopeScene["rollOut"] = (name) => scene.rollOut(name);
const write: ScopeScene["write"] = (name, text) => scene.write(name, text);

const believed = async (): Promise<{ applied: string[]; pending: string[] }> => {
  const { nodeId: node_id } = scene.agent;
  const state = await scene.fleet.orchestrator.operations.believed(systemCaller, { node_id });
  const names = (list: { module: string; resource_id: string }[]): string[] =>
    list.map(({ module, resource_id }) => `${module}/${resource_id}`).toSorted();
  return { applied: names(state.applied), pending: names(state.pending_removals) };
};
const drift = (): Promise<DriftDetail> =>
  scene.fleet.orchestrator.drift.check(systemCaller, { node_id: scene.agent.nodeId });

describe("what is known of the machine", () => {
  test("is all that is applied, of every scope", async () => {
    for (const name of ["web", "base", "named"]) await upload(name);
    await assign("web", ["web"]);
    await assign("base", ["base"]);
    await rollOut("web");
    await rollOut("base");
    await apply({ modules: ["named"] });
    expect(await believed()).toEqual({ applied: ["base/base", "named/named", "web/web"], pending: [] });
    for (const name of ["web", "base", "named"]) write(name, "drifted");
    expect((await drift()).resources.map(({ module }) => module)).toEqual(["web", "base", "named"]);
    await rollOut("web");
    expect(await drift()).toMatchObject({ counts: { total: 3, would_change: 2 } });
    await apply({ remove_modules: ["named"] });
    expect(await drift()).toMatchObject({ counts: { total: 2, would_change: 1 } });
    await unassign("base");
    expect(await believed()).toEqual({ applied: ["base/base", "web/web"], pending: ["base/base"] });
  });

  test("keeps the part of the others where an apply fails, and its own as it was before", async () => {
    await upload("web");
    await upload("base");
    await apply({ modules: ["web", "base"] });
    const broken = `name: web\nresources:\n  - { id: web, type: file, path: /web, content: "2" }\n  - { id: no, type: script, run: "exit 1", creates: /never, requires: [web] }\n`;
    await scene.fleet.orchestrator.modules.upload(systemCaller, { content: broken });
    expect(await apply({ modules: ["web"] })).toMatchObject({ status: "partial" });
    expect(await drift()).toMatchObject({
      status: "drifted",
      resources: [
        { module: "base", outcome: "unchanged" },
        { module: "web", outcome: "would_change", changes: [{ property: "content" }] },
      ],
    });
    expect(await apply({ modules: ["base"] })).toMatchObject({ status: "succeeded" });
    expect(await drift()).toMatchObject({ counts: { total: 2, would_change: 1 } });
  });

  test("is found by a list of agents, by module and revision", async () => {
    const { agents } = scene.fleet.orchestrator;
    await using second = await startApprovedAgent(scene.fleet);
    for (const content of ["1", "2"]) await upload("web", { files: { web: content } });
    const list = async (query: object): Promise<string[]> =>
      (await agents.list(systemCaller, query)).items.map(({ node_id }) => node_id);
    expect(await list({ module: "web" })).toEqual([]);
    await apply({ modules: ["web@1"] });
    await scene.fleet.orchestrator.operations.apply(systemCaller, {
      node_id: second.nodeId,
      modules: ["web"],
    });
    const both = [scene.agent.nodeId, second.nodeId].toSorted();
    expect(await list({ module: "web" })).toEqual(both);
    expect(await list({ module: "web@1" })).toEqual([scene.agent.nodeId]);
    expect(await list({ module: "web@2", selector: "*" })).toEqual([second.nodeId]);
    expect(await list({ module: "web@1", connected: false })).toEqual([]);
    expect(await list({ module: "web@3" })).toEqual([]);
    expect(await list({ module: "we" })).toEqual([]);
    const first = await agents.list(systemCaller, { module: "web", limit: 1 });
    const next = { module: "web", limit: 1, cursor: first.next_cursor! };
    const rest = await agents.list(systemCaller, next);
    expect([...first.items, ...rest.items].map(({ node_id }) => node_id)).toEqual(both);
    expect(rest.next_cursor).toBeNull();
    await apply({ modules: ["web"] });
    expect(await list({ module: "web@2" })).toEqual(both);
    await second[Symbol.asyncDispose]();
    await agents.setStatus(systemCaller, { node_id: second.nodeId, status: "rejected" });
    await agents.remove(systemCaller, { node_id: second.nodeId });
    expect(await list({ module: "web" })).toEqual([scene.agent.nodeId]);
  });
});

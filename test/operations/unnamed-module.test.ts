/** A module that a call named and an assignment brings, too, is only named no longer when a call removes it. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { ScopeScene } from "../support/scope-scene.ts";

let scene: ScopeScene;
beforeEach(async () => {
  scene = await ScopeScene.start();
});
afterEach(() => scene.end());

test.each([
  ["stays where an assignment brings it", true],
  ["goes where none does", false],
])("a module that a call takes back %s", async (_, isAssigned) => {
  await scene.upload("web");
  if (isAssigned) await scene.assign("w", ["web"]);
  await scene.apply({ modules: ["web"] });
  expect(await scene.apply({ remove_modules: ["web"] })).toMatchObject({
    status: "succeeded",
    counts: { removed: isAssigned ? 0 : 1 },
  });
  const { nodeId: node_id } = scene.agent;
  const { modules } = await scene.fleet.orchestrator.operations.believed(systemCaller, { node_id });
  const web = { name: "web", revision_applied: 1, assignments: ["w"] };
  expect(modules).toEqual(isAssigned ? [web] : []);
});

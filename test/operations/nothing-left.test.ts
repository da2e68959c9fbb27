/** What would take away all there is, or more than somebody has seen, is not done without being asked for in so many words. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { ScopeScene } from "../support/scope-scene.ts";

let scene: ScopeScene;
beforeEach(async () => {
  scene = await ScopeScene.start();
  await scene.upload("web");
});
afterEach(() => scene.end());

describe("an apply that would leave nothing", () => {
  const refused = { code: "EMPTY_DESIRED_STATE" };

  test.each([{}, { modules: [], remove_modules: [] }])(
    "is refused where it names nothing: %j",
    async (input) => {
      await scene.assign("x", ["web"]);
      await scene.apply();
      await scene.unassign("x");
      await expect(scene.apply(input)).rejects.toMatchObject(refused);
      expect(scene.read("web")).toBe("1");
      expect(await scene.apply({ ...input, allow_empty: true })).toMatchObject({ status: "succeeded" });
      expect(scene.read("web")).toBeNull();
    },
  );

  test("is done where nothing is there that could go: before anything was applied, and once all of it is gone", async () => {
    expect(await scene.apply()).toMatchObject({ status: "succeeded" });
    await scene.apply({ modules: ["web"] });
    await scene.apply({ remove_modules: ["web"] });
    expect(await scene.apply()).toMatchObject({ status: "succeeded" });
  });

  test("is done where it names nothing but what goes, and refused where it also names what comes", async () => {
    const content = "name: nothing\nresources: []\n";
    await scene.fleet.orchestrator.modules.upload(systemCaller, { content });
    await scene.apply({ modules: ["web"] });
    const both = { modules: ["nothing"], remove_modules: ["web"] };
    expect(await scene.apply(both)).toMatchObject({ status: "failed", error: refused });
    expect(scene.read("web")).toBe("1");
    expect(await scene.apply({ remove_modules: ["web"] })).toMatchObject({ status: "succeeded" });
    expect(scene.read("web")).toBeNull();
  });
});

test("a plan of an assignment is stale where another one wants by now what it would take away", async () => {
  await scene.upload("base");
  await scene.assign("x", ["base", "web"]);
  await scene.rollOut("x");
  await scene.fleet.orchestrator.assignments.update(systemCaller, { name: "x", modules: ["base"] });
  const { operations } = await scene.fleet.orchestrator.rollouts.plan(systemCaller, { name: "x" });
  const { operation_id: plan_id } = operations[0]!;
  await scene.assign("y", ["web"]);
  await expect(scene.apply({ plan_id })).rejects.toMatchObject({
    code: "PLAN_STALE",
    message: expect.stringContaining("other modules would be taken away now") as string,
  });
  expect(scene.read("web")).toBe("1");
  await scene.unassign("y");
  expect(await scene.apply({ plan_id })).toMatchObject({ status: "succeeded", counts: { removed: 1 } });
  expect(scene.read("web")).toBeNull();
});

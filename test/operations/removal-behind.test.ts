/**
 * A call that removes a module has the last word about it, also where it was made before an earlier apply of that module had ended: it was
 * cancelled as overtaken by that apply, and the module stayed.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemCaller, type Operation } from "fleetwright";
import { servicesOf } from "../../lib/orchestrator.ts";
import { settleAll } from "../support/deferred.ts";
import { endOf } from "../support/end-of-operation.ts";
import { startAgent } from "../support/fleet.ts";
import { ScopeScene } from "../support/scope-scene.ts";

const waits = { when_offline: "queue", wait_seconds: 0 };

describe("a call that removes a module which an apply in line before it brings", () => {
  let scene: ScopeScene;
  beforeEach(async () => {
    scene = await ScopeScene.start();
    await scene.upload("web");
    await scene.apply({ modules: ["web"] });
    await scene.upload("web", { files: { web: "2" } });
    await scene.agent.agent.stop();
  });
  afterEach(() => scene.end());

  const comeBack = async (): Promise<void> => {
    const { root, stateDir } = scene.agent;
    scene.agent = await startAgent(scene.fleet, { root, stateDir });
  };
  const get = ({ operation_id }: Operation): Promise<Operation> =>
    scene.fleet.orchestrator.operations.get(systemCaller, { operation_id });
  const ends = async (...operations: Operation[]): Promise<string[]> => {
    for (const { operation_id } of operations)
      await endOf(servicesOf(scene.fleet.orchestrator).operations, operation_id, 30);
    return (await Promise.all(operations.map(get))).map(({ status }) => status);
  };

  test.each([
    ["that names it", [{ modules: ["web"] }]],
    ["of everything", [{}]],
    ["and another", [{ modules: ["web"] }, {}]],
  ])("removes it after an apply %s", async (_, calls) => {
    const applies: Operation[] = [];
    for (const call of calls) applies.push(await scene.apply({ ...call, ...waits }));
    const removal = await scene.apply({ remove_modules: ["web"], ...waits });
    await settleAll();
    expect((await get(removal)).status).toBe("queued");
    await comeBack();
    expect(await ends(...applies, removal)).toEqual([...applies.map(() => "succeeded"), "succeeded"]);
    expect(scene.read("web")).toBeNull();
    expect(
      (await servicesOf(scene.fleet.orchestrator).operations.stateOf(scene.agent.nodeId))?.modules,
    ).toEqual({});
  });

  test("is refused where that apply, or another one in line, brings what requires it", async () => {
    await scene.upload("app", { more: "requires: [web]\n" });
    for (const modules of [["app", "web"], ["app"]]) {
      const apply = await scene.apply({ modules, ...waits });
      const removal = scene.apply({ remove_modules: ["web"], ...waits });
      await expect(removal).rejects.toMatchObject({ code: "IN_USE", details: { used_by: ["app"] } });
      await scene.fleet.orchestrator.operations.cancel(systemCaller, { operation_id: apply.operation_id });
    }
    const removal = await scene.apply({ remove_modules: ["web"], ...waits });
    await comeBack();
    expect([await ends(removal), scene.read("web")]).toEqual([["succeeded"], null]);
  });

  test("is not refused for what goes with it, or before it", async () => {
    await scene.upload("app", { more: "requires: [web]\n" });
    await scene.apply({ modules: ["app"], ...waits });
    await comeBack();
    await expect.poll(() => scene.read("app")).toBe("1");
    await scene.agent.agent.stop();
    const apply = await scene.apply({ modules: ["app", "web"], ...waits });
    const first = await scene.apply({ remove_modules: ["app"], ...waits });
    await expect(scene.apply({ remove_modules: ["web"], ...waits })).rejects.toMatchObject({
      code: "IN_USE",
    });
    const both = await scene.apply({ remove_modules: ["app", "web"], ...waits });
    await comeBack();
    expect((await ends(apply, first, both)).at(-1)).toBe("succeeded");
    expect([scene.read("app"), scene.read("web")]).toEqual([null, null]);
  });

  test("leaves it where another call names it afterwards", async () => {
    const before = await scene.apply({ modules: ["web"], ...waits });
    const removal = await scene.apply({ remove_modules: ["web"], ...waits });
    const after = await scene.apply({ modules: ["web"], ...waits });
    await comeBack();
    expect(await ends(before, removal, after)).toEqual(["succeeded", "cancelled", "succeeded"]);
    expect(scene.read("web")).toBe("2");
  });

  test("removes nothing while a window holds that apply, which would bring it back", async () => {
    const before = await scene.apply({ modules: ["web"], ...waits });
    const { clock, orchestrator } = scene.fleet;
    const ends_at = new Date(clock.now() + 3_600_000).toISOString();
    const window = { selector: "*", reason: "x", mode: "freeze" as const, ends_at };
    await orchestrator.maintenanceWindows.create(systemCaller, window);
    await comeBack();
    const removal = await scene.apply({ remove_modules: ["web"], override_window: true, wait_seconds: 0 });
    expect(await ends(removal)).toEqual(["cancelled"]);
    expect([(await get(before)).status, scene.read("web")]).toEqual(["queued", "1"]);
  });
});

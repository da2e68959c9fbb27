/** An apply is about an assignment's modules, about those that a call names, or about everything, and touches nothing else. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemCaller, type Operation } from "fleetwright";
import { startAgent } from "../support/fleet.ts";
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
const plan: ScopeScene["plan"] = (input) => scene.plan(input);
const rollOut: ScopeScene["rollOut"] = (name) => scene.rollOut(name);
const read: ScopeScene["read"] = (name) => scene.read(name);
const write: ScopeScene["write"] = (name, text) => scene.write(name, text);

describe("a call that names modules", () => {
  test("applies these and leaves what is assigned for its own apply", async () => {
    for (const name of ["web", "base", "extra"]) await upload(name);
    await assign("all", ["web", "base"]);
    await apply();
    await upload("web", { files: { web: "2" } });
    write("base", "drifted");
    const operation = await apply({ modules: ["extra"] });
    expect(operation).toMatchObject({ scope: ["extra"], modules: [{ name: "extra", revision: 1 }] });
    expect([read("web"), read("base"), read("extra")]).toEqual(["1", "drifted", "1"]);
  });

  test("has them stay wanted, with its values, whoever applies later, until remove_modules", async () => {
    await upload("base");
    await upload("web", {
      files: { web: "port {{ params.port }}" },
      more: "params:\n  port: { type: integer }\n",
    });
    await assign("base", ["base"]);
    await apply({ modules: ["web"], params: { port: 80 } });
    expect(await apply()).toMatchObject({ modules: [{ name: "base" }, { name: "web" }] });
    await rollOut("base");
    expect(read("web")).toBe("port 80");
    await apply({ modules: ["web"] });
    expect(read("web")).toBe("port 80");
    await apply({ modules: ["web"], params: { port: 81 } });
    expect(read("web")).toBe("port 81");
    expect(await apply({ remove_modules: ["web"] })).toMatchObject({
      scope: ["web"],
      counts: { removed: 1 },
    });
    expect([read("web"), read("base")]).toEqual([null, "1"]);
    expect(await apply()).toMatchObject({ modules: [{ name: "base" }], counts: { removed: 0 } });
  });

  test("pins a revision, until it is named without one", async () => {
    await upload("web");
    await upload("web", { files: { web: "2" } });
    await apply({ modules: ["web@1"] });
    await upload("web", { files: { web: "3" } });
    expect(await apply()).toMatchObject({
      modules: [{ name: "web", revision: 1 }],
      counts: { unchanged: 1 },
    });
    await assign("web", ["web"]);
    await expect(rollOut("web")).rejects.toMatchObject({
      code: "RESOURCE_CONFLICT",
      message:
        "Module web is pinned to revision 1 on this agent, by a call that named it; the rollout brings revision 3.",
    });
    await apply({ modules: ["web"] });
    expect(read("web")).toBe("3");
    expect(await rollOut("web")).toMatchObject({
      status: "succeeded",
      modules: [{ name: "web", revision: 3 }],
    });
  });

  test("keeps nothing wanted that was never begun", async () => {
    await upload("web");
    await expect(
      apply({ modules: ["web"], max_removals: 0, plan_id: crypto.randomUUID() }),
    ).rejects.toThrow();
    await scene.agent.agent.stop();
    await expect(apply({ modules: ["web"] })).rejects.toMatchObject({ code: "AGENT_OFFLINE" });
    const queued = await apply({ modules: ["web"], when_offline: "queue", wait_seconds: 0 });
    await scene.fleet.orchestrator.operations.cancel(systemCaller, { operation_id: queued.operation_id });
    await scene.fleet.orchestrator.modules.remove(systemCaller, { name: "web" });
  });

  test("keeps no module that is removed from the orchestrator, and no apply of what else is wanted", async () => {
    await upload("web");
    await upload("base");
    await assign("base", ["base"]);
    await apply({ modules: ["web"] });
    await scene.fleet.orchestrator.modules.remove(systemCaller, { name: "web" });
    expect(await rollOut("base")).toMatchObject({ counts: { removed: 0 } });
    expect(read("web")).toBe("1");
    expect(await apply()).toMatchObject({ modules: [{ name: "base" }], counts: { removed: 1 } });
    expect(read("web")).toBeNull();
  });

  test("asks for a revision that is gone as for one that never was", async () => {
    for (const content of ["1", "2"]) await upload("web", { files: { web: content } });
    await apply({ modules: ["web@2"] });
    await scene.fleet.orchestrator.modules.remove(systemCaller, { name: "web" });
    await upload("web");
    await expect(apply()).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "There is no module web in revision 2.",
    });
    await apply({ modules: ["web"] });
    expect(read("web")).toBe("1");
  });

  test("contradicts nothing that is there, nor what is assigned and still to come", async () => {
    await upload("web", { files: { conf: "1" } });
    await upload("other", { files: { conf: "2" } });
    await apply({ modules: ["web"] });
    const conflict = { code: "RESOURCE_CONFLICT", details: { identity: "path:/conf" } };
    await expect(apply({ modules: ["other"] })).rejects.toMatchObject(conflict);
    await apply({ remove_modules: ["web"] });
    await assign("web", ["web"]);
    await expect(plan({ modules: ["other"] })).rejects.toMatchObject(conflict);
    expect(read("conf")).toBeNull();
  });

  test("moves what one module said to another, in one go", async () => {
    await upload("old", { files: { conf: "1" } });
    await upload("new", { files: { conf: "2" } });
    await apply({ modules: ["old"] });
    const operation = await apply({ modules: ["new"], remove_modules: ["old"] });
    expect(operation).toMatchObject({ status: "succeeded", counts: { changed: 1, removed: 0 } });
    expect(read("conf")).toBe("2");
    await apply({ remove_modules: ["new"] });
    expect(read("conf")).toBeNull();
  });

  test("takes a name that is given twice for once", async () => {
    await upload("web");
    const operation = await apply({ modules: ["web", "web"] });
    expect(operation).toMatchObject({ status: "succeeded", scope: ["web"], modules: [{ name: "web" }] });
    expect(await apply({ remove_modules: ["web", "web"] })).toMatchObject({
      scope: ["web"],
      counts: { removed: 1 },
    });
  });

  test("is planned, and the plan carries all of it", async () => {
    for (const name of ["old", "new"]) await upload(name);
    await apply({ modules: ["old"] });
    const { operation_id } = await plan({ modules: ["new"], remove_modules: ["old"] });
    await expect(apply({ plan_id: operation_id, remove_modules: ["old"] })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: ["remove_modules"] }],
    });
    await apply({ plan_id: operation_id });
    expect([read("old"), read("new")]).toEqual([null, "1"]);
    expect(await apply()).toMatchObject({ modules: [{ name: "new" }], counts: { removed: 0 } });
  });
});

describe("what remove_modules refuses", () => {
  beforeEach(async () => {
    for (const name of ["assigned", "named", "unknown"]) await upload(name);
    await upload("needing", { more: "requires: [named]\n" });
    await assign("a", ["assigned"]);
    await apply();
    await apply({ modules: ["named", "needing"] });
  });
  const untouched = ["1", "1", "1"];
  const found = (): (string | null)[] => ["assigned", "named", "needing"].map(read);

  test.each([
    [["unknown"], "NOT_FOUND", "Module unknown was never applied on this agent. Nothing was removed."],
    [["needing", "nope"], "NOT_FOUND", "Module nope was never applied on this agent. Nothing was removed."],
    [["assigned"], "IN_USE", "Assignment a brings module assigned to this agent. Nothing was removed."],
    [["named"], "IN_USE", "Module needing of this agent requires module named. Nothing was removed."],
  ])("%j: %s", async (remove_modules, code, message) => {
    for (const run of [apply, plan])
      await expect(run({ remove_modules })).rejects.toMatchObject({ code, message });
    expect(found()).toEqual(untouched);
  });

  test("what was never applied, by its place among what is to go, and what another needs, by its names", async () => {
    const never = { path: ["remove_modules", 1], message: "was never applied on this agent" };
    await expect(apply({ remove_modules: ["needing", "nope"] })).rejects.toMatchObject({
      details: { module: "nope" },
      issues: [never],
    });
    await expect(apply({ remove_modules: ["assigned"] })).rejects.toMatchObject({
      details: { module: "assigned", used_by: ["a"] },
    });
    await expect(apply({ remove_modules: ["named"] })).rejects.toMatchObject({
      details: { module: "named", used_by: ["needing"] },
    });
  });

  test("nothing for the sake of a module that is on its way out itself", async () => {
    // Its file can't be taken away: somebody has put a folder in its place.
    rmSync(join(scene.agent.root, "needing"));
    mkdirSync(join(scene.agent.root, "needing", "full"), { recursive: true });
    expect(await apply({ remove_modules: ["needing"] })).not.toMatchObject({ status: "succeeded" });
    const operation = await apply({ remove_modules: ["named"] });
    expect(operation).toMatchObject({ status: "succeeded", counts: { removed: 1 } });
    expect(read("named")).toBeNull();
  });

  test("to take what is on its way out for there, where another module requires it", async () => {
    rmSync(join(scene.agent.root, "needing"));
    mkdirSync(join(scene.agent.root, "needing", "full"), { recursive: true });
    await apply({ remove_modules: ["needing"] });
    await upload("behind", { more: "requires: [needing]\n" });
    await expect(apply({ modules: ["behind"] })).rejects.toMatchObject({ code: "MODULE_MISSING" });
  });

  test("what is named as well", async () => {
    await expect(apply({ modules: ["named"], remove_modules: ["named"] })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: ["remove_modules", 0], message: "can't be among modules as well" }],
    });
    expect(found()).toEqual(untouched);
  });

  test("a revision that is not there, and two of one module", async () => {
    await expect(apply({ modules: ["named@99"] })).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "There is no module named in revision 99.",
    });
    await expect(apply({ modules: ["named", "named@1"] })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: ["modules", 1] }],
    });
    await expect(apply({ modules: ["named@0"] })).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  });

  test("a removal beyond max_removals", async () => {
    await expect(apply({ remove_modules: ["needing"], max_removals: 0 })).rejects.toMatchObject({
      code: "TOO_MANY_REMOVALS",
    });
    expect(found()).toEqual(untouched);
  });
});

describe("an apply of an assignment", () => {
  test("is about its modules alone, and takes away what it brought before", async () => {
    for (const name of ["web", "gone", "base", "extra"]) await upload(name);
    await assign("web", ["web", "gone"]);
    await assign("base", ["base"]);
    await rollOut("web");
    expect(read("base")).toBeNull();
    await rollOut("base");
    await apply({ modules: ["extra"] });
    await scene.fleet.orchestrator.assignments.update(systemCaller, { name: "web", modules: ["web"] });
    write("base", "drifted");
    const operation = await rollOut("web");
    expect(operation).toMatchObject({ scope: ["web", "gone"], counts: { removed: 1 } });
    expect([read("web"), read("gone"), read("base"), read("extra")]).toEqual(["1", null, "drifted", "1"]);
  });

  test("goes on with what one of its name brought that was removed, and takes that away", async () => {
    for (const name of ["web", "base"]) await upload(name);
    await assign("site", ["web"]);
    await rollOut("site");
    await unassign("site");
    await assign("other", ["base"]);
    expect(await rollOut("other")).toMatchObject({ scope: ["base"], counts: { removed: 0 } });
    expect(read("web")).toBe("1");
    await assign("site", ["base"]);
    expect(await rollOut("site")).toMatchObject({ scope: ["base", "web"], counts: { removed: 1 } });
    expect([read("web"), read("base")]).toEqual([null, "1"]);
  });

  test("leaves what another assignment, or a call, wants as well", async () => {
    for (const name of ["web", "shared", "named"]) await upload(name);
    await assign("web", ["web", "shared", "named"]);
    await assign("other", ["shared"]);
    await rollOut("web");
    await apply({ modules: ["named"] });
    await scene.fleet.orchestrator.assignments.update(systemCaller, { name: "web", modules: ["web"] });
    expect(await rollOut("web")).toMatchObject({ scope: ["web"] });
    expect([read("shared"), read("named")]).toEqual(["1", "1"]);
    await unassign("other");
    expect(await rollOut("web")).toMatchObject({ scope: ["web", "shared"], counts: { removed: 1 } });
    expect([read("shared"), read("named")]).toEqual([null, "1"]);
  });

  test("keeps what its modules require of what is applied apart", async () => {
    await upload("base");
    await upload("web", { more: "requires: [base]\n" });
    await assign("base", ["base"]);
    await assign("web", ["web"]);
    await expect(rollOut("web")).rejects.toMatchObject({
      code: "MODULE_MISSING",
      message: "Module web requires module base, which was not applied to this agent yet: apply that first.",
    });
    await rollOut("base");
    expect(await rollOut("web")).toMatchObject({ status: "succeeded", scope: ["web"] });
  });

  test("brings the revisions that it is pinned to, and says so", async () => {
    for (const content of ["1", "2", "3"]) await upload("web", { files: { web: content } });
    await upload("base");
    await expect(assign("none", ["web@99"])).rejects.toMatchObject({ code: "NOT_FOUND" });
    await assign("web", ["web@2", "base"]);
    const { assignments } = scene.fleet.orchestrator;
    expect((await assignments.list(systemCaller)).items).toMatchObject([
      {
        modules: ["web@2", "base"],
        revisions: [
          { name: "web", revision: 2, pinned: true },
          { name: "base", revision: 1, pinned: false },
        ],
      },
    ]);
    await expect(assign("second", ["web"])).rejects.toMatchObject({
      code: "RESOURCE_CONFLICT",
      message: "Assignments second and web bring module web in different revisions: the newest and 2.",
    });
    await rollOut("web");
    expect(read("web")).toBe("2");
    expect(await apply()).toMatchObject({ counts: { unchanged: 2 } });
    expect((await assignments.get(systemCaller, { name: "web" })).matched_agents).toEqual([
      { node_id: scene.agent.nodeId, name: "vm", revision_applied: { web: 2, base: 1 } },
    ]);
    await assignments.update(systemCaller, { name: "web", modules: ["web"] });
    await rollOut("web");
    expect([read("web"), read("base")]).toEqual(["3", null]);
  });

  test("is not kept by params of modules that others bring, whatever becomes of these", async () => {
    await upload("web", { files: { web: "{{ params.a }}" }, more: "params:\n  a: { type: string }\n" });
    await upload("base", { files: { base: "{{ params.b }}" }, more: "params:\n  b: { type: string }\n" });
    await assign("both", ["web", "base"], { params: { a: "x", b: "y" } });
    await apply({ modules: ["web"] });
    expect([read("web"), read("base")]).toEqual(["x", null]);
  });
});

describe("what waits for its turn", () => {
  test("does not take away what was named since it was asked for", async () => {
    await upload("web");
    await upload("base");
    await assign("base", ["base"]);
    await scene.agent.agent.stop();
    const waits = { when_offline: "queue", wait_seconds: 0 };
    const named = await apply({ modules: ["web"], ...waits });
    const everything = await apply(waits);
    scene.agent = await startAgent(scene.fleet, { root: scene.agent.root, stateDir: scene.agent.stateDir });
    const ended = async ({ operation_id }: Operation): Promise<Operation> => {
      for await (const { item } of scene.fleet.orchestrator.operations.watch(systemCaller, { operation_id }))
        if (item.type === "ended") return item.operation;
      throw new Error("It did not end.");
    };
    expect(await ended(named)).toMatchObject({ status: "succeeded" });
    expect(await ended(everything)).toMatchObject({
      status: "cancelled",
      error: { code: "REVISION_CONFLICT" },
    });
    expect(read("web")).toBe("1");
  });
});

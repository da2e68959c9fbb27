/** The believed state tells of every module who brings it, and stays readable where what is desired can't be worked out. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemCaller, type BelievedState } from "fleetwright";
import { servicesOf } from "../../lib/orchestrator.ts";
import { ScopeScene } from "../support/scope-scene.ts";

let scene: ScopeScene;
beforeEach(async () => {
  scene = await ScopeScene.start();
});
afterEach(() => scene.end());

const believed = (node_id = scene.agent.nodeId): Promise<BelievedState> =>
  scene.fleet.orchestrator.operations.believed(systemCaller, { node_id });
const removeModule = (name: string): Promise<unknown> =>
  scene.fleet.orchestrator.modules.remove(systemCaller, { name });
const forget = (...resources: string[]): Promise<unknown> =>
  scene.fleet.orchestrator.operations.forget(systemCaller, { node_id: scene.agent.nodeId, resources });
const port = (least: number): string => `params:\n  port: { type: integer, minimum: ${least} }\n`;
const portText = {
  files: { web: "{{ params.port }} {{ params.name }}" },
  more: `${port(1)}  name: { type: string }\n`,
};

describe("modules of the believed state", () => {
  test("has none where nothing was applied", async () => {
    expect((await believed()).modules).toEqual([]);
  });

  test("tells of each who brought it, in which revision, and what a call said of it", async () => {
    for (const name of ["base", "both", "constructor"]) await scene.upload(name);
    await scene.upload("web", portText);
    await scene.assign("all", ["both", "base"]);
    await scene.assign("other", ["base"]);
    await scene.rollOut("all");
    await scene.apply({ modules: ["web", "both@1"], params: { port: 80, "web.name": "secret-name" } });
    await scene.apply({ modules: ["constructor"] });
    await scene.upload("web", { ...portText, files: { web: "new {{ params.name }}" } });
    const state = await believed();
    expect(state.modules).toStrictEqual([
      { name: "base", revision_applied: 1, assignments: ["all", "other"] },
      { name: "both", revision_applied: 1, assignments: ["all"], named: { revision: 1 } },
      { name: "constructor", revision_applied: 1, assignments: [], named: {} },
      { name: "web", revision_applied: 1, assignments: [], named: { params: ["name", "port"] } },
    ]);
    expect(JSON.stringify(state)).not.toContain("secret-name");
    expect(state).not.toHaveProperty("error");
  });

  test("has one that never came to be without a revision, and keeps the revision of one that failed later", async () => {
    const broken = `  - { id: no, type: script, run: "exit 1", creates: /never }\n`;
    const upload = (name: string): Promise<unknown> =>
      scene.fleet.orchestrator.modules.upload(systemCaller, {
        content: `name: ${name}\nresources:\n${broken}`,
      });
    await scene.upload("later");
    await scene.apply({ modules: ["later"] });
    await upload("never");
    await upload("later");
    await scene.apply({ modules: ["never", "later"] });
    expect((await believed()).modules).toEqual([
      { name: "later", revision_applied: 1, assignments: [], named: {} },
      { name: "never", assignments: [], named: {} },
    ]);
  });

  test("says which one was to go and did not", async () => {
    for (const name of ["base", "web"]) await scene.upload(name);
    await scene.assign("b", ["base"]);
    await scene.apply({ modules: ["web"] });
    rmSync(join(scene.agent.root, "web"));
    mkdirSync(join(scene.agent.root, "web"));
    expect(await scene.apply({ remove_modules: ["web"] })).toMatchObject({ counts: { failed: 1 } });
    const web = { name: "web", revision_applied: 1, assignments: [], leaving: true };
    expect((await believed()).modules).toEqual([web]);
    rmSync(join(scene.agent.root, "web"), { recursive: true });
    await scene.apply({ remove_modules: ["web"] });
    expect((await believed()).modules).toEqual([]);
  });

  test("has one that only a call wants still, and none that was forgotten or removed", async () => {
    for (const name of ["base", "web"]) await scene.upload(name);
    await scene.assign("b", ["base"]);
    await scene.apply({ modules: ["web"] });
    await removeModule("web");
    expect(await scene.apply()).toMatchObject({ status: "succeeded" });
    const base = { name: "base", revision_applied: 1, assignments: ["b"] };
    expect((await believed()).modules).toEqual([base, { name: "web", assignments: [], named: {} }]);
    await scene.apply({ remove_modules: ["web"] });
    expect((await believed()).modules).toEqual([base]);
    await forget("base");
    expect((await believed()).modules).toEqual([]);
  });
});

test("what a condition leaves out is not said to be unapplied, until it holds", async () => {
  const resource = (id: string, when = ""): string =>
    `  - { id: ${id}, type: file, path: /${id}, content: x${when} }\n`;
  const content = `name: web\nresources:\n${resource("always")}${resource("prod", ', when: "env=prod"')}`;
  const { agents, modules } = scene.fleet.orchestrator;
  await modules.upload(systemCaller, { content });
  await scene.assign("w", ["web"]);
  const unapplied = async () => (await believed()).unapplied.map(({ resource_id }) => resource_id);
  const set = (value: string) =>
    agents.tags.set(systemCaller, { node_id: scene.agent.nodeId, key: "env", value });
  for (const [env, left] of [
    ["test", ["always"]],
    ["prod", ["always", "prod"]],
  ] as const) {
    await set(env);
    expect(await unapplied()).toEqual(left);
  }
  await set("test");
  await scene.apply();
  expect(await unapplied()).toEqual([]);
  await set("prod");
  expect(await unapplied()).toEqual(["prod"]);
});

describe("the believed state of an agent of which what is desired can't be worked out", () => {
  test("is told where the revision that a call pinned is gone, and is whole again once the call is taken back", async () => {
    await scene.upload("web", { files: { old: "1" } });
    await scene.upload("web", { files: { web: "2" } });
    await scene.upload("base");
    await scene.assign("b", ["base"]);
    await scene.apply({ modules: ["web@2"] });
    await removeModule("web");
    await scene.upload("web");
    expect(await believed()).toMatchObject({
      applied: [{ module: "web", resource_id: "web" }],
      pending_removals: [],
      unapplied: [],
      modules: [{ name: "web", revision_applied: 2, assignments: [], named: { revision: 2 } }],
      error: { code: "NOT_FOUND", message: expect.stringContaining("web") as string },
    });
    await forget("web");
    const after = await believed();
    expect(after).not.toHaveProperty("error");
    expect(after).toMatchObject({ applied: [], unapplied: [{ module: "base" }], modules: [] });
  });

  test("is told where params that a call gave no longer fit, by their names alone", async () => {
    const text = (pattern: string): string =>
      `name: web\nparams:\n  pw: { type: string, sensitive: true, pattern: "${pattern}" }\n` +
      `resources:\n  - { id: f, type: file, path: /f, sensitive: true, content: "{{ params.pw }}" }\n`;
    const { modules } = scene.fleet.orchestrator;
    await modules.upload(systemCaller, { content: text("^.*$") });
    await scene.apply({ modules: ["web"], params: { pw: "S3CRET" } });
    await modules.upload(systemCaller, { content: text("^x$") });
    const state = await believed();
    expect(state).toMatchObject({
      applied: [{ module: "web", resource_id: "f" }],
      pending_removals: [],
      unapplied: [],
      modules: [{ name: "web", revision_applied: 1, named: { params: ["pw"] } }],
      error: { code: "PARAMS_INVALID", message: expect.stringContaining("param pw") as string },
    });
    expect(JSON.stringify(state)).not.toContain("S3CRET");
  });

  const fitting = { modules: ["web"], params: { port: 81 } };
  test.each([[fitting], [{ remove_modules: ["web"] }], [{ forget: "web" }]])(
    "is whole again after %j",
    async (way) => {
      await scene.upload("web", { files: { web: "p{{ params.port }}" }, more: port(1) });
      await scene.apply({ modules: ["web"], params: { port: 80 } });
      await scene.upload("web", { files: { web: "p{{ params.port }}" }, more: port(81) });
      expect(await believed()).toMatchObject({ error: { code: "PARAMS_INVALID" } });
      if ("forget" in way) await forget(way.forget);
      else expect(await scene.apply(way)).toMatchObject({ status: "succeeded" });
      expect(await believed()).not.toHaveProperty("error");
    },
  );

  test("is refused where the storage is to blame", async () => {
    await scene.upload("web");
    await scene.apply({ modules: ["web"] });
    const { storage } = servicesOf(scene.fleet.orchestrator).operations.parts.context;
    const { value, revision } = (await storage.get("modules", "web"))!;
    const lost = { ...value, content_hash: "0".repeat(64) };
    await storage.commit([
      { kind: "put", collection: "modules", key: "web", value: lost, expected: revision },
    ]);
    await expect(believed()).rejects.toMatchObject({ code: "STORAGE_CORRUPT" });
  });

  test("is refused where nothing is known of the agent", async () => {
    await expect(believed("0".repeat(32))).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

/**
 * Symptom: an operation stayed `unknown` although its agent was back. Cause: an agent was never asked about what it had not told by
 * itself, which is nothing where the command was lost, and where it had told before the server was restored.
 */
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { systemCaller } from "fleetwright";
import type { OperationDocument } from "../../lib/operations/documents.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { createClockScene, day, type ClockScene } from "../support/clock-scene.ts";
import { deferred } from "../support/deferred.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const get = (scene: ClockScene, operation_id: string) =>
  scene.server.orchestrator.operations.get(systemCaller, { operation_id });

/** Writes an operation as a backup, or another process, may have left it. */
async function rewrite(scene: ClockScene, id: string, status: "running" | "unknown"): Promise<void> {
  const { storage } = scene.server;
  const { value } = (await storage.get<OperationDocument>("operations", id))!;
  const { results: _1, finished_at: _2, duration_ms: _3, ...open } = value;
  const written = JSON.parse(JSON.stringify({ ...open, status })) as Record<string, string>;
  await storage.commit([{ kind: "put", collection: "operations", key: id, value: written }]);
}

/** Has everything lost that is sent from now on, until the agent is unheard of. */
async function loseOne(scene: ClockScene, begin: () => Promise<string>): Promise<string> {
  scene.isDeaf = true;
  const id = await begin();
  await scene.pass(40_000);
  return id;
}

async function comeBack(scene: ClockScene): Promise<void> {
  scene.isDeaf = false;
  await scene.pass(60_000);
  await scene.meet();
}

const apply = (scene: ClockScene) => async (): Promise<string> =>
  (await scene.apply({ timeout_seconds: 1 })).operation_id;

describe("an operation that is unknown, once its agent is back,", () => {
  it("is failed and not run where the agent never heard of it, also in lists", async () => {
    await using scene = await createClockScene();
    const id = await loseOne(scene, apply(scene));
    expect((await get(scene, id)).status).toBe("unknown");
    await comeBack(scene);
    expect(await get(scene, id)).toMatchObject({ status: "failed", error: { code: "COMMAND_EXPIRED" } });
    const unknown = await scene.server.orchestrator.operations.list(systemCaller, { status: "unknown" });
    expect([unknown.items, scene.runs]).toEqual([[], 0]);
    expect(await scene.statusOf(await scene.apply())).toBe("succeeded");
  });

  it("is failed where the agent's records were lost", async () => {
    await using scene = await createClockScene();
    const { operation_id } = await scene.apply();
    await scene.stopAgent();
    await scene.stopServer();
    await scene.startServer();
    await rewrite(scene, operation_id, "unknown");
    await scene.stopServer();
    await scene.startServer();
    const folder = join(temporaryFolder(), "new");
    mkdirSync(folder);
    for (const name of readdirSync(scene.stateDir).filter((each) => /identity|orchestrator/.test(each)))
      copyFileSync(join(scene.stateDir, name), join(folder, name));
    const { nodeId } = scene;
    await scene.startAgent(folder);
    await scene.meet();
    expect(scene.nodeId).toBe(nodeId);
    expect(await get(scene, operation_id)).toMatchObject({ status: "failed" });
    expect(scene.runs).toBe(1);
  });

  it.each(["running", "unknown"] as const)(
    "is failed where its result is gone, when it was %s in what was restored",
    async (status) => {
      await using scene = await createClockScene();
      const { operation_id } = await scene.apply();
      await scene.stopAgent();
      await rewrite(scene, operation_id, status);
      await scene.stopServer();
      await scene.startServer();
      await scene.startAgent(scene.stateDir, { keptResults: { count: 0 } });
      await scene.meet();
      expect(await get(scene, operation_id)).toMatchObject({
        status: "failed",
        error: { code: "RESULT_GONE" },
      });
      expect(scene.runs).toBe(1);
    },
  );

  it.each(["running", "unknown"] as const)(
    "has its true result where its agent keeps that, when it was %s in what was restored",
    async (status) => {
      await using scene = await createClockScene();
      const { operation_id } = await scene.apply();
      const { resources, counts } = await get(scene, operation_id);
      await scene.stopAgent();
      await rewrite(scene, operation_id, status);
      await scene.stopServer();
      await scene.startServer();
      await scene.startAgent();
      await scene.meet();
      expect(await get(scene, operation_id)).toMatchObject({ status: "succeeded", resources, counts });
      expect(scene.runs).toBe(1);
    },
  );

  it("is told by an agent that was there all the time, when it has ended", async () => {
    await using scene = await createClockScene();
    const { promise, resolve } = deferred();
    scene.work = promise;
    const id = await apply(scene)();
    await scene.pass(60_000);
    expect((await get(scene, id)).status).toBe("unknown");
    resolve();
    await scene.pass(1000);
    expect((await get(scene, id)).status).toBe("timed_out");
    expect(scene.runs).toBe(1);
  });

  it("is not said to be unknown by a server that starts with a clock far ahead, where the agent comes back", async () => {
    await using scene = await createClockScene();
    const { promise, resolve } = deferred();
    scene.work = promise;
    const { operation_id } = await scene.apply();
    await scene.stopServer();
    resolve();
    scene.serverClock.wallOffsetMs += day;
    await scene.startServer();
    await scene.meet();
    expect(await get(scene, operation_id)).toMatchObject({ status: "succeeded" });
    expect(scene.server.events.filter(({ event_type }) => event_type === "operation.failed")).toEqual([]);
  });

  it("is corrected in the counts of its rollout", async () => {
    await using scene = await createClockScene();
    const { assignments, rollouts } = scene.server.orchestrator;
    await assignments.create(systemCaller, { name: "all", selector: "*", modules: ["motd"] });
    const rollout_id = await loseOne(scene, async () => {
      return (await rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 })).rollout_id;
    });
    await scene.pass(300_000);
    expect((await rollouts.get(systemCaller, { rollout_id })).counts).toMatchObject({ unknown: 1 });
    await comeBack(scene);
    const { counts } = await rollouts.get(systemCaller, { rollout_id });
    expect(counts).toMatchObject({ unknown: 0, failed: 1 });
  });

  it("keeps the record of its drift check, and is no news where another has ended since", async () => {
    await using scene = await createClockScene();
    await scene.apply();
    const { drift } = scene.server.orchestrator;
    const input = { node_id: scene.nodeId, wait_seconds: 0 };
    const drift_id = await loseOne(scene, async () => (await drift.check(systemCaller, input)).drift_id);
    await scene.pass(300_000);
    await comeBack(scene);
    expect(await drift.get(systemCaller, { drift_id })).toMatchObject({ status: "failed" });
    expect((await servicesOf(scene.server.orchestrator).operations.store.find(drift_id))?.status).toBe(
      "failed",
    );
    await drift.check(systemCaller, input);
    await scene.pass(100);
    expect(await drift.latest(systemCaller, { node_id: scene.nodeId })).toMatchObject({ status: "in_sync" });
  });
});

it("an operation that is unknown and was removed is not looked for any more when its agent is back", async () => {
  await using scene = await createClockScene();
  const { operation_id } = await scene.apply();
  await scene.stopAgent();
  const { storage } = scene.server;
  await rewrite(scene, operation_id, "unknown");
  await storage.commit([{ kind: "delete", collection: "operations", key: operation_id }]);
  const get = vi.spyOn(storage, "get");
  await scene.startAgent();
  await scene.meet();
  expect(get.mock.calls.map(([collection]) => collection)).toContain("agents");
  expect(get).not.toHaveBeenCalledWith("operations", operation_id);
});

it("a server that slept while the connection lived is understood again after one refusal", async () => {
  await using scene = await createClockScene();
  scene.agentClock.aheadMs += 10 * 60_000;
  const { operation_id } = await scene.apply();
  await scene.meet();
  await scene.pass(2000);
  expect(await get(scene, operation_id)).toMatchObject({ status: "succeeded" });
  expect(scene.runs).toBe(1);
});

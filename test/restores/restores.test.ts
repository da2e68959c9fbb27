/** What a restored server does with what was open in its backup, and with what would happen by itself. */
import { describe, expect, it } from "vitest";
import { systemCaller, type Operation } from "fleetwright";
import type { EpochDocument } from "../../lib/epochs.ts";
import { toJsonObject } from "../../lib/json.ts";
import { createClockScene, hour, minute, type ClockScene } from "../support/clock-scene.ts";
import { deferred } from "../support/deferred.ts";

const get = (scene: ClockScene, operation_id: string) =>
  scene.server.orchestrator.operations.get(systemCaller, { operation_id });
const stateOf = (scene: ClockScene) => scene.server.orchestrator.restores.get(systemCaller);
const resume = (scene: ClockScene) => scene.server.orchestrator.restores.resume(systemCaller);
const typesOf = (scene: ClockScene): string[] => scene.server.events.map(({ event_type }) => event_type);

/** Has an apply wait behind another that runs, and gives both. */
async function runAndWait(
  scene: ClockScene,
): Promise<{ running: Operation; waiting: Operation; letGo: () => void }> {
  const { promise, resolve } = deferred();
  scene.work = promise;
  const running = await scene.apply();
  const waiting = await scene.queue({ expires_in_seconds: 600 });
  return { running, waiting, letGo: () => resolve(undefined) };
}

describe("a restored server", () => {
  it("is paused in an epoch of its own, says so, and stays so over restarts", async () => {
    await using scene = await createClockScene();
    const before = await stateOf(scene);
    expect(before).toMatchObject({ status: "active", restored_at: null, backup_at: null });
    await scene.restore(scene.backup());
    const after = await stateOf(scene);
    expect(after).toMatchObject({ status: "paused", resumed_at: null });
    expect(after.epoch!.number).toBeGreaterThan(before.epoch!.number);
    expect(after.epoch!.id).not.toBe(before.epoch!.id);
    const { status, checks } = await scene.server.orchestrator.status.get(systemCaller);
    expect([status, checks!.filter((check) => check.status === "failed").map(({ name }) => name)]).toEqual([
      "degraded",
      ["restore"],
    ]);
    await scene.stopServer();
    await scene.startServer();
    expect(await stateOf(scene)).toEqual(after);
    const told = await scene.server.orchestrator.audit.list(systemCaller, { event_type: "storage.restored" });
    expect(told.items).toHaveLength(1);
    await resume(scene);
    await scene.stopServer();
    await scene.startServer();
    expect(await stateOf(scene)).toMatchObject({ status: "active", epoch: after.epoch });
    // A restore of what was restored is another one.
    await scene.restore(scene.backup());
    const again = await stateOf(scene);
    expect([again.status, again.epoch!.number > after.epoch!.number]).toEqual(["paused", true]);
  });

  it("ends what ran with its result, and what waited, where the agent did them since; nothing runs twice", async () => {
    await using scene = await createClockScene();
    const { running, waiting, letGo } = await runAndWait(scene);
    const backup = scene.backup();
    letGo();
    await scene.pass(1_000);
    expect([await scene.statusOf(running), await scene.statusOf(waiting)]).toEqual([
      "succeeded",
      "succeeded",
    ]);
    const { runs } = scene;
    await scene.restore(backup);
    await scene.pass(100);
    expect([await scene.statusOf(running), await scene.statusOf(waiting)]).toEqual([
      "succeeded",
      "succeeded",
    ]);
    expect((await get(scene, running.operation_id)).error).toBeUndefined();
    expect(await stateOf(scene)).toMatchObject({ open_operations: 0 });
    await resume(scene);
    await scene.pass(minute);
    expect(scene.runs).toBe(runs);
    // The lane is free.
    expect(await scene.statusOf(await scene.apply())).toBe("succeeded");
  });

  it("begins what waited where a newer apply was cancelled before it began", async () => {
    await using scene = await createClockScene();
    await scene.stopAgent();
    const waiting = await scene.queue();
    await scene.restore(scene.backup());
    const newer = await scene.queue();
    await resume(scene);
    await scene.pass(1_000);
    await scene.server.orchestrator.operations.cancel(systemCaller, { operation_id: newer.operation_id });
    await scene.startAgent();
    await scene.meet();
    await scene.pass(minute);
    expect([await scene.statusOf(waiting), await scene.statusOf(newer)]).toEqual(["succeeded", "cancelled"]);
  });

  it("ends what the agent never heard of as not run, and has what waited wait for the word, then begin once", async () => {
    await using scene = await createClockScene();
    scene.isDeaf = true;
    const running = await scene.apply();
    const waiting = await scene.queue();
    const backup = scene.backup();
    scene.isDeaf = false;
    await scene.restore(backup);
    expect(await get(scene, running.operation_id)).toMatchObject({
      status: "failed",
      error: { code: "COMMAND_EXPIRED" },
    });
    await scene.pass(5 * minute);
    expect([await scene.statusOf(waiting), scene.runs]).toEqual(["queued", 0]);
    expect(await stateOf(scene)).toMatchObject({
      open_operations: 1,
      operations: [{ operation_id: waiting.operation_id, status: "queued", would: "begin" }],
    });
    await resume(scene);
    await scene.pass(1_000);
    expect([await scene.statusOf(waiting), scene.runs]).toEqual(["succeeded", 1]);
    await scene.pass(10 * minute);
    expect(scene.runs).toBe(1);
  });

  it("goes on by what the feed says, whichever process had it go on", async () => {
    await using scene = await createClockScene();
    scene.isDeaf = true;
    await scene.apply();
    const waiting = await scene.queue();
    const backup = scene.backup();
    scene.isDeaf = false;
    await scene.restore(backup);
    await scene.pass(1_000);
    const { storage } = scene.server;
    const { key, value, revision } = (await storage.get<EpochDocument>("epochs", "now"))!;
    const restore = { ...value.restore!, resumed_at: new Date(scene.clock.now()).toISOString() };
    const resumed = toJsonObject({ ...value, restore });
    await storage.commit([{ kind: "put", collection: "epochs", key, value: resumed, expected: revision }]);
    await scene.pass(1_000);
    expect(await stateOf(scene)).toMatchObject({ status: "active", resumed_at: restore.resumed_at });
    expect([await scene.statusOf(waiting), scene.runs]).toEqual(["succeeded", 1]);
    await expect(resume(scene)).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
  });

  it("begins all that waited, in their order", async () => {
    await using scene = await createClockScene();
    scene.isDeaf = true;
    await scene.apply();
    const first = await scene.queue();
    const second = await scene.queue();
    const backup = scene.backup();
    scene.isDeaf = false;
    await scene.restore(backup);
    await scene.pass(1_000);
    await resume(scene);
    await scene.pass(1_000);
    const [one, two] = [await get(scene, first.operation_id), await get(scene, second.operation_id)];
    expect([one.status, two.status]).toEqual(["succeeded", "succeeded"]);
    expect(Date.parse(one.finished_at!)).toBeLessThanOrEqual(Date.parse(two.started_at!));
  });

  it("lets an operator's own apply begin at once, and never what waited in the backup after it", async () => {
    await using scene = await createClockScene();
    scene.isDeaf = true;
    await scene.apply();
    const waiting = await scene.queue();
    const backup = scene.backup();
    scene.isDeaf = false;
    await scene.restore(backup);
    await scene.pass(1_000);
    expect(await scene.statusOf(await scene.apply())).toBe("succeeded");
    expect(scene.runs).toBe(1);
    await resume(scene);
    await scene.pass(1_000);
    expect(await get(scene, waiting.operation_id)).toMatchObject({
      status: "cancelled",
      error: { code: "REVISION_CONFLICT" },
    });
    expect(scene.runs).toBe(1);
  });

  it("ends what runs on the agent still when that is done there", async () => {
    await using scene = await createClockScene();
    const { running, letGo } = await runAndWait(scene);
    await scene.restore(scene.backup());
    expect(await scene.statusOf(running)).toBe("running");
    letGo();
    await scene.pass(1_000);
    expect([await scene.statusOf(running), scene.runs]).toEqual(["succeeded", 1]);
  });

  it("has the agent end what runs there and waits in the backup, once that is cancelled", async () => {
    await using scene = await createClockScene();
    const { waiting, letGo } = await runAndWait(scene);
    const backup = scene.backup();
    scene.work = deferred().promise;
    scene.canBeEnded = true;
    scene.host.files.removeFile("/etc/motd");
    letGo();
    await scene.pass(1_000);
    await scene.restore(backup);
    expect([await scene.statusOf(waiting), scene.runs]).toEqual(["queued", 2]);
    await scene.server.orchestrator.operations.cancel(systemCaller, { operation_id: waiting.operation_id });
    await scene.pass(1_000);
    expect(await scene.statusOf(waiting)).toBe("cancelled");
  });

  it("has the agent end what runs there and was to be cancelled in the backup", async () => {
    await using scene = await createClockScene();
    scene.work = deferred().promise;
    scene.canBeEnded = true;
    const { operation_id } = await scene.apply();
    scene.isDeaf = true;
    await scene.server.orchestrator.operations.cancel(systemCaller, { operation_id });
    await scene.pass(100);
    const backup = scene.backup();
    scene.isDeaf = false;
    expect(await scene.statusOf({ operation_id })).toBe("running");
    await scene.restore(backup);
    await scene.pass(1_000);
    expect([await scene.statusOf({ operation_id }), scene.runs]).toEqual(["cancelled", 1]);
  });

  it.each([
    ["expires", (scene: ClockScene) => scene.pass(11 * minute)],
    [
      "is cancelled",
      async (scene: ClockScene, operation_id: string) =>
        void (await scene.server.orchestrator.operations.cancel(systemCaller, { operation_id })),
    ],
  ] as const)(
    "does not claim to know what became of what waited and %s while its agent is away",
    async (_, end) => {
      await using scene = await createClockScene();
      const { waiting, letGo } = await runAndWait(scene);
      const backup = scene.backup();
      letGo();
      await scene.pass(1_000);
      expect(await scene.statusOf(waiting)).toBe("succeeded");
      await scene.stopAgent();
      await scene.stopServer();
      scene.data = backup;
      await scene.startServer();
      await end(scene, waiting.operation_id);
      await scene.pass(100);
      expect(await get(scene, waiting.operation_id)).toMatchObject({
        status: "unknown",
        error: { code: "AGENT_TIMEOUT" },
      });
      await scene.startAgent();
      await scene.meet();
      expect(await scene.statusOf(waiting)).toBe("succeeded");
    },
  );

  it.each([
    ["expires", "failed", "AGENT_OFFLINE", (scene: ClockScene) => scene.pass(11 * minute)],
    [
      "is cancelled",
      "cancelled",
      undefined,
      async (scene: ClockScene, operation_id: string) =>
        void (await scene.server.orchestrator.operations.cancel(systemCaller, { operation_id })),
    ],
  ] as const)(
    "ends what waited and %s as %s, where the agent knows nothing of it",
    async (_, status, code, end) => {
      await using scene = await createClockScene();
      scene.isDeaf = true;
      const { waiting, letGo } = await runAndWait(scene);
      const backup = scene.backup();
      letGo();
      scene.isDeaf = false;
      await scene.restore(backup);
      await end(scene, waiting.operation_id);
      await scene.pass(100);
      const operation = await get(scene, waiting.operation_id);
      expect([operation.status, operation.error?.code, scene.runs]).toEqual([status, code, 0]);
    },
  );

  it("carries out no due time that passed, neither before the word nor after it, and says so; the next one it does", async () => {
    await using scene = await createClockScene();
    const { assignments } = scene.server.orchestrator;
    const schedule = { cron: "0 * * * *" };
    await assignments.create(systemCaller, { name: "hourly", selector: "*", modules: ["motd"], schedule });
    const backup = scene.backup();
    await scene.pass(hour);
    const begun = (): number => typesOf(scene).filter((type) => type === "rollout.started").length;
    expect(begun()).toBe(1);
    await scene.restore(backup);
    await scene.pass(hour);
    expect(begun()).toBe(0);
    const { missed } = await stateOf(scene);
    expect(missed).toEqual([
      { assignment: "hourly", due_at: expect.stringMatching(/:00:00.000Z$/) as string },
    ]);
    expect((await resume(scene)).missed).toEqual(missed);
    await scene.pass(1_000);
    expect([begun(), typesOf(scene).filter((type) => type === "schedule.skipped")]).toEqual([
      0,
      ["schedule.skipped"],
    ]);
    await scene.pass(hour);
    expect(begun()).toBe(1);
  });

  it("checks and enforces nothing by itself before the word", async () => {
    await using scene = await createClockScene({ driftIntervalSeconds: 3_600 });
    const { assignments } = scene.server.orchestrator;
    await assignments.create(systemCaller, { name: "kept", selector: "*", modules: ["motd"], enforce: true });
    await scene.apply();
    await scene.pass(6 * minute);
    const { runs } = scene;
    await scene.restore(scene.backup());
    const { drift } = scene.server.orchestrator;
    const listed = async () => (await drift.list(systemCaller, { node_id: scene.nodeId })).items.length;
    const known = await listed();
    scene.host.files.removeFile("/etc/motd");
    await scene.pass(3 * hour);
    // Counted after those hours, checks that came by themselves went unseen.
    expect(await listed()).toBe(known);
    expect(await stateOf(scene)).toMatchObject({ enforcing: ["kept"] });
    // What an operator asks for is looked at, and not acted on.
    const check = await drift.check(systemCaller, { node_id: scene.nodeId, wait_seconds: 0 });
    await scene.pass(1_000);
    const { drift_id } = check;
    expect((await drift.get(systemCaller, { drift_id })).status).toBe("drifted");
    await scene.pass(hour);
    expect([scene.runs, scene.host.files.stat("/etc/motd"), await listed()]).toEqual([runs, null, known + 1]);
    await resume(scene);
    await scene.pass(2 * hour);
    expect([scene.runs, await listed()]).toEqual([runs + 1, expect.any(Number) as number]);
    expect(await listed()).toBeGreaterThan(known + 1);
  });

  it("is told to go on by Admins alone, once", async () => {
    await using scene = await createClockScene();
    await scene.restore(scene.backup());
    const { restores } = scene.server.orchestrator;
    const operator = (await scene.server.signIn("Operator")).caller;
    await expect(restores.resume(operator)).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect((await restores.get(operator)).status).toBe("paused");
    const admin = (await scene.server.signIn("Admin")).caller;
    const answers = await Promise.allSettled([restores.resume(admin), restores.resume(admin)]);
    expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect((await restores.get(operator)).status).toBe("active");
    await expect(restores.resume(admin)).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
    expect(typesOf(scene).filter((type) => type === "storage.resumed")).toHaveLength(1);
  });
});

import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import type { DriftRecord, ResourceResult } from "fleetwright";
import type { FakeClock } from "fleetwright/testing";
import { createTestOrchestrator } from "fleetwright/testing";
import { msToMoment } from "../../lib/drift/scheduled-checks.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Storage } from "../../lib/storage/storage.ts";
import { type Deferred, deferred, settle } from "../support/deferred.ts";
import { motdDifference } from "../support/motd-difference.ts";
import { createScene, type Scene, type SceneAgent } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "../support/scripted-agent.ts";

const intervalSeconds = 3_600;

/** Lets time pass in steps so short that connections are heard of. */
async function pass(clock: FakeClock, ms: number, until: () => boolean = () => false): Promise<void> {
  for (let left = ms; left > 0 && !until(); left -= 5_000) {
    await clock.advance(Math.min(left, 5_000));
    for (let turn = 0; turn < 4; turn += 1) await settle();
  }
}

/** An agent whose machine is as `drifted` says at each check. */
function answerChecks({ agent }: { agent: ScriptedAgent }, drifted: () => boolean): { checks: number } {
  const seen = { checks: 0 };
  const next = async (): Promise<void> => {
    const { operation_id } = await agent.next("check");
    seen.checks += 1;
    agent.link.send({ ...emptyResult(operation_id), results: drifted() ? [motdDifference] : [] });
    await next();
  };
  void next();
  return seen;
}

async function applyTo(scene: Scene, member: SceneAgent | undefined): Promise<void> {
  const input = { node_id: member!.nodeId, wait_seconds: 0 };
  await scene.test.orchestrator.operations.apply(systemCaller, input);
  await scene.finish(member);
}

async function recordsOf(scene: Scene, member: SceneAgent | undefined): Promise<DriftRecord[]> {
  const page = await scene.test.orchestrator.drift.list(systemCaller, { node_id: member!.nodeId });
  return page.items;
}

const driftEvents = (scene: Scene): string[] =>
  scene.test.events.map(({ event_type }) => event_type).filter((type) => type.startsWith("drift."));

describe("a scheduled drift check", () => {
  it("is made once an interval, tells of drift once, and of its end once", async () => {
    await using scene = await createScene(1);
    const [member] = scene.agents;
    let drifted = false;
    const seen = answerChecks(member!, () => drifted);
    await applyTo(scene, member);
    await pass(scene.clock, 3 * intervalSeconds * 1000);
    expect(seen.checks).toBe(3);
    expect(driftEvents(scene)).toEqual([]);
    drifted = true;
    await pass(scene.clock, 2 * intervalSeconds * 1000);
    expect(driftEvents(scene)).toEqual(["drift.detected"]);
    drifted = false;
    await pass(scene.clock, 2 * intervalSeconds * 1000);
    expect(driftEvents(scene)).toEqual(["drift.detected", "drift.resolved"]);
    expect(seen.checks).toBe(7);
    // Of each row of checks that found the same, the newest is kept.
    expect((await recordsOf(scene, member)).map(({ status, trigger }) => `${trigger} ${status}`)).toEqual([
      "scheduled in_sync",
      "scheduled drifted",
      "scheduled in_sync",
    ]);
    // Its operation goes with a record.
    const { items } = await scene.test.storage.list<{ kind: string }>("operations", { limit: 100 });
    expect(items.filter(({ value }) => value.kind === "check")).toHaveLength(3);
    expect(scene.test.loggedErrors).toEqual([]);
  });

  it("that failed for another reason than the one before is kept beside it", async () => {
    await using scene = await createScene(1);
    const [member] = scene.agents;
    await applyTo(scene, member);
    const codes = ["HOST_ERROR", "HOST_ERROR", "STORAGE_FULL", "HOST_ERROR"];
    for (const code of codes) {
      const count = member!.agent.commands.filter(isCheck).length;
      await pass(
        scene.clock,
        2 * intervalSeconds * 1000,
        () => member!.agent.commands.filter(isCheck).length > count,
      );
      const { operation_id } = await member!.agent.next("check");
      const error = { code, message: "It could not look." };
      member!.agent.link.send({ ...emptyResult(operation_id), status: "failed", error });
      await member!.agent.next("ack");
      await settle();
    }
    const kept = (await recordsOf(scene, member)).map(({ error }) => error?.code);
    expect(kept).toEqual(["HOST_ERROR", "STORAGE_FULL", "HOST_ERROR"]);
  });

  it("is not made within five minutes after an apply, but then", async () => {
    await using scene = await createScene(1);
    const [member] = scene.agents;
    const seen = answerChecks(member!, () => false);
    await applyTo(scene, member);
    const { nodeId } = member!;
    const waitMs = msToMoment({ nodeId, nowMs: scene.clock.now(), intervalMs: intervalSeconds * 1000 });
    await pass(scene.clock, waitMs - 60_000);
    await applyTo(scene, member);
    await pass(scene.clock, 295_000);
    expect(seen.checks).toBe(0);
    await pass(scene.clock, 70_000);
    expect(seen.checks).toBe(1);
  });

  it("is made of so many agents at once as the option says, and of the next when one has ended", async () => {
    await using scene = await createScene(5, () => ({}), { driftConcurrency: 2, driftIntervalSeconds: 300 });
    for (const member of scene.agents) await applyTo(scene, member);
    const asked = (): number => scene.agents.filter(({ agent }) => agent.commands.some(isCheck)).length;
    await pass(scene.clock, 700_000, () => asked() >= 2);
    await pass(scene.clock, 100_000);
    expect(asked()).toBe(2);
    const open = scene.agents.find(({ agent }) => agent.commands.some(isCheck))!;
    const { operation_id } = await open.agent.next("check");
    open.agent.link.send(emptyResult(operation_id));
    await pass(scene.clock, 20_000);
    expect(asked()).toBe(3);
  });

  it("that ended before whoever began it knew keeps no place", async () => {
    const storage = new LateStorage();
    await using scene = await createScene(3, () => ({}), { driftConcurrency: 1, storage });
    for (const member of scene.agents) await applyTo(scene, member);
    const seen = scene.agents.map((member) => answerChecks(member, () => false));
    storage.isLate = true;
    await pass(scene.clock, 3 * intervalSeconds * 1000);
    expect(storage.endedEarly).toBeGreaterThanOrEqual(9);
    expect(seen.map(({ checks }) => checks)).toEqual([3, 3, 3]);
  });

  it("is never made where it is switched off", async () => {
    await using scene = await createScene(1, () => ({}), { driftIntervalSeconds: 0 });
    const seen = answerChecks(scene.agents[0]!, () => false);
    await applyTo(scene, scene.agents[0]);
    await pass(scene.clock, 2 * intervalSeconds * 1000);
    expect(seen.checks).toBe(0);
  });

  it("is made at the same moments after a restart", async () => {
    const scene = await createScene(1);
    const [member] = scene.agents;
    await applyTo(scene, member);
    await member!.agent.link.stop();
    await scene.test.orchestrator.stop();
    const { clock, data } = scene;
    const nodeId = member!.nodeId;
    await clock.advance(1_000_000);
    await using second = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
    await using again = await connectScriptedAgent(second, member!.keys, clock);
    const seen = answerChecks({ agent: again }, () => false);
    const waitMs = msToMoment({ nodeId, nowMs: clock.now(), intervalMs: intervalSeconds * 1000 });
    await pass(clock, waitMs - 5_000);
    expect(seen.checks).toBe(0);
    await pass(clock, 10_000);
    expect(seen.checks).toBe(1);
  });

  it("is not made twice because the clock jumped, nor left out for long", async () => {
    await using scene = await createScene(1);
    const seen = answerChecks(scene.agents[0]!, () => false);
    await applyTo(scene, scene.agents[0]);
    await pass(scene.clock, intervalSeconds * 1000);
    expect(seen.checks).toBe(1);
    scene.clock.jump(365 * 86_400_000);
    await pass(scene.clock, 2 * intervalSeconds * 1000);
    expect(seen.checks).toBeLessThanOrEqual(3);
    scene.clock.jump(-400 * 86_400_000);
    const before = seen.checks;
    await pass(scene.clock, 2 * intervalSeconds * 1000);
    expect(seen.checks).toBeGreaterThan(before);
  });
});

it("a check that has ended tells when, how long it took, and what it counted", async () => {
  await using scene = await createScene(1, () => ({}), { driftIntervalSeconds: 0 });
  const { drift } = scene.test.orchestrator;
  const [member] = scene.agents;
  await applyTo(scene, member);
  const input = { node_id: member!.nodeId, wait_seconds: 0 };
  const begun = await drift.check(systemCaller, input);
  expect(begun).toMatchObject({ status: "running", trigger: "manual", duration_ms: 0 });
  const { operation_id } = await member!.agent.next("check");
  await scene.clock.advance(7_000);
  const same: ResourceResult = { ...motdDifference, outcome: "unchanged", action: "none", resource_id: "b" };
  member!.agent.link.send({
    ...emptyResult(operation_id),
    duration_ms: 4_321,
    results: [motdDifference, same],
  });
  await member!.agent.next("ack");
  const record = await drift.get(systemCaller, { drift_id: operation_id });
  expect(record).toMatchObject({
    status: "drifted",
    node_id: member!.nodeId,
    baseline_operation_id: begun.baseline_operation_id,
    checked_at: new Date(scene.clock.now()).toISOString(),
    counts: { total: 2, would_change: 1, unchanged: 1 },
  });
  expect(record.duration_ms).toBe(4_321);
});

describe("a check that an apply has overtaken", () => {
  it("says nothing of the machine: what it found is about another baseline", async () => {
    await using scene = await createScene(1, () => ({}), { driftIntervalSeconds: 0 });
    const { drift, operations } = scene.test.orchestrator;
    const [member] = scene.agents;
    const input = { node_id: member!.nodeId, wait_seconds: 0 };
    await applyTo(scene, member);
    await operations.apply(systemCaller, input);
    const { drift_id } = await drift.check(systemCaller, input);
    await scene.finish(member);
    const { operation_id } = await member!.agent.next("check");
    member!.agent.link.send({ ...emptyResult(operation_id), results: [motdDifference] });
    await member!.agent.next("ack");
    const error = { code: "REVISION_CONFLICT", message: "An apply ended in the meantime." };
    expect(await drift.get(systemCaller, { drift_id })).toMatchObject({ status: "cancelled", error });
    expect((await drift.list(systemCaller, { node_id: input.node_id })).items[0]).toMatchObject({ error });
    expect(driftEvents(scene)).toEqual(["drift.checkRequested"]);
  });
});

describe("a check of which it is known late how it ended", () => {
  it.each([
    [
      "is a record and no news where another has ended since",
      true,
      ["drift.checkRequested", "drift.checkRequested"],
    ],
    ["is news where none has", false, ["drift.checkRequested", "drift.detected"]],
  ])("%s", async (_name, isAnother, events) => {
    await using scene = await createScene(1, () => ({}), { driftIntervalSeconds: 0 });
    const { agents, drift } = scene.test.orchestrator;
    const { agent, nodeId: node_id } = scene.agents[0]!;
    await applyTo(scene, scene.agents[0]);
    const check = async () => (await drift.check(systemCaller, { node_id, wait_seconds: 0 })).drift_id;
    const late = await check();
    agent.link.send({ type: "reply", id: (await agent.next("check")).id });
    await pass(scene.clock, 3_600_000, () => false);
    expect(await drift.get(systemCaller, { drift_id: late })).toMatchObject({
      status: "failed",
      error: { code: "AGENT_TIMEOUT" },
    });
    const newest = isAnother ? await check() : null;
    if (newest !== null) agent.link.send(emptyResult((await agent.next("check")).operation_id));
    await settle();
    agent.link.send({ ...emptyResult(late), results: [motdDifference] });
    await agent.next("ack");
    for (let turn = 0; turn < 4; turn += 1) await settle();
    const corrected = await drift.get(systemCaller, { drift_id: late });
    expect([corrected.status, corrected.error]).toEqual(["drifted", undefined]);
    expect((await agents.get(systemCaller, { node_id })).drift).toMatchObject(
      isAnother ? { drift_id: newest, status: "in_sync" } : { drift_id: late, status: "drifted" },
    );
    expect(driftEvents(scene)).toEqual(events);
  });
});

describe("the moments of a fleet", () => {
  it("are spread over the whole interval, one for each agent in each", () => {
    const intervalMs = 3_600_000;
    const moments = Array.from({ length: 4_096 }, (_, at) => {
      const nodeId = `${((at * 0x9e3779b1) >>> 0).toString(16).padStart(8, "0")}${"0".repeat(24)}`;
      const first = msToMoment({ nodeId, nowMs: 1_000_000, intervalMs });
      const second = msToMoment({ nodeId, nowMs: 1_000_000 + first, intervalMs });
      expect(second).toBe(intervalMs);
      return first;
    });
    const perMinute = new Map<number, number>();
    for (const moment of moments) {
      const minute = Math.floor(moment / 60_000);
      perMinute.set(minute, (perMinute.get(minute) ?? 0) + 1);
    }
    // 68 on average.
    expect(Math.max(...perMinute.values())).toBeLessThan(140);
    expect(perMinute.size).toBeGreaterThanOrEqual(60);
  });
});

function isCheck({ type }: { type: string }): boolean {
  return type === "check";
}

/** Tells whoever writes a check of it only once the check has ended. */
class LateStorage extends MemoryStorage {
  isLate = false;
  endedEarly = 0;
  readonly #waiting = new Map<string, Deferred>();

  override async commit(...commit: Parameters<Storage["commit"]>): ReturnType<Storage["commit"]> {
    const result = await super.commit(...commit);
    for (const write of commit[0]) {
      if (!this.isLate || write.kind !== "put" || write.collection !== "drift_records") continue;
      const { key, value } = write;
      if (value["status"] !== "running") {
        this.#waiting.get(key)?.resolve();
        this.#waiting.delete(key);
      } else {
        const waiting = deferred();
        this.#waiting.set(key, waiting);
        await waiting.promise;
        this.endedEarly += 1;
      }
    }
    return result;
  }
}

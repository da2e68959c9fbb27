/** A scheduled check that can't be made at its moment is made as soon as it can be, and not an interval later. */
import { expect, it } from "vitest";
import { MemoryStorage, OrchestratorError, systemCaller } from "fleetwright";
import { msToMoment } from "../../lib/drift/scheduled-checks.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import { settle } from "../support/deferred.ts";
import { createScene, type Scene, type SceneAgent } from "../support/rollout-scene.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

const intervalMs = 3_600_000;
const settlingMs = 300_000;
/** Longer than the steps in which time passes. */
const shortMs = 15_000;

/** A storage without space for the record of another check. */
class FullStorage extends MemoryStorage {
  isFull = false;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const isCheck = writes.some((write) => write.kind === "put" && write.collection === "drift_records");
    if (this.isFull && isCheck) throw new OrchestratorError("STORAGE_FULL");
    return super.commit(writes, options);
  }
}

async function pass({ clock }: Scene, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 5_000) {
    await clock.advance(Math.min(left, 5_000));
    for (let turn = 0; turn < 4; turn += 1) await settle();
  }
}

async function apply(scene: Scene, member: SceneAgent): Promise<void> {
  await scene.test.orchestrator.operations.apply(systemCaller, { node_id: member.nodeId, wait_seconds: 0 });
  await scene.finish(member);
}

/** An agent that something is applied on a minute before its moment, or an hour and more before. */
async function beforeMoment(isApplied: boolean, storage = new MemoryStorage()): Promise<Scene> {
  const scene = await createScene(1, () => ({}), { storage });
  const [member] = scene.agents as [SceneAgent];
  if (!isApplied) {
    await apply(scene, member);
    await pass(scene, settlingMs);
  }
  const toMoment = msToMoment({ nodeId: member.nodeId, nowMs: scene.clock.now(), intervalMs });
  await pass(scene, (toMoment < 60_000 ? toMoment + intervalMs : toMoment) - 60_000);
  if (isApplied) await apply(scene, member);
  return scene;
}

const checks = (...agents: Pick<SceneAgent, "agent">[]): number =>
  agents.flatMap(({ agent }) => agent.commands.filter(({ type }) => type === "check")).length;

it.each(["stays", "comes back"])(
  "after an apply, when five minutes have passed: its agent %s",
  async (how) => {
    await using scene = await beforeMoment(true);
    const [member] = scene.agents as [SceneAgent];
    const { keys } = member;
    await pass(scene, settlingMs / 2);
    let { agent } = member;
    if (how === "comes back") {
      await agent.link.stop();
      await pass(scene, shortMs);
      agent = await connectScriptedAgent(scene.test, keys, scene.clock);
    }
    await using _agent = agent;
    await pass(scene, settlingMs / 2 - (how === "comes back" ? 2 : 1) * shortMs);
    expect(checks({ agent })).toBe(0);
    await pass(scene, 2 * shortMs);
    expect(checks({ agent })).toBe(1);
  },
);

it("on a full disk, when there is space again", async () => {
  const storage = new FullStorage();
  await using scene = await beforeMoment(false, storage);
  const before = checks(...scene.agents);
  storage.isFull = true;
  await pass(scene, 120_000);
  expect(checks(...scene.agents)).toBe(before);
  storage.isFull = false;
  await pass(scene, 120_000);
  expect(checks(...scene.agents)).toBe(before + 1);
});

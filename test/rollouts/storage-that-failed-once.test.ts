/**
 * A storage of which one call fails on its way, in words of its own or as `STORAGE_FAILED`, as one whose connection was lost or whose process has
 * too many files open: what nobody waits for is tried again. It was given up, and a rollout, its operations and what waits in line stood
 * still until the next start.
 */
import { expect, test } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Write } from "../../lib/storage/storage.ts";
import { settle, settleAll } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";

class FailingOnce extends MemoryStorage {
  failure: unknown = null;
  failing: ((write: Write) => boolean) | null = null;

  override async commit(...[writes, options]: Parameters<MemoryStorage["commit"]>) {
    if (this.failing === null || !writes.some(this.failing)) return super.commit(writes, options);
    this.failing = null;
    throw this.failure;
  }
}

const failures: [name: string, failure: unknown][] = [
  ["an error of its own", new Error("connection lost")],
  ["STORAGE_FAILED", new OrchestratorError("STORAGE_FAILED")],
  ["nothing at all", undefined],
];

test.each(failures)("a rollout goes on after a step of it failed with %s", async (_, failure) => {
  const clock = new FakeClock();
  const storage = new FailingOnce({ clock, data: new MemoryData() });
  storage.failure = failure;
  await using scene = await createScene(2, undefined, { clock, storage });
  const [first, second] = scene.agents;
  const { orchestrator } = scene.test;
  const apply = { name: "all", rollout: { batch: 1 }, wait_seconds: 0 };
  const { rollout_id } = await orchestrator.rollouts.apply(systemCaller, apply);
  await settle();
  storage.failing = (write) => write.kind === "put" && write.collection === "rollouts";
  await scene.finish(first);
  expect([scene.asked(), storage.failing]).toEqual([["a1"], null]);
  await clock.advance(2_000);
  await settleAll();
  expect(scene.asked()).toEqual(["a1", "a2"]);
  await scene.finish(second);
  const { status } = await orchestrator.rollouts.get(systemCaller, { rollout_id });
  expect(status).toBe("succeeded");
});

/** Groups shown in part. Without their resources a group said that some are left out where all that it has was skipped for a condition. */
import { describe, expect, it } from "vitest";
import { systemCaller, type ResourceResult } from "fleetwright";
import { settle } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

const result = (resource_id: string, more: Partial<ResourceResult>): ResourceResult => ({
  resource_id,
  module: "motd",
  type: "file",
  identity: `/etc/${resource_id}`,
  outcome: "unchanged",
  action: "none",
  changes: [],
  caused_by: [],
  attempts: 0,
  duration_ms: 1,
  ...more,
});

const cases: Record<string, Partial<ResourceResult>[]> = {
  "all is as it should be": [{}, {}],
  "a condition skips one": [{}, { outcome: "skipped", skipped_because: "condition" }],
  "none is desired": [{ outcome: "skipped", skipped_because: "undesired" }],
  "something skipped waits for what failed": [
    { outcome: "failed", code: "HOST_ERROR", message: "no" },
    { outcome: "skipped", skipped_because: "dependency" },
  ],
  "all that is skipped was cancelled": [{}, { outcome: "skipped", skipped_because: "cancelled" }],
  "a condition skips one, and another would change": [
    { outcome: "skipped", skipped_because: "condition" },
    { outcome: "would_change", action: "update" },
  ],
};

/** A plan of one agent, which finds this. */
async function found(scene: Scene, results: Partial<ResourceResult>[]): Promise<string> {
  const input = { name: "all", wait_seconds: 0 };
  const { rollout_id } = await scene.test.orchestrator.rollouts.plan(systemCaller, input);
  await settle();
  const { agent } = scene.agents[0]!;
  const { operation_id } = await agent.next("plan");
  const named = results.map((each, at) => result(`r${at}`, each));
  const status = results.some(({ outcome }) => outcome === "failed") ? "failed" : "succeeded";
  agent.link.send({ ...emptyResult(operation_id), status, results: named });
  await agent.next("ack");
  await settle();
  return rollout_id;
}

describe("a group of which no resource is asked for", () => {
  it.each(Object.entries(cases))("says that there is more exactly where there is: %s", async (_, results) => {
    await using scene = await createScene(1);
    const rollout_id = await found(scene, results);
    const group = async (more: object) => {
      const { items } = await scene.test.orchestrator.rollouts.changes(systemCaller, { rollout_id, ...more });
      expect(items).toHaveLength(1);
      return items[0]!;
    };
    const [whole, bare, first] = [
      await group({}),
      await group({ show_resources: 0 }),
      await group({ show_resources: 1 }),
    ];
    expect(whole.truncated).toBe(false);
    expect([bare.resources, bare.truncated]).toEqual([[], whole.resources.length > 0]);
    expect([first.resources, first.truncated]).toEqual([
      whole.resources.slice(0, 1),
      whole.resources.length > 1,
    ]);
  });
});

describe("the resources of a group", () => {
  it.each([
    [65_536, false],
    [65_537, true],
  ])("with %i characters together are cut: %s", async (characters, isCut) => {
    await using scene = await createScene(1);
    const changed = (after: string): Partial<ResourceResult> => ({
      outcome: "would_change",
      changes: [{ property: "content", before: "x", after }],
    });
    const empty = [0, 1, 2].reduce(
      (sum, at) => sum + JSON.stringify(result(`r${at}`, changed(""))).length,
      0,
    );
    const third = Math.floor((characters - empty) / 3);
    const lengths = [third, third, characters - empty - 2 * third];
    const rollout_id = await found(
      scene,
      lengths.map((length) => changed("y".repeat(length))),
    );
    const { items } = await scene.test.orchestrator.rollouts.changes(systemCaller, { rollout_id });
    expect([items[0]!.truncated, items[0]!.resources.length]).toEqual([isCut, isCut ? 2 : 3]);
  });
});

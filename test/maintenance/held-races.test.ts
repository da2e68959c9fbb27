/** What happens in the very moment in which work is begun, or held. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { settle, settleAll } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

const minuteMs = 60_000;

function freeze({ test, clock }: Scene, selector?: string): Promise<unknown> {
  const ends_at = new Date(clock.now() + 10 * minuteMs).toISOString();
  const window = {
    reason: "the database moves",
    mode: "freeze" as const,
    ends_at,
    ...(selector !== undefined && { selector }),
  };
  return test.orchestrator.maintenanceWindows.create(systemCaller, window);
}

it.each([1, 2])(
  "an apply that is looked at when a freeze begins does not begin in it, as it is read for the %ith time",
  async (time) => {
    await using scene = await createScene(1, undefined, { driftIntervalSeconds: 0 });
    const { operations } = scene.test.orchestrator;
    const [member] = scene.agents;
    await member!.agent.link.stop();
    const { operation_id } = await operations.apply(systemCaller, {
      node_id: member!.nodeId,
      modules: ["motd"],
      when_offline: "queue",
      wait_seconds: 0,
    });
    const { storage } = scene.test;
    const get = storage.get.bind(storage);
    let reads = 0;
    storage.get = async (collection, key) => {
      if (collection === "operations" && key === operation_id && (reads += 1) === time) await freeze(scene);
      return get(collection, key);
    };
    await using agent = await connectScriptedAgent(scene.test, member!.keys, scene.clock);
    await settleAll();
    expect(reads).toBeGreaterThanOrEqual(time);
    expect(agent.commands.map(({ type }) => type)).not.toContain("apply");
    expect(await operations.get(systemCaller, { operation_id })).toMatchObject({ status: "queued" });
    for (let minute = 0; minute < 11; minute += 1) {
      await scene.clock.advance(minuteMs);
      await settleAll();
    }
    expect((await agent.next("apply")).operation_id).toBe(operation_id);
  },
);

it("an operation whose record goes while it is held is held no more", async () => {
  await using scene = await createScene(3, (at): Record<string, string> => (at === 0 ? {} : { role: "db" }), {
    driftIntervalSeconds: 0,
  });
  const { rollouts } = scene.test.orchestrator;
  await freeze(scene, "role=db");
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
  await settleAll();
  const held = async (): Promise<unknown> => (await rollouts.get(systemCaller, { rollout_id })).held;
  expect(await held()).toBe(2);
  const query = { index: "by_rollout_status", equals: [rollout_id, "queued"] };
  const { items } = await scene.test.storage.list("operations", query);
  await scene.test.storage.commit([{ kind: "delete", collection: "operations", key: items[0]!.key }]);
  await settle();
  expect(await held()).toBe(1);
});

it.each(["attributes", "tags"] as const)(
  "an operation is held no longer once its agent has other %s, which the window does not match",
  async (by) => {
    const tags = (at: number): Record<string, string> => (at === 0 ? { role: "db" } : {});
    await using scene = await createScene(2, tags, { driftIntervalSeconds: 0 });
    const { agents, rollouts } = scene.test.orchestrator;
    const { agent, nodeId: node_id } = scene.agents[0]!;
    const collected_at = new Date(scene.clock.now()).toISOString();
    agent.link.send({ type: "attributes", attributes: { "os.family": "debian" }, collected_at });
    await settleAll();
    await freeze(scene, by === "tags" ? "role=db" : "attr.os.family=debian");
    await rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
    await settleAll();
    expect(scene.asked()).toEqual(["a2"]);
    if (by === "tags") await agents.tags.replace(systemCaller, { node_id, tags: { role: "web" } });
    else agent.link.send({ type: "attributes", attributes: { "os.family": "alpine" }, collected_at });
    await settleAll();
    await scene.clock.advance(minuteMs);
    await settleAll();
    expect(scene.asked()).toEqual(["a1", "a2"]);
  },
);

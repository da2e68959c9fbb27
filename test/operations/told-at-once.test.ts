/** Who watches an operation that waits is told that it runs when it begins, and not only with what it does. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { settle } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { waitFor } from "../support/wait-for.ts";

it("an operation that begins while somebody watches is told to run, though its agent says nothing", async () => {
  await using scene = await createScene(1);
  const { operations } = scene.test.orchestrator;
  const { agent, nodeId: node_id, keys } = scene.agents[0]!;
  await agent.link.stop();
  await settle();
  const input = { node_id, when_offline: "queue", wait_seconds: 0 } as const;
  const { operation_id } = await operations.apply(systemCaller, input);
  const told: string[] = [];
  const done = new AbortController();
  const watching = (async () => {
    for await (const { item } of operations.watch(systemCaller, { operation_id }, done.signal))
      told.push(item.type === "operation" ? item.operation.status : item.type);
  })();
  await waitFor(() => expect(told).toEqual(["queued"]));
  await using back = await connectScriptedAgent(scene.test, keys, scene.clock);
  expect(await back.next("apply")).toMatchObject({ operation_id });
  await waitFor(() => expect(told).toEqual(["queued", "running"]));
  done.abort();
  await watching;
});

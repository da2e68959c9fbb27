/** Agents that went away together, more than one event names: who is told of some of them, and of none that are muted, goes by each. */
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import type { TestOrchestrator } from "fleetwright/testing";
import type { TestAgent } from "../../lib/testing/test-agent.ts";
import { createNotifying, deliveriesOf, pass, webhook } from "../support/channel-scene.ts";
import { approved, connect, leave } from "../support/leaving-agents.ts";
import { startReceiver, type Received } from "../support/receiver.ts";

const many = 230;

let test: TestOrchestrator;
let agents: TestAgent[];
beforeEach(async () => {
  test = await createNotifying();
  onTestFinished(() => test[Symbol.asyncDispose]());
  agents = [];
  for (let number = 1; number <= many; number += 1) agents.push(await approved(test, number));
});

const tag = (agent: TestAgent) =>
  test.orchestrator.agents.tags.replace(systemCaller, { node_id: agent.nodeId, tags: { role: "db" } });

it.each([0, 99, 100, many - 1])(
  "a channel for the agent that goes as number %i of many is told",
  async (at) => {
    const { url, received } = await startReceiver((response) => response.end());
    await tag(agents[at]!);
    const { id } = await webhook(test, url, {
      events: ["agent.offline", "agent.online"],
      selector: "role=db",
    });
    await leave(test, ...agents);
    await pass(test, 100_000, 5_000);
    for (let number = 1; number <= many; number += 1) await connect(test, number);
    await pass(test, 60_000, 5_000);
    await deliveriesOf(test, id, ["delivered", "delivered"]);
    const titles = received.map(titleOf);
    const [which] = (await test.orchestrator.agents.list(systemCaller, { selector: "role=db" })).items;
    expect(titles).toEqual([`Agent ${which!.name} is offline`, `Agent ${which!.name} is online again`]);
  },
);

it("none of them pages anybody where a window mutes them all", async () => {
  const { url, received } = await startReceiver((response) => response.end());
  const { id } = await webhook(test, url, { events: ["agent.offline"] });
  const ends_at = new Date(test.clock.now() + 3_600_000).toISOString();
  await test.orchestrator.maintenanceWindows.create(systemCaller, { reason: "work", mode: "mute", ends_at });
  await leave(test, ...agents);
  await pass(test, 100_000, 5_000);
  const { items } = await test.orchestrator.notifications.list(systemCaller, {});
  const offline = items.filter(({ event_type }) => event_type === "agent.offline");
  expect(offline.map(({ title, muted, count }) => [title, muted, count])).toEqual([
    [`${many} agents are offline`, true, many],
  ]);
  expect([await deliveriesOf(test, id, []), received]).toEqual([[], []]);
});

function titleOf({ body }: Received): string {
  return (JSON.parse(body) as { data: { title: string } }).data.title;
}

/**
 * A channel of the audit log that is for some agents.
 *
 * Symptom: it was told of what was done to agents themselves, and not of their operations, terminals and checks; and nothing at all of an
 * agent that was removed before its events were sent. Cause: only the target of an event was compared with the selector, at the moment of
 * sending.
 */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createNotifying, pass, webhook } from "../../support/channel-scene.ts";
import { settleAll } from "../../support/deferred.ts";
import { startReceiver } from "../../support/receiver.ts";
import { connectScriptedAgent } from "../../support/scripted-agent.ts";

it("tells what is recorded about agents that match, whatever it was done to, also where they are gone", async () => {
  let isUp = false;
  const { url, received } = await startReceiver((response) => {
    response.statusCode = isUp ? 200 : 503;
    response.end();
  });
  await using test = await createNotifying();
  const { agents, operations, modules } = test.orchestrator;
  const content = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";
  await modules.upload(systemCaller, { content });
  const join = async (role: string) => {
    const agent = await connectScriptedAgent(test, undefined, test.clock);
    const node_id = agent.nodeId;
    await agents.setStatus(systemCaller, { node_id, status: "approved" });
    await agents.tags.replace(systemCaller, { node_id, tags: { role } });
    return { agent, node_id };
  };
  const web = await join("web");
  const gone = await join("web");
  const other = await join("db");
  await webhook(test, url, { source: "audit", selector: "role=web" });
  for (const { node_id } of [web, gone, other]) {
    await agents.rename(systemCaller, { node_id, name: `n${node_id.slice(0, 8)}` });
    await operations.apply(systemCaller, { node_id, modules: ["motd"], wait_seconds: 0 });
  }
  await settleAll();
  await gone.agent.link.stop();
  await agents.setStatus(systemCaller, { node_id: gone.node_id, status: "rejected" });
  await agents.remove(systemCaller, { node_id: gone.node_id });
  isUp = true;
  const told = (node_id: string): string[] =>
    received
      .map(({ body }) => JSON.parse(body) as { type: string; data: object })
      .filter(({ data }) => JSON.stringify(data).includes(node_id.slice(0, 8)))
      .map(({ type }) => type);
  await expect
    .poll(async () => {
      await pass(test, 1_000);
      return told(gone.node_id);
    })
    .toEqual(
      expect.arrayContaining(["agent.renamed", "operation.requested", "agent.rejected", "agent.removed"]),
    );
  expect(told(web.node_id)).toEqual(expect.arrayContaining(["agent.renamed", "operation.requested"]));
  expect(told(other.node_id)).toEqual([]);
  for (const { agent } of [web, other]) await agent.link.stop();
});

/** A server that goes away while a command waits for what it began. */
import { expect, it } from "vitest";
import type { Fetch } from "fleetwright/client";
import { awaitDrift, awaitEnd, awaitOperation } from "../../../adapters/cli/wait.ts";
import { startSignedIn, startSocketAgent } from "../../support/command-line.ts";
import { clientOf } from "../../support/fleet-folder.ts";

it("a server that is away for a while ends no waiting for an operation, a drift check or a rollout", async () => {
  const line = await startSignedIn();
  await startSocketAgent(line);
  await line.print("agents", "approve", "--all-pending", "--yes");
  let lost = 0;
  /** Nobody answers the first time that something is read. */
  const seen = new Set<string>();
  const losing: Fetch = (url, init) => {
    const isRead = init.method === "GET" && !url.includes("/agents?") && !seen.has(url);
    if (!isRead) return fetch(url, init);
    seen.add(url);
    lost += 1;
    return Promise.reject(new TypeError("lost"));
  };
  const client = clientOf(line, losing);
  const told: string[] = [];
  const waiter = { client, context: { stderr: (text: string) => void told.push(text) } };
  const [agent] = (await client.agents.list({ limit: 1 })).items;
  const content = "name: web\nresources:\n  - { type: file, path: /page, content: hello }\n";
  await client.modules.upload({ content });
  await client.assignments.create({ name: "web", selector: "*", modules: ["web"] });

  const { operation_id } = await client.state.apply(agent!.node_id, { wait_seconds: 0 });
  expect((await awaitOperation(waiter, operation_id, true)).status).toBe("succeeded");

  const check = await client.drift.check(agent!.node_id, { wait_seconds: 0 });
  expect((await awaitDrift(waiter, { ...check, status: "running" })).status).toBe("in_sync");

  const { rollout_id } = await client.assignments.apply("web", { wait_seconds: 0 });
  expect((await awaitEnd(waiter, rollout_id)).status).toBe("succeeded");
  expect(lost).toBe(3);
  // Once each time that it goes away.
  expect(told).toEqual(
    Array.from({ length: 3 }, () => expect.stringMatching(/can't be reached.* Waiting for the server\.\n$/)),
  );
});

it("what a server refuses ends the waiting at once", async () => {
  const client = clientOf(await startSignedIn());
  const none = "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11";
  await expect(awaitOperation({ client, context: { stderr: () => {} } }, none, true)).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
});

import { expect, it } from "vitest";
import { isLasting, nodeCrypto, systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { itemsOf } from "../support/all-pages.ts";

async function approved(test: TestOrchestrator, name?: string): Promise<string> {
  const seed = nodeCrypto.randomBytes(32);
  const agent = new TestAgent(test.transport.connect(), { crypto: nodeCrypto, seed, hostname: "web" });
  await agent.join();
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, {
    node_id,
    status: "approved",
    ...(name !== undefined && { name }),
  });
  return node_id;
}

it("gives the same object out while nothing in it changes, and another when anything does", async () => {
  await using test = await createTestOrchestrator();
  const node_id = await approved(test);
  const { agents } = test.orchestrator;
  const read = async () => {
    const { items } = await agents.list(systemCaller);
    return { listed: items[0], alone: await agents.get(systemCaller, { node_id }) };
  };
  const first = await read();
  expect(await read()).toEqual(first);
  expect((await read()).listed).toBe(first.listed);
  expect((await read()).alone).toBe(first.alone);
  expect([isLasting(first.listed), isLasting(first.alone)]).toEqual([true, true]);
  await agents.tags.set(systemCaller, { node_id, key: "env", value: "prod" });
  const tagged = await read();
  expect(tagged.listed).toMatchObject({ tags: { env: "prod" }, connected: true });
  expect(tagged.alone).toMatchObject({ tags: { env: "prod" }, connected: true });
  expect(tagged).toMatchObject({
    listed: { version: first.alone.version + 1 },
    alone: { version: first.alone.version + 1 },
  });
  await test.transport.disconnect(node_id, "closed");
  expect(await read()).toMatchObject({ listed: { connected: false }, alone: { connected: false } });
});

it.each([
  ["its name", "ront"],
  ["its hostname, though it is named otherwise", "EB"],
])("finds an agent by a part of %s", async (_what, search) => {
  await using test = await createTestOrchestrator();
  const node_id = await approved(test);
  const { agents } = test.orchestrator;
  await agents.rename(systemCaller, { node_id, name: "front-1" });
  const { hostname } = await agents.get(systemCaller, { node_id });
  expect(hostname).toBe("web");
  const { items } = await agents.list(systemCaller, { search });
  expect(items.map((item) => item.node_id)).toEqual([node_id]);
  expect((await agents.list(systemCaller, { search: "back" })).items).toEqual([]);
});

it("pages through a fleet under each filter, each agent once and in order", async () => {
  await using test = await createTestOrchestrator();
  const ids: string[] = [];
  for (let n = 0; n < 7; n += 1) ids.push(await approved(test));
  const { agents } = test.orchestrator;
  for (const node_id of ids.slice(0, 5))
    await agents.tags.set(systemCaller, { node_id, key: "env", value: "a" });
  const filters = [
    [{}, 7],
    [{ status: "approved" }, 7],
    [{ status: "pending" }, 0],
    [{ selector: "env=a" }, 5],
    [{ name: "nobody" }, 0],
    [{ selector: "env=a", search: "WEB", connected: true, status: "approved" }, 5],
    [{ connected: false }, 0],
  ] as const;
  for (const [filter, count] of filters) {
    for (const limit of [1, 2, 3, 7, 500]) {
      const listed = await itemsOf((page) => agents.list(systemCaller, { ...filter, ...page }), limit);
      const found = listed.map(({ node_id }) => node_id);
      expect(found).toHaveLength(count);
      expect(found).toEqual([...new Set(found)].toSorted());
    }
  }
});

it("finds an agent by its whole name, without regard to case, under the other filters, and not after its removal", async () => {
  await using test = await createTestOrchestrator();
  const { agents } = test.orchestrator;
  const [one, two] = [await approved(test, "Web-1"), await approved(test, "web-10")];
  await agents.tags.set(systemCaller, { node_id: one, key: "env", value: "a" });
  const find = async (filter: Parameters<typeof agents.list>[1]): Promise<string[]> =>
    (await agents.list(systemCaller, filter)).items.map(({ node_id }) => node_id);
  for (const filter of [
    { name: "web-1" },
    { name: "WEB-1", selector: "env=a" },
    { name: "Web-1", selector: "*", search: "eb", status: "approved" as const },
    { name: "web-1", id_prefix: one.slice(0, 8) },
  ])
    expect(await find(filter)).toEqual([one]);
  for (const filter of [
    { name: "web" },
    { name: "web-1", selector: "env=b" },
    { name: "web-1", search: "web-10" },
    { name: "web-1", status: "pending" as const },
    { name: "web-1", id_prefix: two },
  ])
    expect(await find(filter)).toEqual([]);
  await agents.setStatus(systemCaller, { node_id: one, status: "rejected" });
  await agents.remove(systemCaller, { node_id: one });
  expect(await find({ name: "web-1" })).toEqual([]);
});

/** What calls named for agents that take each other's place: there, back, and there again the other way. */
import { expect, it } from "vitest";
import { createTestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import { handOverNamed } from "../../lib/operations/named-handover.ts";

type Named = Record<string, { revision: number }>;

async function scene(named: Readonly<Record<string, Named>>) {
  const test = await createTestOrchestrator();
  for (const [key, each] of Object.entries(named)) {
    const value = { node_id: key, named: each };
    await test.storage.commit([{ kind: "put", collection: "agent_states", key, value }]);
  }
  return {
    replace: async (oldId: string, newId: string): Promise<void> =>
      void (await test.storage.commit(await handOverNamed(test.storage, { oldId, newId }))),
    namedOf: async (node_id: string): Promise<unknown> =>
      (await test.storage.get<JsonObject>("agent_states", node_id))?.value["named"] ?? {},
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  };
}

const [web, own, third] = [{ web: { revision: 3 } }, { own: { revision: 1 } }, { third: { revision: 2 } }];

it("who was put back takes the place of the other as of any other", async () => {
  await using agents = await scene({ a: web, b: own });
  await agents.replace("a", "b");
  expect([await agents.namedOf("a"), await agents.namedOf("b")]).toEqual([{}, { ...web, ...own }]);
  await agents.replace("b", "a");
  expect([await agents.namedOf("a"), await agents.namedOf("b")]).toEqual([web, own]);
  await agents.replace("b", "a");
  expect([await agents.namedOf("a"), await agents.namedOf("b")]).toEqual([{ ...web, ...own }, {}]);
  await agents.replace("a", "b");
  expect([await agents.namedOf("a"), await agents.namedOf("b")]).toEqual([web, own]);
});

it("a row of three goes back one by one, and each keeps what it was named itself", async () => {
  await using agents = await scene({ a: web, b: own, c: third });
  await agents.replace("a", "b");
  await agents.replace("b", "c");
  expect(await agents.namedOf("c")).toEqual({ ...web, ...own, ...third });
  await agents.replace("c", "b");
  expect([await agents.namedOf("b"), await agents.namedOf("c")]).toEqual([{ ...web, ...own }, third]);
  await agents.replace("b", "a");
  expect([await agents.namedOf("a"), await agents.namedOf("b")]).toEqual([web, own]);
});

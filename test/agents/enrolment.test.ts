import { describe, expect, it, vi } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";

const introductionOf = (n: number) => ({
  node_id: String(n).padStart(32, "0"),
  public_key: String(n).padStart(64, "0"),
  box_public_key: "0".repeat(64),
  hostname: `machine-${n}`,
  platform: "linux",
  agent_version: "1.0.0",
  remote_address: "192.0.2.1",
});

it("so many unknown agents wait and no more, also when they come at once; known ones come in", async () => {
  await using test = await createTestOrchestrator({ pendingAgents: 2 });
  const { agents } = test.orchestrator;
  const { enrolment } = servicesOf(test.orchestrator).agents;
  const codes = await Promise.all(
    [1, 2, 3, 4].map((n) =>
      enrolment.admit(introductionOf(n)).then(
        ({ status }) => status,
        (error: { code: string }) => error.code,
      ),
    ),
  );
  expect(codes).toEqual(["pending", "pending", "RATE_LIMITED", "RATE_LIMITED"]);
  expect((await agents.list(systemCaller)).items).toHaveLength(2);
  expect(await enrolment.admit(introductionOf(1))).toEqual({ status: "pending" });
  await agents.setStatus(systemCaller, { node_id: introductionOf(1).node_id, status: "rejected" });
  expect(await enrolment.admit(introductionOf(3))).toEqual({ status: "pending" });
});

it.each([
  { hostname: "machine-2" },
  { platform: "darwin" },
  { agent_version: "1.0.1" },
  { box_public_key: "1".repeat(64) },
  { remote_address: "192.0.2.2" },
])("what an agent says of itself anew, %j, is in its record when it is back", async (fact) => {
  await using test = await createTestOrchestrator();
  const { enrolment, registry } = servicesOf(test.orchestrator).agents;
  const introduction = introductionOf(1);
  const read = async () => (await registry.read(introduction.node_id)).value;
  await enrolment.admit(introduction);
  for (const status of ["pending", "approved", "rejected"] as const) {
    const { node_id } = introduction;
    if (status !== "pending") await test.orchestrator.agents.setStatus(systemCaller, { node_id, status });
    const before = await read();
    expect(await enrolment.admit({ ...introduction, ...fact })).toEqual({ status });
    expect(await read()).toEqual({ ...before, ...fact });
    await enrolment.admit(introduction);
    expect(await read()).toEqual(before);
  }
});

it("of very many attributes the first by name are kept, by number and by size", async () => {
  await using test = await createTestOrchestrator();
  const { agents } = test.orchestrator;
  const { enrolment } = servicesOf(test.orchestrator).agents;
  const { node_id } = introductionOf(1);
  await enrolment.admit(introductionOf(1));
  const tell = async (count: number, value: string): Promise<string[]> => {
    const names = Array.from({ length: count }, (_, n) => `k${String(n).padStart(3, "0")}`).reverse();
    const attributes = Object.fromEntries(names.map((name) => [name, value]));
    const message = { type: "attributes", attributes, collected_at: "2030-01-01T00:00:00.000Z" } as const;
    await enrolment.attributes(node_id, message);
    return Object.keys((await agents.attributes(systemCaller, { node_id })).attributes).sort();
  };
  const many = await tell(900, "x");
  expect([many.length, many[0], many.at(-1)]).toEqual([500, "k000", "k499"]);
  // 65,536 characters hold 63 names of four with values of 1,024.
  expect(await tell(100, "x".repeat(1024))).toHaveLength(63);
});

describe("what an agent told of its machine", () => {
  const told = {
    type: "attributes",
    attributes: { rack: "r1" },
    collected_at: "2030-01-01T00:00:00.000Z",
  } as const;
  const { node_id: key } = introductionOf(1);
  const collection = "agent_attributes";

  it("while one of its key was being removed is gone with it", async () => {
    await using test = await createTestOrchestrator();
    const { enrolment } = servicesOf(test.orchestrator).agents;
    await enrolment.admit(introductionOf(1));
    await test.orchestrator.agents.setStatus(systemCaller, { node_id: key, status: "rejected" });
    const commit = test.storage.commit.bind(test.storage);
    vi.spyOn(test.storage, "commit").mockImplementation(async (writes, options) => {
      const [write] = writes;
      const isTold = write?.kind === "put" && write.collection === collection;
      if (isTold) await test.orchestrator.agents.remove(systemCaller, { node_id: key });
      return commit(writes, options);
    });
    await enrolment.attributes(key, told);
    expect(await test.storage.get(collection, key)).toBeNull();
  });

  it("is found by selectors after it was removed and came again, whatever was left of it", async () => {
    await using test = await createTestOrchestrator();
    const { enrolment } = servicesOf(test.orchestrator).agents;
    const { attributes, collected_at } = told;
    const value = { node_id: key, attributes, collected_at };
    await test.storage.commit([{ kind: "put", collection, key, value }]);
    await enrolment.admit(introductionOf(1));
    await enrolment.attributes(key, told);
    const { items } = await test.orchestrator.agents.list(systemCaller, { selector: "attr.rack=r1" });
    expect(items.map(({ node_id }) => node_id)).toEqual([key]);
  });
});

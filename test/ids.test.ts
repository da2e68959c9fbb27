/** Ids rise: past every one that was seen, whatever the clock does between. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { nodeCrypto } from "../lib/crypto/node-crypto.ts";
import { createIds, idPast } from "../lib/ids.ts";
import { MemoryData, MemoryStorage } from "../lib/storage/memory-storage.ts";
import { connectScriptedAgent } from "./support/scripted-agent.ts";

const dayMs = 86_400_000;
const idsAt = (clock: FakeClock) => createIds(clock, nodeCrypto);

it("an id is past every one that was seen, also in the same millisecond and where its places are used up", () => {
  const clock = new FakeClock();
  const [own, others] = [idsAt(clock), idsAt(clock)];
  for (let count = 0; count < 5_000; count++) {
    const seen = others.next();
    own.see(seen);
    expect(own.next() > seen).toBe(true);
  }
  const newest = own.next();
  own.see(others.next());
  expect(own.next() > newest).toBe(true);
});

it("one from a clock that is more than a day ahead dates nothing", () => {
  const clock = new FakeClock();
  const at = (aheadMs: number): string => idsAt(new FakeClock(clock.now() + aheadMs)).next();
  const ids = idsAt(clock);
  ids.see(at(dayMs + 1));
  expect(ids.next() < at(1)).toBe(true);
  ids.see(at(dayMs));
  expect(ids.next() > at(dayMs - 1)).toBe(true);
});

it("what is no id is passed over", () => {
  const ids = idsAt(new FakeClock());
  const first = ids.next();
  for (const id of [
    "",
    "missing",
    "ffffffff-ffff-7fff-bfff-ffffffffffff",
    "zzzzzzzz-zzzz-7000-8000-000000000000",
  ])
    ids.see(id);
  const second = ids.next();
  expect(second > first).toBe(true);
  expect(second.slice(0, 8)).toBe(first.slice(0, 8));
});

it("operations of an agent stay in the order of their requests over a restart with a clock that was set back", async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  const queue = async (test: Awaited<ReturnType<typeof createTestOrchestrator>>, node_id: string) => {
    const input = { node_id, modules: ["motd"], wait_seconds: 0, when_offline: "queue" as const };
    return (await test.orchestrator.operations.apply(systemCaller, input)).operation_id;
  };
  const first = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const agent = await connectScriptedAgent(first);
  await first.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
  const content = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";
  await first.orchestrator.modules.upload(systemCaller, { content });
  await agent.link.stop();
  const before = [await queue(first, agent.nodeId), await queue(first, agent.nodeId)];
  await first.orchestrator.stop();
  const earlier = new FakeClock(clock.now() - 3_600_000);
  const storage = new MemoryStorage({ clock: earlier, data });
  await using second = await createTestOrchestrator({ clock: earlier, storage });
  const after = [await queue(second, agent.nodeId), await queue(second, agent.nodeId)];
  expect([...before, ...after].sort()).toEqual([...before, ...after]);
});

it("an id that is to be past another one is as it was made, or right behind that", () => {
  const clock = new FakeClock();
  const ids = idsAt(clock);
  const other = idsAt(new FakeClock(clock.now() + 3_650 * dayMs)).next();
  expect(idPast(null, ids.next())).toBeTypeOf("string");
  const later = idsAt(new FakeClock(clock.now() + 3_651 * dayMs)).next();
  expect(idPast(other, later)).toBe(later);
  let last = other;
  for (let count = 0; count < 5_000; count += 1) {
    const next = idPast(last, ids.next());
    expect(next > last).toBe(true);
    expect(next).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    last = next;
  }
  expect(last < later).toBe(true);
});

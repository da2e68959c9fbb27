/** A start with a clock that is days ahead took windows for over that are not: once the clock was right, they froze nobody, and said that they did. */
import { expect, it, onTestFinished } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { DocumentPage, ListQuery, StoredDocument } from "../../lib/storage/storage.ts";
import { settleAll } from "../support/deferred.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

const hour = 3_600_000;
const day = 24 * hour;

it("a freeze holds where the clock was three days ahead at the start and is right again", async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  const start = async (): Promise<TestOrchestrator> => {
    const test = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
    onTestFinished(() => test[Symbol.asyncDispose]());
    return test;
  };
  const first = await start();
  const ends_at = new Date(clock.now() + 12 * hour).toISOString();
  const window = { reason: "the database moves", mode: "freeze", ends_at } as const;
  const { id } = await first.orchestrator.maintenanceWindows.create(systemCaller, window);
  await clock.advance(hour);
  await first[Symbol.asyncDispose]();

  clock.jump(3 * day);
  const second = await start();
  await clock.advance(60_000);
  clock.jump(-3 * day);
  await using agent = await connectScriptedAgent(second, undefined, clock);
  const { nodeId: node_id } = agent;
  await second.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await second.orchestrator.modules.upload(systemCaller, { content: "name: motd\nresources: []\n" });
  await settleAll();
  expect(await second.orchestrator.maintenanceWindows.get(systemCaller, { id })).toMatchObject({
    status: "active",
  });
  const apply = { node_id, modules: ["motd"], wait_seconds: 0 };
  await expect(second.orchestrator.operations.apply(systemCaller, apply)).rejects.toMatchObject({
    code: "MAINTENANCE_WINDOW",
    details: { window_id: id },
  });
});

it("a start reads no windows that have been over for more than a day, and all others", async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  const first = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const create = async (hours: number): Promise<string> => {
    const ends_at = new Date(clock.now() + hours * hour).toISOString();
    const window = { reason: "the database moves", mode: "mute", ends_at } as const;
    return (await first.orchestrator.maintenanceWindows.create(systemCaller, window)).id;
  };
  const [, ...others] = [await create(10), await create(11), await create(20), await create(80)];
  const id = await create(90);
  await first.orchestrator.maintenanceWindows.update(systemCaller, { id, end_occurrence: true });
  await clock.advance(35 * hour);
  await first[Symbol.asyncDispose]();

  const read: string[] = [];
  class RecordingStorage extends MemoryStorage {
    override async list<T>(collection: string, query?: ListQuery): Promise<DocumentPage<T>> {
      const page = await super.list<T>(collection, query);
      if (collection === "maintenance_windows") read.push(...page.items.map(({ key }) => key));
      return page;
    }
  }
  const storage = new RecordingStorage({ clock, data });
  const second = await createTestOrchestrator({ clock, storage });
  onTestFinished(() => second[Symbol.asyncDispose]());
  expect(read).toEqual(others);
});

it("a start that can't tell how late it certainly is reads every window", async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  const first = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const ends_at = new Date(clock.now() + hour).toISOString();
  const window = { reason: "the database moves", mode: "freeze", ends_at } as const;
  const { id } = await first.orchestrator.maintenanceWindows.create(systemCaller, window);
  await first[Symbol.asyncDispose]();

  class UncertainStorage extends MemoryStorage {
    override async get<T>(collection: string, key: string): Promise<StoredDocument<T> | null> {
      if (collection === "retention_clock") throw new OrchestratorError("UNAVAILABLE");
      return super.get(collection, key);
    }
  }
  clock.jump(3 * day);
  const second = await createTestOrchestrator({ clock, storage: new UncertainStorage({ clock, data }) });
  onTestFinished(() => second[Symbol.asyncDispose]());
  clock.jump(-3 * day);
  await using agent = await connectScriptedAgent(second, undefined, clock);
  const { nodeId: node_id } = agent;
  await second.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await second.orchestrator.modules.upload(systemCaller, { content: "name: motd\nresources: []\n" });
  const apply = { node_id, modules: ["motd"], wait_seconds: 0 };
  await expect(second.orchestrator.operations.apply(systemCaller, apply)).rejects.toMatchObject({
    code: "MAINTENANCE_WINDOW",
    details: { window_id: id },
  });
});

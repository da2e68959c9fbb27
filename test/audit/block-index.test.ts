/** Queries pass over blocks of the log that can't have what they look for, and find what reading every event would find. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryStorage, OrchestratorError, systemCaller, toTimestamp, type Storage } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { passes } from "../../lib/audit/event-filter.ts";
import type { StoredEvent } from "../../lib/audit/stored-event.ts";
import { storageSchema } from "../../lib/storage-schema.ts";
import { MemoryData } from "../../lib/storage/memory-storage.ts";
import { pagesOf } from "../support/all-pages.ts";
import { evilNames, evilSteps } from "../support/evil.ts";
import { seededRandom } from "../support/random.ts";
import { waitFor } from "../support/wait-for.ts";

type Test = Awaited<ReturnType<typeof createTestOrchestrator>>;
type Filter = NonNullable<Parameters<Test["orchestrator"]["audit"]["list"]>[1]>;

const startMs = Date.parse("2030-01-01T00:00:00Z");
const operator = (name: string) => ({ type: "operator", id: `id-of-${name}`, name });

function eventOf(n: number, event: Partial<StoredEvent> = {}): StoredEvent {
  return {
    id: `${n}`,
    timestamp: toTimestamp(startMs + n * 1000),
    event_type: "operation.requested",
    severity: "info",
    actor: operator("ada"),
    summary: `Event ${n}`,
    metadata: {},
    ...event,
  };
}

/** A log that was there before the orchestrator starts. */
async function filled(events: readonly StoredEvent[]): Promise<MemoryData> {
  const data = new MemoryData();
  const storage = new MemoryStorage({ data });
  await storage.open(storageSchema);
  for (let at = 0; at < events.length; at += 500)
    await storage.commit(
      events.slice(at, at + 500).map((value) => {
        return {
          kind: "append",
          log: "audit",
          at: Date.parse(value.timestamp),
          value: { ...value },
        } as never;
      }),
    );
  await storage.close();
  return data;
}

async function start(data: MemoryData): Promise<Test> {
  const clock = new FakeClock();
  const test = await createTestOrchestrator({ storage: new MemoryStorage({ data, clock }), clock });
  return { ...test, clock };
}

/** Lets the index come up to the newest event. */
async function index({ clock }: { clock: FakeClock }): Promise<void> {
  await clock.advance(60_000);
}

/** How many entries of the log are handed out from now on. */
function countRead(storage: Storage): () => number {
  let count = 0;
  const readLog = storage.readLog.bind(storage);
  storage.readLog = async (...args) => {
    const page = await readLog(...args);
    if (args[0] === "audit") count += page.entries.length;
    return page as never;
  };
  return () => count;
}

async function addEvents({ orchestrator }: Test, count: number): Promise<void> {
  for (let days = 1; days <= count; days += 1)
    await orchestrator.audit.setRetention(systemCaller, { retention_days: days });
}

async function listAll({ orchestrator }: Test, filter: Filter): Promise<{ ids: string[]; calls: number }> {
  const pages = await pagesOf((page) => orchestrator.audit.list(systemCaller, { ...filter, ...page }));
  return { ids: pages.flat().map(({ id }) => id), calls: pages.length };
}

describe("the index of the audit log", () => {
  const rare: [string, Filter][] = [
    ["type", { event_type: "secret.removed" }],
    ["category", { category: "secret" }],
    ["name of an actor", { actor: "grace" }],
    ["id of an actor", { actor: "id-of-grace" }],
    ["name of a target", { target: "web" }],
    ["id of a target", { target: "id-of-web" }],
    ["time", { from: toTimestamp(startMs + 4_321_000), to: toTimestamp(startMs + 4_322_000) }],
  ];
  describe("of 50,000 events", () => {
    const one = { event_type: "secret.removed", actor: operator("grace"), target: operator("web") };
    let test: Test;
    beforeAll(async () => {
      test = await start(
        await filled(Array.from({ length: 50_000 }, (_, n) => eventOf(n, n === 4_321 ? one : {}))),
      );
      await index(test);
    });
    afterAll(() => test[Symbol.asyncDispose]());

    it.each(rare)("finds one by its %s in one call that reads a block", async (_, filter) => {
      const read = countRead(test.storage);
      for (const order of ["asc", "desc"] as const)
        expect(await listAll(test, { ...filter, order })).toEqual({ ids: ["4321"], calls: 1 });
      expect(read()).toBeLessThan(3_000);
    });
  });

  it("finds by any filter what reading everything finds, while a clock jumps", async () => {
    const random = seededRandom(17);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    // Some of one category, in turn, as one place after another is found by its type.
    const types = [
      ["operation.requested", "operation.finished"],
      ["secret.removed", "secret.created"],
      ["agent.enrolled", "agent.approved"],
      ["gone.byNow"],
    ];
    const names = [...Array.from({ length: 20 }, (_, n) => `operator-${n}`), ...evilNames.slice(0, 20)];
    let at = startMs;
    const events = Array.from({ length: 6_500 }, (_, n) => {
      at += random() < 0.001 ? pick(evilSteps) % 5_000_000 : random() * 2_000;
      const block = Math.floor(n / 1000);
      return eventOf(n, {
        timestamp: toTimestamp(Math.floor(at)),
        event_type: pick(types[Math.floor((random() ** 3 * 4 + block) % 4)] ?? []),
        actor: operator(pick(names.slice(block * 5, block * 5 + 10))),
        ...(random() < 0.5 && { target: operator(pick(names)) }),
      });
    });
    await using test = await start(await filled(events));
    await index(test);
    const time = () => toTimestamp(Math.floor(startMs + random() * (at - startMs)));
    for (let round = 0; round < 60; round += 1) {
      const filter = {
        ...(random() < 0.3 && { event_type: pick([...types.flat(), "constructor", ""]) }),
        ...(random() < 0.3 && { category: pick(["operation", "secret", "agent", "storage"] as const) }),
        ...(random() < 0.3 && { actor: pick([...names, "id-of-operator-7"]) }),
        ...(random() < 0.3 && { target: pick(names) }),
        ...(random() < 0.3 && { from: time() }),
        ...(random() < 0.3 && { to: time() }),
        ...(random() < 0.2 && { search: pick(["9", "event 1", "nothing"]) }),
      };
      const wanted = events.filter((event) => passes(event, filter)).map(({ id }) => id);
      const limit = pick([1, 7, 50, 500]);
      if (wanted.length > limit * 100) continue;
      expect((await listAll(test, { ...filter, limit, order: "asc" })).ids).toEqual(wanted);
      expect((await listAll(test, { ...filter, limit })).ids).toEqual(wanted.toReversed());
    }
  });

  it("finds the events at both ends of a block where the time asked for begins or ends with them", async () => {
    const events = Array.from({ length: 3_100 }, (_, n) => eventOf(n));
    await using test = await start(await filled(events));
    await index(test);
    for (const n of [999, 1_000, 1_999, 2_000]) {
      const [before, at, after] = [n - 1, n, n + 1].map((each) => toTimestamp(startMs + each * 1000));
      for (const filter of [
        { from: at!, to: after! },
        { from: before!, to: after! },
        { from: before!, to: at! },
        { from: at!, to: toTimestamp(startMs + n * 1000 + 1) },
      ]) {
        const wanted = events.filter((event) => passes(event, filter)).map(({ id }) => id);
        expect((await listAll(test, { ...filter, order: "asc" })).ids, JSON.stringify(filter)).toEqual(
          wanted,
        );
      }
    }
  });

  it.each([1, 2, 656, 1_001])(
    "a look that takes several calls misses nothing at their seams, from event %d",
    async (from_sequence) => {
      const isAtSeam = (n: number): boolean => [0, 1, 999].includes(n % 1_000) || n % 37 === 0;
      const events = Array.from({ length: 12_345 }, (_, n) =>
        eventOf(n, isAtSeam(n) ? { summary: "Mark", actor: operator("grace") } : {}),
      );
      await using test = await start(await filled(events));
      await index(test);
      const wanted = events.flatMap(({ id, summary }) =>
        summary === "Mark" && Number(id) + 1 >= from_sequence ? [id] : [],
      );
      for (const filter of [
        { search: "mark" },
        { search: "mark", event_type: "operation.requested" },
        { actor: "grace" },
        { search: "mark", actor: "grace" },
      ]) {
        const asked = { ...filter, from_sequence, limit: 500 };
        expect((await listAll(test, { ...asked, order: "asc" })).ids).toEqual(wanted);
        expect((await listAll(test, { ...asked, order: "desc" })).ids).toEqual(wanted.toReversed());
      }
    },
  );

  it("grows with the log, goes on after a restart, and lets go of what is pruned", async () => {
    const data = await filled(Array.from({ length: 2_300 }, (_, n) => eventOf(n)));
    const keys = async ({ storage }: Test) => {
      const { items } = await storage.list("audit_blocks", { limit: 100 });
      return items.map(({ key }) => Number(key));
    };
    {
      await using test = await start(data);
      await index(test);
      expect(await keys(test)).toEqual([0, 1]);
      await addEvents(test, 699);
      expect(await keys(test)).toEqual([0, 1]);
      // The thousandth of its block, though not of those that were told since the start.
      await addEvents(test, 1);
      await waitFor(async () => expect(await keys(test)).toEqual([0, 1, 2]));
      await addEvents(test, 300);
    }
    await using test = await start(data);
    await index(test);
    await addEvents(test, 700);
    await waitFor(async () => expect(await keys(test)).toEqual([0, 1, 2, 3]));
    const before = toTimestamp(startMs + 2_100_000);
    await test.clock.advance(3_000_000);
    await test.orchestrator.audit.prune(systemCaller, { before });
    await test.clock.advance(3_600_000);
    expect(await keys(test)).toEqual([2, 3]);
    expect(await test.orchestrator.audit.verify(systemCaller)).toMatchObject({ valid: true });
  });

  it("may be missing: what it lacks is read, and written when there is space", async () => {
    const one = { actor: operator("grace") };
    const data = await filled(Array.from({ length: 3_000 }, (_, n) => eventOf(n, n === 1_500 ? one : {})));
    await using test = await start(data);
    const commit = test.storage.commit.bind(test.storage);
    test.storage.commit = () => Promise.reject(new OrchestratorError("STORAGE_FULL"));
    await index(test);
    expect(await test.storage.count("audit_blocks")).toBe(0);
    expect((await listAll(test, { actor: "grace" })).ids).toEqual(["1500"]);
    test.storage.commit = commit;
    await test.clock.advance(3_600_000);
    expect(await test.storage.count("audit_blocks")).toBe(3);
    expect((await listAll(test, { actor: "grace" })).ids).toEqual(["1500"]);
  });

  it("goes on behind a block that can't be read", async () => {
    const data = await filled(Array.from({ length: 3_000 }, (_, n) => eventOf(n)));
    await using test = await start(data);
    const readLog = test.storage.readLog.bind(test.storage);
    test.storage.readLog = (log, query) =>
      log === "audit" && query?.from === 1_001
        ? Promise.reject(new OrchestratorError("STORAGE_CORRUPT"))
        : readLog(log, query);
    await index(test);
    const { items } = await test.storage.list("audit_blocks");
    expect(items.map(({ key }) => Number(key))).toEqual([0, 2]);
  });

  it("is written once where several processes keep it", async () => {
    const data = await filled(Array.from({ length: 2_000 }, (_, n) => eventOf(n)));
    await using test = await start(data);
    const commit = test.storage.commit.bind(test.storage);
    const other = { earliest_ms: 0, latest_ms: 0, event_types: [], actors: " ", targets: " " };
    // Another process is faster with the first block.
    test.storage.commit = async (writes, options) => {
      test.storage.commit = commit;
      await commit([{ kind: "put", collection: "audit_blocks", key: "000000000000", value: other }]);
      return commit(writes, options);
    };
    await index(test);
    const { items } = await test.storage.list("audit_blocks");
    expect(items.map(({ revision }) => revision)).toEqual([1, 1]);
    expect(items[0]?.value).toEqual(other);
    expect(test.loggedErrors).toEqual([]);
  });
});

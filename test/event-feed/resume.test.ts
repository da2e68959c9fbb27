/** Streams that break and go on: over pauses of their reader, restarts of the orchestrator, a full disk, and what is removed meanwhile. */
import { describe, expect, it, vi } from "vitest";
import {
  FileStorage,
  MemoryData,
  MemoryStorage,
  OrchestratorError,
  silentLogger,
  systemCaller,
  type LogFields,
  type Storage,
} from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { startAgent } from "../support/fleet.ts";
import { seededRandom } from "../support/random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { waitFor } from "../support/wait-for.ts";

type Test = Awaited<ReturnType<typeof createTestOrchestrator>>;

/** Reads what there is, from an item on, or of it the first item and so many more. */
async function readOn(test: Test, lastEventId: string | undefined, most = Infinity) {
  const end = await lastIdOf(test);
  const stream = test.orchestrator.events.stream(systemCaller, { lastEventId });
  const read: { id: string; told: string }[] = [];
  do {
    const { value } = await stream.next();
    if (!value) throw new Error("The stream has ended.");
    const { id, item } = value;
    read.push({ id, told: item.type === "event" ? item.event.id : item.type });
  } while (read.length <= most && read.at(-1)?.id !== end);
  await stream.return();
  return read;
}

async function lastIdOf(test: Test): Promise<string> {
  const stream = test.orchestrator.events.stream(systemCaller);
  const { value } = await stream.next();
  await stream.return();
  return value!.id;
}

async function change(test: Test, times: number): Promise<void> {
  for (let n = 1; n <= times; n++)
    await test.orchestrator.audit.setRetention(systemCaller, { retention_days: 1 + (n % 1_000) });
}

const storages: [string, () => (clock: FakeClock) => Storage][] = [
  [
    "memory",
    () => {
      const data = new MemoryData();
      return (clock) => new MemoryStorage({ data, clock });
    },
  ],
  [
    "files",
    () => {
      const folder = temporaryFolder();
      const sizes = { segmentBytes: 65_536, minJournalBytes: 65_536, logSegmentBytes: 16_384 };
      return (clock) => new FileStorage({ folder, clock, ...sizes });
    },
  ],
];

describe.each(storages)("with %s", (_name, createData) => {
  it.each([1, 2, 3, 4, 5, 6])(
    "readers that come and go over restarts lose nothing, get nothing twice, all in one order, seed %i",
    async (seed) => {
      const random = seededRandom(seed);
      const upTo = (n: number): number => Math.floor(random() * n);
      const open = createData();
      const clock = new FakeClock();
      let test = await createTestOrchestrator({ storage: open(clock), clock });
      const all: string[] = [];
      const hear = () => test.orchestrator.listen(({ id }) => void all.push(id));
      hear();
      const start = await lastIdOf(test);
      const readers = Array.from({ length: 4 }, () => ({ last: start, told: [] as string[] }));
      for (let step = 0; step < 40; step++) {
        await change(test, upTo(30));
        const reader = readers[upTo(readers.length)]!;
        const [position, ...items] = await readOn(test, reader.last, upTo(60));
        expect(position?.told).toBe("position");
        reader.told.push(...items.map(({ told }) => told));
        reader.last = (items.at(-1) ?? position)!.id;
        if (random() < 0.15) {
          await test.orchestrator.stop();
          test = await createTestOrchestrator({ storage: open(clock), clock });
          hear();
        }
      }
      for (const reader of readers) {
        const [position, ...items] = await readOn(test, reader.last);
        expect([position?.told, ...reader.told, ...items.map(({ told }) => told)]).toEqual([
          "position",
          ...all,
        ]);
      }
      await test.orchestrator.stop();
    },
    30_000,
  );

  it("one that was at the end misses nothing by days without an event, also over a restart", async () => {
    const clock = new FakeClock();
    const open = createData();
    const before = await createTestOrchestrator({ storage: open(clock), clock });
    await before.orchestrator.audit.setRetention(systemCaller, { retention_days: 400 });
    const last = await lastIdOf(before);
    for (let hour = 0; hour < 80; hour += 1) await clock.advance(3_600_000);
    expect((await readOn(before, last)).map(({ told }) => told)).toEqual(["position"]);
    await before.orchestrator.stop();
    await using after = await createTestOrchestrator({ storage: open(clock), clock });
    expect((await readOn(after, last)).map(({ told }) => told)).toEqual(["position"]);
    await change(after, 1);
    expect((await readOn(after, last)).map(({ told }) => told)).toEqual(["position", expect.any(String)]);
  });

  it("one that is further behind than memory reaches reads from the log", async () => {
    const open = createData();
    const clock = new FakeClock();
    await using test = await createTestOrchestrator({ storage: open(clock), clock });
    const all: string[] = [];
    test.orchestrator.listen(({ id }) => void all.push(id));
    const start = await lastIdOf(test);
    const slow = test.orchestrator.events.stream(systemCaller, { lastEventId: start });
    await slow.next();
    await change(test, 4_500);
    expect((await readOn(test, start)).slice(1).map(({ told }) => told)).toEqual(all);
    const told: string[] = [];
    while (told.length < all.length) {
      const { value } = await slow.next();
      if (value?.item.type === "event") told.push(value.item.event.id);
      else throw new Error("It was told something else.");
    }
    expect(told).toEqual(all);
    await slow.return();
  });
});

it("one that is overtaken by the removal of old events while it reads is told so, and then what happens from there on", async () => {
  await using test = await createTestOrchestrator({ eventRetentionCount: 1_000 });
  await change(test, 20);
  const slow = test.orchestrator.events.stream(systemCaller, { lastEventId: await lastIdOf(test) });
  await slow.next();
  await change(test, 1);
  expect((await slow.next()).value?.item).toEqual({ type: "event", event: test.events.at(-1) });
  await change(test, 6_500);
  expect((await slow.next()).value?.item).toEqual({ type: "reset" });
  await change(test, 1);
  expect((await slow.next()).value?.item).toEqual({ type: "event", event: test.events.at(-1) });
  await slow.return();
});

describe("an item to go on after", () => {
  it.each([
    [
      "of another server",
      async (test: Test) => (await lastIdOf(test)).replace(/.$/, (last) => (last === "0" ? "1" : "0")),
    ],
    ["of the future", async (test: Test) => `9${await lastIdOf(test)}`],
    ["that is none", async () => "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11-4"],
    ["that is empty", async () => ""],
    ["before all", async () => "0-00000000"],
  ])("%s is answered with a reset, and what happens from then on", async (_what, idOf) => {
    await using test = await createTestOrchestrator();
    await change(test, 3);
    const stream = test.orchestrator.events.stream(systemCaller, { lastEventId: await idOf(test) });
    expect((await stream.next()).value?.item).toEqual({ type: "reset" });
    await change(test, 1);
    expect((await stream.next()).value?.item).toEqual({ type: "event", event: test.events.at(-1) });
    await stream.return();
  });

  it("of a history that a restore took back is answered with a reset", async () => {
    const data = new MemoryData();
    const clock = new FakeClock();
    const storage = new MemoryStorage({ data, clock });
    const before = await createTestOrchestrator({ storage, clock });
    const copy = storage.restoredCopy();
    await change(before, 5);
    const id = await lastIdOf(before);
    await before.orchestrator.stop();
    await using restored = await createTestOrchestrator({
      storage: new MemoryStorage({ data: copy, clock }),
      clock,
    });
    await change(restored, 10);
    expect((await readOn(restored, id, 0))[0]?.told).toBe("reset");
  });

  it("is kept while nothing happens, also over a restart before the first event", async () => {
    const data = new MemoryData();
    const clock = new FakeClock();
    const before = await createTestOrchestrator({ storage: new MemoryStorage({ data, clock }), clock });
    const id = await lastIdOf(before);
    await before.orchestrator.stop();
    await using after = await createTestOrchestrator({ storage: new MemoryStorage({ data, clock }), clock });
    await change(after, 1);
    const read = await readOn(after, id);
    expect(read.map(({ told }) => told)).toEqual(["position", after.events.at(-1)?.id]);
  });
});

describe("an orchestrator that is about to end", () => {
  it("ends its streams, each with the id to go on after, while everything else goes on", async () => {
    const [data, clock] = [new MemoryData(), new FakeClock()];
    const before = await createTestOrchestrator({ storage: new MemoryStorage({ data, clock }), clock });
    const start = await lastIdOf(before);
    await change(before, 3);
    const read: string[] = [];
    let last = "";
    const reading = (async () => {
      for await (const { id, item } of before.orchestrator.events.stream(systemCaller, {
        lastEventId: start,
      })) {
        last = id;
        if (item.type === "event") read.push(item.event.id);
      }
    })();
    await waitFor(() => expect(read).toHaveLength(3));
    before.orchestrator.letGo();
    await reading;
    await change(before, 2);
    const all = before.events.map(({ id }) => id).slice(-5);
    await before.orchestrator.stop();
    await using after = await createTestOrchestrator({ storage: new MemoryStorage({ data, clock }), clock });
    const [position, ...rest] = await readOn(after, last);
    expect([position?.told, ...read, ...rest.map(({ told }) => told)]).toEqual(["position", ...all]);
  });

  it("has the next one go on with ids behind those that it gave, whatever the clock says by then", async () => {
    const data = new MemoryData();
    const late = new FakeClock();
    const before = await createTestOrchestrator({ storage: new MemoryStorage({ data }), clock: late });
    await late.advance(2_000);
    await change(before, 3);
    await before.orchestrator.stop();
    const early = new FakeClock();
    await using after = await createTestOrchestrator({ storage: new MemoryStorage({ data }), clock: early });
    await change(after, 1);
    const { entries } = await after.storage.readLog("events");
    const ids = entries.map(({ value }) => String(value["id"]));
    expect(ids.length).toBeGreaterThan(3);
    expect(ids).toEqual(ids.toSorted());
  });
});

describe("old events", () => {
  it("go after eventRetentionHours: who was away for longer is told so", async () => {
    const [data, clock] = [new MemoryData(), new FakeClock()];
    const start = () =>
      createTestOrchestrator({ storage: new MemoryStorage({ data, clock }), clock, eventRetentionHours: 2 });
    const before = await start();
    const longAway = await lastIdOf(before);
    await change(before, 3);
    const away = await lastIdOf(before);
    await clock.advance(3_600_000);
    await change(before, 2);
    const kept = (await readOn(before, away)).slice(1);
    await clock.advance(2 * 3_600_000);
    await before.orchestrator.stop();
    await using after = await start();
    for (const id of [longAway, away]) expect((await readOn(after, id, 0))[0]?.told).toBe("reset");
    const { entries } = await after.storage.readLog("events");
    expect(entries.map(({ value }) => value["id"])).toEqual(kept.map(({ told }) => told));
    expect((await readOn(after, kept[0]?.id)).map(({ told }) => told)).toEqual(["position", kept[1]?.told]);
  });

  it("go past eventRetentionCount, whatever their age", async () => {
    await using test = await createTestOrchestrator({ eventRetentionCount: 1_000 });
    await change(test, 3_500);
    await test.clock.advance(0);
    const { head, base } = await test.storage.readLog("events", { limit: 1 });
    expect(head.sequence - base.sequence).toBeLessThanOrEqual(1_000);
    expect(head.sequence - base.sequence).toBeGreaterThanOrEqual(900);
  });
});

describe("a reader whose filter passes events over", () => {
  it("is told where it is within a minute, and not more often, so that it can come back there", async () => {
    await using test = await createTestOrchestrator({ eventRetentionHours: 1 });
    const end = new AbortController();
    const stream = test.orchestrator.events.stream(systemCaller, { types: ["module.*"] }, end.signal);
    const told: string[] = [];
    const ids: string[] = [];
    const reading = (async () => {
      for await (const { id, item } of stream) {
        told.push(item.type);
        ids.push(id);
      }
    })();
    await waitFor(() => expect(told).toEqual(["position"]));
    for (const expected of [1, 1, 2, 2, 3]) {
      await change(test, 7);
      await waitFor(() => expect(told).toHaveLength(expected));
      await test.clock.advance(30_000);
    }
    await waitFor(() => expect(told).toEqual(["position", "position", "position"]));
    await test.clock.advance(60_000);
    await waitFor(() => expect(ids).toHaveLength(4));
    expect(ids.at(-1)).toBe(await lastIdOf(test));
    // Nothing more to tell, however much time passes; and the event of its place stays as the last one.
    await test.clock.advance(26 * 3_600_000);
    expect(ids).toHaveLength(4);
    expect((await readOn(test, ids.at(-1), 0))[0]).toEqual({ id: ids.at(-1), told: "position" });
    end.abort();
    await reading;
  });
});

describe("what nobody asked for and a full disk keeps out is told as a reset, when there is space again:", () => {
  type Scene = { test: Test; agent: Awaited<ReturnType<typeof startAgent>> };
  const rows: [string, (scene: Scene) => unknown][] = [
    ["agent.disconnected", ({ agent }) => agent[Symbol.asyncDispose]()],
    [
      "agent.refused",
      ({ test }) => {
        const socket = test.transport.connect();
        socket.listen({ frame: () => {}, closed: () => {} });
        socket.send("none of ours");
      },
    ],
    [
      "agent.slotsTaken",
      // The only slot is that of the agent.
      ({ test }) => {
        const seed = new Uint8Array(32).fill(7);
        new TestAgent(test.transport.connect(), { crypto: nodeCrypto, seed }).greet();
      },
    ],
  ];

  it.each(rows)("%s", async (type, happen) => {
    const data = new MemoryData();
    const clock = new FakeClock();
    const warned = vi.fn<(message: string, fields?: LogFields) => void>();
    await using test = await createTestOrchestrator({
      storage: new MemoryStorage({ data, clock }),
      clock,
      pendingAgents: 1,
      logger: { ...silentLogger, warn: warned },
    });
    await using agent = await startAgent(test);
    const stream = test.orchestrator.events.stream(systemCaller);
    const { value: position } = await stream.next();
    data.freeBytes = 0;
    void happen({ test, agent });
    await waitFor(() =>
      expect(warned.mock.calls).toContainEqual([
        "An event could not be written.",
        expect.objectContaining({ event_type: type }),
      ]),
    );
    // The reserve has room for that; what it kept out is told with it.
    await waitFor(() => expect(test.events.at(-1)?.event_type).toBe("storage.full"));
    data.freeBytes = Infinity;
    await change(test, 1);
    const types = [(await stream.next()).value?.item.type, (await stream.next()).value?.item.type];
    expect(types).toEqual(["reset", "event"]);
    const resumed = await readOn(test, position!.id);
    // That the storage was full is an event, too, and comes after what it kept out.
    const [full, changed] = test.events.slice(-2);
    expect(full?.event_type).toBe("storage.full");
    expect(resumed.map(({ told }) => told)).toEqual(["position", "reset", full?.id, changed?.id]);
    await stream.return();
  });
});

it("an event that could not be written is told of, however many calls fail as well before one is answered", async () => {
  const storage = new MemoryStorage();
  const warned = vi.fn<(message: string, fields?: LogFields) => void>();
  await using test = await createTestOrchestrator({ storage, logger: { ...silentLogger, warn: warned } });
  const agent = await startAgent(test);
  const stream = test.orchestrator.events.stream(systemCaller);
  await stream.next();
  const commit = storage.commit.bind(storage);
  storage.commit = () => Promise.reject(new OrchestratorError("UNAVAILABLE"));
  await agent[Symbol.asyncDispose]();
  await waitFor(() => expect(warned).toHaveBeenCalled());
  for (const _ of [1, 2]) await expect(change(test, 1)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  storage.commit = commit;
  await change(test, 2);
  const told: (string | undefined)[] = [];
  // Told or not, the two changes are there.
  while (told.filter((type) => type === "event").length < 2)
    told.push((await stream.next()).value?.item.type);
  expect(told).toEqual(["reset", "event", "event"]);
  await stream.return();
});

/** What is told of secrets that expire, and when. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { RacingStorage } from "../support/racing-storage.ts";

const secretsKey = new Uint8Array(32).fill(7);
const dayMs = 86_400_000;
const minuteMs = 60_000;

let fleet: TestOrchestrator;
let storage: RacingStorage;

beforeEach(async () => {
  storage = new RacingStorage((writes) =>
    writes.some(
      (write) => write.kind !== "append" && "collection" in write && write.collection === "secret_expiries",
    ),
  );
  fleet = await createTestOrchestrator({ storage, secretsKey });
});
afterEach(() => fleet[Symbol.asyncDispose]());

const expiringIn = (ms: number) => ({ expires_at: new Date(fleet.clock.now() + ms).toISOString() });
const create = (more: object) =>
  fleet.orchestrator.secrets.create(systemCaller, { name: "db", value: "x", ...more });
const told = (of: TestOrchestrator = fleet): string[] =>
  of.events.map(({ event_type }) => event_type).filter((type) => type.startsWith("secret.expir"));
const due = async () => (await storage.list<{ stage: string }>("secret_expiries")).items;

it("a secret whose last days begin with the look is told of by that look", async () => {
  // The first look was at the start, the next ones are a minute apart.
  await create(expiringIn(14 * dayMs + 2 * minuteMs));
  await fleet.clock.advance(minuteMs);
  expect(told()).toEqual([]);
  await fleet.clock.advance(minuteMs);
  await expect.poll(told).toEqual(["secret.expiring"]);
  await fleet.clock.advance(14 * dayMs - minuteMs);
  expect(told()).toEqual(["secret.expiring"]);
  await fleet.clock.advance(minuteMs);
  await expect.poll(told).toEqual(["secret.expiring", "secret.expired"]);
  expect(await due()).toEqual([]);
});

it("a secret that is changed is told of once more only where it has more time", async () => {
  const { secrets } = fleet.orchestrator;
  const change = async (more: object, waitMs = 2 * minuteMs): Promise<string[]> => {
    await secrets.update(systemCaller, { name: "db", ...more });
    await fleet.clock.advance(waitMs);
    await settleAll();
    return told();
  };
  await create(expiringIn(14 * dayMs));
  expect(await change({ description: "of the shop" })).toEqual(["secret.expiring"]);
  expect(await change({ value: "y" })).toEqual(["secret.expiring"]);
  expect(await change(expiringIn(15 * dayMs), dayMs + minuteMs)).toEqual(Array(2).fill("secret.expiring"));
  expect(await change({ value: "z" }, 14 * dayMs)).toEqual([
    ...Array(2).fill("secret.expiring"),
    "secret.expired",
  ]);
  expect(await change({ description: "over" })).toHaveLength(3);
});

it("a secret that expired before anybody looked is told of as expired alone", async () => {
  const data = new MemoryData();
  const before = await createTestOrchestrator({ storage: new MemoryStorage({ data }), secretsKey });
  const expires_at = new Date(before.clock.now() + 30 * dayMs).toISOString();
  await before.orchestrator.secrets.create(systemCaller, { name: "db", value: "x", expires_at });
  await before[Symbol.asyncDispose]();
  const clock = before.clock;
  await clock.advance(40 * dayMs);
  await using after = await createTestOrchestrator({
    storage: new MemoryStorage({ data }),
    secretsKey,
    clock,
  });
  await clock.advance(minuteMs);
  await expect.poll(() => told(after)).toEqual(["secret.expired"]);
});

it("a secret that is given more time in the moment in which it is told of keeps its new time", async () => {
  await create(expiringIn(5 * minuteMs));
  await expect
    .poll(async () => {
      await fleet.clock.advance(minuteMs);
      return told();
    })
    .toEqual(["secret.expiring"]);
  const later = expiringIn(60 * dayMs);
  storage.before = () => fleet.orchestrator.secrets.update(systemCaller, { name: "db", ...later });
  await fleet.clock.advance(6 * minuteMs);
  await expect.poll(() => storage.before).toBeNull();
  expect(told()).toEqual(["secret.expiring"]);
  expect(await due()).toMatchObject([{ value: { stage: "expiring" } }]);
});

it("a secret that is given more time in the moment in which its last days begin is not told of before they do", async () => {
  await create(expiringIn(14 * dayMs + 2 * minuteMs));
  const later = expiringIn(60 * dayMs);
  storage.before = () => fleet.orchestrator.secrets.update(systemCaller, { name: "db", ...later });
  await expect
    .poll(async () => {
      await fleet.clock.advance(minuteMs);
      return storage.before;
    })
    .toBeNull();
  await fleet.clock.advance(20 * dayMs);
  expect(told()).toEqual([]);
  expect(await due()).toMatchObject([{ value: { stage: "expiring" } }]);
});

it("a secret that is removed is told of no more, and one that expires no more neither", async () => {
  await create(expiringIn(20 * dayMs));
  await create({ name: "other", ...expiringIn(20 * dayMs) });
  await fleet.orchestrator.secrets.remove(systemCaller, { name: "db" });
  await fleet.orchestrator.secrets.update(systemCaller, { name: "other", expires_at: null });
  await fleet.clock.advance(30 * dayMs);
  expect(told()).toEqual([]);
  expect(await due()).toEqual([]);
});

it.each([
  ["more", 14, 30],
  ["fewer", 30, 14],
])(
  "a secret that is there is told of as %s days before as the setting says since the start",
  async (_, first, then) => {
    const data = new MemoryData();
    const start = (secretExpiryWarningDays: number, clock?: TestOrchestrator["clock"]) =>
      createTestOrchestrator({
        storage: new MemoryStorage({ data }),
        secretsKey,
        secretExpiryWarningDays,
        ...(clock && { clock }),
      });
    const before = await start(first);
    const { clock } = before;
    const expires_at = new Date(clock.now() + 40 * dayMs).toISOString();
    await before.orchestrator.secrets.create(systemCaller, { name: "db", value: "x", expires_at });
    await before[Symbol.asyncDispose]();
    await using after = await start(then, clock);
    await settleAll();
    await clock.advance((40 - then) * dayMs - minuteMs);
    await settleAll();
    expect(told(after)).toEqual([]);
    await clock.advance(2 * minuteMs);
    await expect.poll(() => told(after)).toEqual(["secret.expiring"]);
    await clock.advance(then * dayMs);
    await expect.poll(() => told(after)).toEqual(["secret.expiring", "secret.expired"]);
  },
);

it.each([
  ["has more time", true],
  ["is gone", false],
])(
  "a secret that %s in the moment in which it is due is not told of, and holds up no other",
  async (_, stays) => {
    const { secrets } = fleet.orchestrator;
    const soon = expiringIn(2 * minuteMs);
    await create({ ...soon, name: "a-raced" });
    await create({ ...soon, name: "other" });
    await fleet.clock.advance(minuteMs);
    await expect.poll(told).toHaveLength(2);
    const before = fleet.events.length;
    storage.before = () =>
      stays
        ? secrets.update(systemCaller, { name: "a-raced", ...expiringIn(30 * dayMs) })
        : secrets.remove(systemCaller, { name: "a-raced" });
    await fleet.clock.advance(minuteMs);
    await settleAll();
    const after = fleet.events
      .slice(before)
      .filter(({ event_type }) => event_type.startsWith("secret.expir"));
    expect(after.map(({ event_type, target }) => `${event_type} of ${target?.id}`)).toEqual([
      "secret.expired of other",
    ]);
  },
);

it.each([5 * minuteMs, dayMs, 13 * dayMs])(
  "a secret of which it was told that it expires is told of by a start %i ms later only when it has",
  async (laterMs) => {
    const data = new MemoryData();
    const start = (clock?: TestOrchestrator["clock"]) =>
      createTestOrchestrator({ storage: new MemoryStorage({ data }), secretsKey, ...(clock && { clock }) });
    const before = await start();
    const { clock } = before;
    const expires_at = new Date(clock.now() + 14 * dayMs).toISOString();
    await before.orchestrator.secrets.create(systemCaller, { name: "db", value: "x", expires_at });
    await clock.advance(minuteMs);
    await expect.poll(() => told(before)).toEqual(["secret.expiring"]);
    await before[Symbol.asyncDispose]();
    await clock.advance(laterMs);
    await using after = await start(clock);
    await clock.advance(2 * minuteMs);
    await settleAll();
    expect(told(after)).toEqual([]);
    await clock.advance(14 * dayMs - laterMs);
    await expect.poll(() => told(after)).toEqual(["secret.expired"]);
  },
);

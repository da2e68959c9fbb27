/** Keys that were used while the clock was ahead: once it is right again they are kept for a day, not until the wrong time comes. */
import { expect, it } from "vitest";
import type { KeyedCall } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { CallDocument } from "../../lib/idempotency/documents.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import type { Write } from "../../lib/storage/storage.ts";
import { deferred } from "../support/deferred.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { twoProcesses } from "../support/two-processes.ts";

const minute = 60_000;
const hour = 60 * minute;
const month = 30 * 24 * hour;

const call = (key: string): KeyedCall => ({ key, permission: "modules.upload", input: {} });
const stored = async ({ storage }: TestOrchestrator) =>
  (await storage.list<CallDocument>("idempotent_calls", { limit: 1_000 })).items;

it("keeps every key for a day after a clock that was a month ahead is right again, and no longer", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  // More than one commit shortens.
  for (let n = 0; n < 150; n += 1) await idempotency.once(caller, call(`k${n}`), async () => n);
  test.clock.jump(-month);
  await test.clock.advance(20 * minute);
  await test.clock.advance(23 * hour);
  expect(await idempotency.once(caller, call("k149"), async () => "again")).toBe(149);
  expect(await stored(test)).toHaveLength(150);
  await test.clock.advance(2 * hour);
  expect(await stored(test)).toEqual([]);
  expect(await idempotency.once(caller, call("k149"), async () => "again")).toBe("again");
});

it("leaves the key of a call alone that is still being made, so that its answer can be kept", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  const begun = deferred<void>();
  const gate = deferred<void>();
  const running = idempotency.once(caller, call("long"), async (claiming) => {
    await servicesOf(test.orchestrator).operations.store.create(claiming, [], {
      writes: [{ kind: "put", collection: "settings", key: "changed", value: {} }],
    });
    begun.resolve();
    await gate.promise;
    return "made";
  });
  await begun.promise;
  await idempotency.once(caller, call("short"), async () => "short");
  test.clock.jump(-month);
  await test.clock.advance(20 * minute);
  gate.resolve();
  expect(await running).toBe("made");
  expect(await idempotency.once(caller, call("long"), async () => "again")).toBe("made");
});

it("shortens keys also behind those of many calls whose process was killed, of which nobody knows how they ended", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  await test.orchestrator.idempotency.once(caller, call("k1"), async () => 1);
  const [made] = await stored(test);
  const { answer: _, ...claim } = made!.value;
  await test.storage.commit(
    Array.from({ length: 250 }, (__, n) => {
      const begun = { ...claim, status: "begun", expires_at: claim.expires_at - 1 };
      return { kind: "put", collection: "idempotent_calls", key: `begun-${n}`, value: begun } as const;
    }),
  );
  test.clock.jump(-month);
  await test.clock.advance(20 * minute);
  await test.clock.advance(25 * hour);
  expect((await stored(test)).filter(({ key }) => !key.startsWith("begun-"))).toEqual([]);
});

it("forgets the keys of calls whose process was killed while the clock was ahead, too", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  await test.orchestrator.idempotency.once(caller, call("k1"), async () => 1);
  const [made] = await stored(test);
  const { answer: _, ...claim } = made!.value;
  const begun = { ...claim, status: "begun" };
  await test.storage.commit([{ kind: "put", collection: "idempotent_calls", key: "killed", value: begun }]);
  test.clock.jump(-month);
  await test.clock.advance(25 * hour + 20 * minute);
  expect(await stored(test)).toEqual([]);
});

it("changes no key because a clock was put back by half an hour", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  await test.orchestrator.idempotency.once(caller, call("k1"), async () => 1);
  const before = await stored(test);
  test.clock.jump(-30 * minute);
  await test.clock.advance(20 * minute);
  expect(await stored(test)).toEqual(before);
});

it("keeps the answer of a call whose key another process shortened meanwhile, as it can't tell it from one that was killed", async () => {
  await using processes = await twoProcesses();
  const { first, second, clock } = processes;
  const { caller } = await first.signIn("Operator");
  const begun = deferred<void>();
  const gate = deferred<void>();
  const running = first.orchestrator.idempotency.once(caller, call("long"), async (claiming) => {
    await servicesOf(first.orchestrator).operations.store.create(claiming, [], {
      writes: [{ kind: "put", collection: "settings", key: "changed", value: {} }],
    });
    begun.resolve();
    await gate.promise;
    return "made";
  });
  await begun.promise;
  const [before] = await stored(first);
  clock.jump(-month);
  await clock.advance(20 * minute);
  const [shortened] = await stored(first);
  expect(shortened!.value).toEqual({ ...before!.value, expires_at: expect.any(Number) as number });
  expect(shortened!.value.expires_at).toBeLessThan(before!.value.expires_at);
  gate.resolve();
  expect(await running).toBe("made");
  for (const { orchestrator } of [first, second])
    expect(await orchestrator.idempotency.once(caller, call("long"), async () => "again")).toBe("made");
  // And no longer than a day.
  expect((await stored(first))[0]!.value.expires_at).toBe(shortened!.value.expires_at);
});

it("keeps the answer of a call that ends in the moment in which another process shortens its key", async () => {
  const begun = deferred<void>();
  const gate = deferred<void>();
  const ofKeys = (write: Write): boolean =>
    write.kind === "put" && write.collection === "idempotent_calls" && write.expected !== 0;
  await using processes = await twoProcesses(
    (clock) => new RacingStorage((writes) => writes.every(ofKeys), { clock }),
  );
  const { first, second, clock } = processes;
  const storage = processes.storage as RacingStorage;
  const { caller } = await first.signIn("Operator");
  const running = first.orchestrator.idempotency.once(caller, call("long"), async (claiming) => {
    await servicesOf(first.orchestrator).operations.store.create(claiming, [], {
      writes: [{ kind: "put", collection: "settings", key: "changed", value: {} }],
    });
    begun.resolve();
    await gate.promise;
    return "made";
  });
  await begun.promise;
  storage.before = async () => {
    gate.resolve();
    await running;
  };
  clock.jump(-month);
  await clock.advance(20 * minute);
  expect(await running).toBe("made");
  expect(storage.before).toBeNull();
  for (const { orchestrator } of [first, second])
    expect(await orchestrator.idempotency.once(caller, call("long"), async () => "again")).toBe("made");
});

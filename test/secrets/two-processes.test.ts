/**
 * Processes that share a storage and a source of keys: one that went on encrypting with a key that another had left, and two that made
 * keys at once, lost values for good when the key was forgotten.
 */
import { expect, it } from "vitest";
import {
  MemoryStorage,
  MemoryTransport,
  systemCaller,
  type SecretsKeySource,
  type Storage,
} from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { Context } from "../../lib/context.ts";
import { resolveOptions } from "../../lib/options.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { secretCollections } from "../../lib/secrets/documents.ts";
import { KeyRing } from "../../lib/secrets/key-ring.ts";
import { MemoryData } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { MortalProcess } from "../support/mortal-process.ts";
import { MemorySecretsKey, numberedKey } from "../support/secrets-key.ts";
import { handlesOf } from "../support/two-processes.ts";

const names = ["a", "b", "c"];
const minute = 60_000;

/** What processes share. */
function createShared() {
  const clock = new FakeClock();
  const data = new MemoryData();
  return { clock, data, handle: handlesOf(new MemoryStorage({ clock, data })), keys: new MemorySecretsKey() };
}

const start = (
  clock: FakeClock,
  storage: Storage,
  secretsKey: SecretsKeySource | Uint8Array,
): Promise<TestOrchestrator> => createTestOrchestrator({ clock, storage, secretsKey });

const set = (test: TestOrchestrator, name: string, value: string) =>
  test.orchestrator.secrets.update(systemCaller, { name, value });

async function fill(test: TestOrchestrator): Promise<void> {
  for (const name of names)
    await test.orchestrator.secrets.create(systemCaller, { name, value: `value of ${name}` });
}

/** Reads them as a process does that begins after all others, with nothing but what is stored. */
async function readAfterAll({ clock, data, keys }: ReturnType<typeof createShared>): Promise<string[]> {
  await using last = await start(clock, new MemoryStorage({ clock, data }), keys);
  const { secrets } = servicesOf(last.orchestrator);
  const values: string[] = [];
  for (const name of names) values.push(Buffer.from(await secrets.resolveForServer(name)).toString());
  return values;
}

it("keeps what a process writes that has not heard that another left its key", async () => {
  const shared = createShared();
  const { clock, handle, keys } = shared;
  const first = await start(clock, handle(), keys);
  await fill(first);
  const second = await start(clock, handle(), keys);
  await first.orchestrator.secrets.rotateKey(systemCaller);
  expect(keys.keys).toEqual([numberedKey(2)]);
  await set(second, "a", "new");
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  expect(await readAfterAll(shared)).toEqual(["new", "value of b", "value of c"]);
});

it("keeps what is written at any moment of another process's change of the key", async () => {
  for (let step = 0, isOver = false; !isOver; step += 1) {
    const shared = createShared();
    const { clock, handle, keys } = shared;
    const mortal = new MortalProcess(handle(), keys);
    const first = await start(clock, mortal.storage, mortal.key);
    await fill(first);
    const second = await start(clock, handle(), keys);
    isOver = true;
    mortal.left = step;
    mortal.last = async () => {
      isOver = false;
      await set(second, "a", "new");
    };
    await first.orchestrator.secrets.rotateKey(systemCaller);
    await first[Symbol.asyncDispose]();
    await second[Symbol.asyncDispose]();
    const a = isOver ? "value of a" : "new";
    expect(await readAfterAll(shared), `step ${step}`).toEqual([a, "value of b", "value of c"]);
    if (isOver) expect(step).toBeGreaterThan(8);
  }
});

it("keeps what is written where another process changes the key at any moment of the writing", async () => {
  for (let step = 0, isOver = false; !isOver; step += 1) {
    const shared = createShared();
    const { clock, handle, keys } = shared;
    const first = await start(clock, handle(), keys);
    await fill(first);
    const mortal = new MortalProcess(handle(), keys);
    const second = await start(clock, mortal.storage, mortal.key);
    isOver = true;
    mortal.left = step;
    mortal.last = async () => {
      isOver = false;
      await first.orchestrator.secrets.rotateKey(systemCaller);
    };
    await set(second, "a", "new");
    await first[Symbol.asyncDispose]();
    await second[Symbol.asyncDispose]();
    expect(await readAfterAll(shared), `step ${step}`).toEqual(["new", "value of b", "value of c"]);
    if (isOver) expect(step).toBeGreaterThan(1);
  }
});

it.each(["goes on", "is killed"])(
  "loses nothing where two processes change the key at once, whichever step of the first the second meets, and the first %s",
  async (fate) => {
    for (let step = 0, isOver = false; !isOver; step += 1) {
      const shared = createShared();
      const { clock, handle, keys } = shared;
      const mortal = new MortalProcess(handle(), keys);
      const first = await start(clock, mortal.storage, mortal.key);
      await fill(first);
      const other = new MortalProcess(handle(), keys);
      const second = await start(clock, other.storage, other.key);
      isOver = true;
      mortal.left = step;
      let rivals: Promise<unknown> = Promise.resolve();
      mortal.last = async () => {
        isOver = false;
        // Begins in this moment, and is killed in the middle.
        other.left = step % 7;
        rivals = second.orchestrator.secrets.rotateKey(systemCaller).catch(() => {});
        await settleAll();
        if (fate === "is killed") throw new Error("The process was killed.");
      };
      await first.orchestrator.secrets.rotateKey(systemCaller).catch(() => {});
      await rivals;
      await first[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
      await clock.advance(minute);
      expect(await readAfterAll(shared), `step ${step}`).toEqual(names.map((name) => `value of ${name}`));
      if (isOver) expect(step).toBeGreaterThan(8);
    }
  },
);

it("has one of two processes change the key, tells the other so, and lets it after that", async () => {
  const shared = createShared();
  const { clock, handle, keys } = shared;
  await using first = await start(clock, handle(), keys);
  await fill(first);
  await using second = await start(clock, handle(), keys);
  const results = await Promise.allSettled(
    [first, second].map(({ orchestrator }) => orchestrator.secrets.rotateKey(systemCaller)),
  );
  expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(results.find(({ status }) => status === "rejected")).toMatchObject({
    reason: { code: "UNAVAILABLE", retryable: true },
  });
  expect(keys.keys).toEqual([numberedKey(2)]);
  expect(await second.orchestrator.secrets.rotateKey(systemCaller)).toMatchObject({ rewrapped: 3 });
  expect(keys.keys).toEqual([numberedKey(3)]);
});

it.each([0, 20_000])(
  "makes one key where two processes start at once with nothing stored, though it takes %i ms",
  async (takesMs) => {
    const clock = new FakeClock();
    const storage = new MemoryStorage({ clock });
    await storage.open({ version: 1, collections: secretCollections, logs: {} });
    // As a file is renewed: read, and written a moment later.
    let stored: Uint8Array[] = [];
    let made = 0;
    const secretsKey: SecretsKeySource = {
      read: async () => stored,
      renew: async () => {
        const before = stored;
        await new Promise<void>((resolve) => void clock.setTimer(takesMs, resolve));
        stored = [numberedKey((made += 1)), ...before];
      },
    };
    const transport = new MemoryTransport();
    const rings = [1, 2].map(
      () => new KeyRing(new Context(resolveOptions({ storage, clock, transport, secretsKey }))),
    );
    const starting = Promise.allSettled(rings.map((ring) => ring.start()));
    for (let passedMs = 0; passedMs <= takesMs; passedMs += 1_000) {
      await settleAll();
      await clock.advance(1_000);
    }
    expect((await starting).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    expect(made).toBe(1);
    expect(new Set(rings.map(({ vault }) => vault.newest)).size).toBe(1);
  },
);

it("refuses to write with a key that was left where it is not given the one in its place", async () => {
  const { clock, handle } = createShared();
  const both: SecretsKeySource = { read: () => Promise.resolve([numberedKey(2), numberedKey(1)]) };
  await using first = await start(clock, handle(), numberedKey(1));
  await fill(first);
  await using second = await start(clock, handle(), both);
  await settleAll();
  await expect(set(first, "a", "new")).rejects.toMatchObject({ code: "SECRETS_KEY_MISSING" });
  await set(second, "a", "new");
  expect((await first.orchestrator.secrets.get(systemCaller, { name: "a" })).value_version).toBe(2);
});

it("has nothing written with the key that was given first, where a process with another began before anything was encrypted", async () => {
  const { clock, data, handle } = createShared();
  const first = await start(clock, handle(), numberedKey(1));
  const second = await start(clock, handle(), numberedKey(2));
  const create = (test: TestOrchestrator, name: string) =>
    test.orchestrator.secrets.create(systemCaller, { name, value: `value of ${name}` });
  await expect(create(first, "a")).rejects.toMatchObject({ code: "SECRETS_KEY_MISSING" });
  await create(second, "b");
  await expect(create(first, "c")).rejects.toMatchObject({ code: "SECRETS_KEY_MISSING" });
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  const storage = new MemoryStorage({ clock, data });
  await using last = await start(clock, storage, numberedKey(2));
  const { items } = await last.orchestrator.secrets.list(systemCaller);
  expect(items.map(({ name }) => name)).toEqual(["b"]);
  const value = await servicesOf(last.orchestrator).secrets.resolveForServer("b");
  expect(Buffer.from(value).toString()).toBe("value of b");
});

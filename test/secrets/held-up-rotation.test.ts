/**
 * A change of the master key that stands still: one that was held up for longer than its turn went on over a later one and left a canary of a
 * key that was gone, and one whose new key was taken back let nobody write.
 */
import { expect, it } from "vitest";
import { MemoryStorage, systemCaller, type SecretsKeySource, type Storage } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { MemoryData } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { MortalProcess } from "../support/mortal-process.ts";
import { MemorySecretsKey, numberedKey } from "../support/secrets-key.ts";
import { handlesOf } from "../support/two-processes.ts";

const names = ["a", "b", "c"];
const given = (...numbers: number[]): SecretsKeySource => ({ read: async () => numbers.map(numberedKey) });

function createShared() {
  const clock = new FakeClock();
  const data = new MemoryData();
  const handle = handlesOf(new MemoryStorage({ clock, data }));
  const start = async (secretsKey: SecretsKeySource, storage: Storage = handle()) => {
    const test = await createTestOrchestrator({ clock, storage, secretsKey });
    await settleAll();
    return test;
  };
  /** Reads them as a process does that begins after all others, with nothing but what is stored. */
  const readAfterAll = async (secretsKey: SecretsKeySource): Promise<string[]> => {
    await using last = await start(secretsKey, new MemoryStorage({ clock, data }));
    const { secrets } = servicesOf(last.orchestrator);
    const values: string[] = [];
    for (const name of names) values.push(Buffer.from(await secrets.resolveForServer(name)).toString());
    return values;
  };
  return { clock, handle, start, readAfterAll, alone: () => new MemoryStorage({ clock, data }) };
}

const rotate = ({ orchestrator }: TestOrchestrator) => orchestrator.secrets.rotateKey(systemCaller);
const set = ({ orchestrator }: TestOrchestrator, name: string, value: string) =>
  orchestrator.secrets.update(systemCaller, { name, value });

async function fill({ orchestrator }: TestOrchestrator): Promise<void> {
  for (const name of names)
    await orchestrator.secrets.create(systemCaller, { name, value: `value of ${name}` });
}

it("loses nothing where a process is held up at any step for longer than its turn, and another changes the key twice meanwhile", async () => {
  for (let step = 0, isOver = false; !isOver; step += 1) {
    const { clock, handle, start, readAfterAll } = createShared();
    const keys = new MemorySecretsKey();
    const mortal = new MortalProcess(handle(), keys);
    const first = await start(mortal.key, mortal.storage);
    await fill(first);
    const second = await start(keys);
    isOver = true;
    mortal.left = step;
    mortal.last = async () => {
      isOver = false;
      await clock.advance(31_000);
      await rotate(second);
      await rotate(second);
    };
    await rotate(first).catch((error: unknown) =>
      expect(error, `step ${step}`).toMatchObject({ code: "UNAVAILABLE" }),
    );
    await set(first, "a", "new");
    await first[Symbol.asyncDispose]();
    await second[Symbol.asyncDispose]();
    expect(await readAfterAll(keys), `step ${step}`).toEqual(["new", "value of b", "value of c"]);
    if (isOver) expect(step).toBeGreaterThan(8);
  }
});

it("lets values be written with a key that was put back before anything was encrypted anew", async () => {
  const { alone, start, readAfterAll } = createShared();
  const before = await start(given(1), alone());
  await fill(before);
  await before[Symbol.asyncDispose]();
  const storage = alone();
  const commit = storage.commit.bind(storage);
  storage.commit = async (writes, options) => {
    if (writes.some((write) => "collection" in write && write.collection === "secret_values"))
      throw new Error("The disk is full.");
    return commit(writes, options);
  };
  const failing = await start(given(2, 1), storage);
  await failing[Symbol.asyncDispose]();
  const after = await start(given(1), alone());
  await set(after, "a", "new");
  await after[Symbol.asyncDispose]();
  expect(await readAfterAll(given(1))).toEqual(["new", "value of b", "value of c"]);
});

it("has a process that is given the old key first write with the new one, and not change it back", async () => {
  const { start, readAfterAll } = createShared();
  const first = await start(given(1, 2));
  await fill(first);
  const second = await start(given(2, 1));
  await set(first, "a", "new");
  await first[Symbol.asyncDispose]();
  const again = await start(given(1, 2));
  await set(again, "b", "newer");
  await set(second, "c", "newest");
  await again[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  expect(await readAfterAll(given(2))).toEqual(["new", "newer", "newest"]);
});

it("has a process that starts with the old key first in the middle of a change not undo it", async () => {
  for (let step = 0, isOver = false; !isOver; step += 1) {
    const { clock, handle, start, readAfterAll } = createShared();
    const first = await start(given(1));
    await fill(first);
    const mortal = new MortalProcess(handle());
    let other: TestOrchestrator | null = null;
    isOver = true;
    mortal.left = step;
    mortal.last = async () => {
      isOver = false;
      other = await start(given(1, 2));
    };
    const second = await start(given(2, 1), mortal.storage);
    await settleAll();
    await clock.advance(600_000);
    await settleAll();
    await first[Symbol.asyncDispose]();
    await second[Symbol.asyncDispose]();
    // Its own end may be the moment.
    await (other as TestOrchestrator | null)?.[Symbol.asyncDispose]();
    expect(await readAfterAll(given(2)), `step ${step}`).toEqual(names.map((name) => `value of ${name}`));
    if (isOver) expect(step).toBeGreaterThan(4);
  }
});

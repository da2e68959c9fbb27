import { describe, expect, it, vi } from "vitest";
import { MemoryStorage, systemCaller, type SecretsKeySource } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import type { SecretValueDocument } from "../../lib/secrets/documents.ts";
import { MemoryData } from "../../lib/storage/memory-storage.ts";
import type { Storage, StoredDocument, Write } from "../../lib/storage/storage.ts";
import { settleAll } from "../support/deferred.ts";
import { MortalProcess } from "../support/mortal-process.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { MemorySecretsKey, numberedKey } from "../support/secrets-key.ts";
import { waitFor } from "../support/wait-for.ts";

const names = ["a", "b", "c"];
const valueOf = (name: string): string => `value of ${name}`;

/** An orchestrator with three secrets. */
async function startFilled(options: Parameters<typeof createTestOrchestrator>[0]): Promise<TestOrchestrator> {
  const test = await createTestOrchestrator(options);
  for (const name of names)
    await test.orchestrator.secrets.create(systemCaller, { name, value: valueOf(name) });
  return test;
}

async function readAll(test: TestOrchestrator): Promise<string[]> {
  const { secrets } = servicesOf(test.orchestrator);
  const values: string[] = [];
  for (const name of names) values.push(Buffer.from(await secrets.resolveForServer(name)).toString());
  return values;
}

const rows = async (storage: Storage): Promise<StoredDocument<SecretValueDocument>[]> =>
  (await storage.list<SecretValueDocument>("secret_values")).items;

describe("a key at the start", () => {
  it("is made where nothing is encrypted yet, and read from then on", async () => {
    const data = new MemoryData();
    const secretsKey = new MemorySecretsKey();
    const first = await startFilled({ storage: new MemoryStorage({ data }), secretsKey });
    await first[Symbol.asyncDispose]();
    await using second = await createTestOrchestrator({ storage: new MemoryStorage({ data }), secretsKey });
    expect(secretsKey.keys).toHaveLength(1);
    expect(await readAll(second)).toEqual(names.map(valueOf));
  });

  it.each([
    ["another one", () => numberedKey(9), "another key"],
    ["none where the file is gone: no other is made", () => new MemorySecretsKey(), "their key is not there"],
  ])("is refused where it is %s", async (_what, keyOf, message) => {
    const data = new MemoryData();
    const first = await startFilled({ storage: new MemoryStorage({ data }), secretsKey: numberedKey(1) });
    await first[Symbol.asyncDispose]();
    const secretsKey = keyOf();
    const starting = createTestOrchestrator({ storage: new MemoryStorage({ data }), secretsKey });
    await expect(starting).rejects.toMatchObject({
      code: "SECRETS_KEY_WRONG",
      message: expect.stringContaining(message) as string,
    });
    if (secretsKey instanceof MemorySecretsKey) expect(secretsKey.keys).toEqual([]);
    const right = { storage: new MemoryStorage({ data }), secretsKey: numberedKey(1) };
    await using again = await createTestOrchestrator(right);
    expect(await readAll(again)).toEqual(names.map(valueOf));
  });

  it.each([
    ["another one", () => numberedKey(9)],
    ["a new one, because the file is gone, as after a restore", () => new MemorySecretsKey()],
  ])("takes the place of the one before where nothing is encrypted: %s", async (_what, keyOf) => {
    const data = new MemoryData();
    const first = await startFilled({ storage: new MemoryStorage({ data }), secretsKey: numberedKey(1) });
    for (const name of names) await first.orchestrator.secrets.remove(systemCaller, { name });
    await first[Symbol.asyncDispose]();
    const secretsKey = keyOf();
    const second = await startFilled({ storage: new MemoryStorage({ data }), secretsKey });
    expect(await readAll(second)).toEqual(names.map(valueOf));
    await second[Symbol.asyncDispose]();
    await using again = await createTestOrchestrator({ storage: new MemoryStorage({ data }), secretsKey });
    expect(await readAll(again)).toEqual(names.map(valueOf));
  });

  it("is missed where the canary is gone and values are there", async () => {
    const data = new MemoryData();
    const first = await startFilled({ storage: new MemoryStorage({ data }), secretsKey: numberedKey(1) });
    await first.storage.commit([{ kind: "delete", collection: "secrets_key", key: "canary" }]);
    await first[Symbol.asyncDispose]();
    const starting = createTestOrchestrator({
      storage: new MemoryStorage({ data }),
      secretsKey: numberedKey(1),
    });
    await expect(starting).rejects.toMatchObject({ code: "STORAGE_CORRUPT" });
  });

  it("that stays is not changed once more by the next start, and makes no event", async () => {
    const data = new MemoryData();
    const secretsKey = new MemorySecretsKey();
    const first = await startFilled({ storage: new MemoryStorage({ data }), secretsKey });
    await first[Symbol.asyncDispose]();
    const retire = vi.spyOn(secretsKey, "retire");
    await using second = await createTestOrchestrator({ storage: new MemoryStorage({ data }), secretsKey });
    await settleAll();
    expect(retire).not.toHaveBeenCalled();
    const types = second.events.map(({ event_type }) => event_type);
    expect(types.filter((type) => type.startsWith("secret"))).toEqual([]);
  });

  it("may be absent: the log says once that there are secrets which nobody can use", async () => {
    const data = new MemoryData();
    const first = await startFilled({ storage: new MemoryStorage({ data }), secretsKey: numberedKey(1) });
    await first[Symbol.asyncDispose]();
    const logger = new RecordingLogger();
    await using second = await createTestOrchestrator({ storage: new MemoryStorage({ data }), logger });
    await settleAll();
    expect([...logger.of("warn"), ...logger.of("error")]).toEqual([
      "There are secrets and no key for them: nobody can use them.",
    ]);
    const { secrets } = servicesOf(second.orchestrator);
    await expect(secrets.resolveForServer("a")).rejects.toMatchObject({ code: "SECRETS_KEY_MISSING" });
  });

  it("has 32 bytes", async () => {
    const secretsKey = new Uint8Array(31);
    await expect(createTestOrchestrator({ secretsKey })).rejects.toMatchObject({ code: "OPTIONS_INVALID" });
    const source: SecretsKeySource = { read: () => Promise.resolve([secretsKey]) };
    await expect(createTestOrchestrator({ secretsKey: source })).rejects.toMatchObject({
      code: "SECRETS_KEY_WRONG",
    });
  });
});

describe("a row", () => {
  const put = ({ key }: { key: string }, value: SecretValueDocument): Write => ({
    kind: "put",
    collection: "secret_values",
    key,
    value: { ...value },
  });

  it.each([
    ["whose ciphertext was changed", ([a]: Row[]) => [put(a!, { ...a!.value, box: flip(a!.value.box) })]],
    ["whose nonce was changed", ([a]: Row[]) => [put(a!, { ...a!.value, nonce: flip(a!.value.nonce) })]],
    ["that was cut", ([a]: Row[]) => [put(a!, { ...a!.value, box: a!.value.box.slice(0, 40) })]],
    ["in the place of another", ([a, b]: Row[]) => [put(a!, { ...b!.value, name: "a", version: 1 })]],
    ["that was swapped as it is", ([a, b]: Row[]) => [put(a!, b!.value), put(b!, a!.value)]],
    ["of a key that is not there", ([a]: Row[]) => [put(a!, { ...a!.value, key_id: "00".repeat(8) })]],
  ])("%s does not open, and the others do", async (_what, change) => {
    await using test = await startFilled({ secretsKey: numberedKey(1) });
    await test.storage.commit(change(await rows(test.storage)));
    const { secrets } = servicesOf(test.orchestrator);
    await expect(secrets.resolveForServer("a")).rejects.toMatchObject({ code: "STORAGE_CORRUPT" });
    expect(Buffer.from(await secrets.resolveForServer("c")).toString()).toBe(valueOf("c"));
  });

  it("holds nothing of the value in clear, and is another each time", async () => {
    await using test = await startFilled({ secretsKey: numberedKey(1) });
    await test.orchestrator.secrets.create(systemCaller, { name: "d", value: valueOf("a") });
    const all = await rows(test.storage);
    expect(new Set(all.map(({ value }) => value.box)).size).toBe(4);
    for (const { value } of all)
      expect(Buffer.from(value.box, "base64").toString("latin1")).not.toContain("value of");
  });
});

type Row = StoredDocument<SecretValueDocument>;

function flip(text: string): string {
  const bytes = Buffer.from(text, "base64");
  bytes[20] = bytes[20]! ^ 1;
  return bytes.toString("base64");
}

describe("another key", () => {
  it("takes the place of the first while the orchestrator runs", async () => {
    const secretsKey = new MemorySecretsKey();
    await using test = await startFilled({ secretsKey });
    const before = new Set((await rows(test.storage)).map(({ value }) => value.key_id));
    const rotated = await test.orchestrator.secrets.rotateKey(systemCaller);
    expect(rotated.rewrapped).toBe(3);
    expect(new Set((await rows(test.storage)).map(({ value }) => value.key_id))).toEqual(
      new Set([rotated.key_id]),
    );
    expect(before.has(rotated.key_id)).toBe(false);
    expect(secretsKey.keys).toEqual([numberedKey(2)]);
    expect(await readAll(test)).toEqual(names.map(valueOf));
    expect(test.events.at(-1)).toMatchObject({
      event_type: "secret.keyRotated",
      metadata: { key_id: rotated.key_id, rewrapped: 3 },
    });
  });

  it("that is given before the old one takes its place at the start", async () => {
    const data = new MemoryData();
    const first = await startFilled({ storage: new MemoryStorage({ data }), secretsKey: numberedKey(1) });
    await expect(first.orchestrator.secrets.rotateKey(systemCaller)).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
    });
    await first[Symbol.asyncDispose]();
    const both: SecretsKeySource = { read: () => Promise.resolve([numberedKey(2), numberedKey(1)]) };
    const second = await createTestOrchestrator({ storage: new MemoryStorage({ data }), secretsKey: both });
    await waitFor(() =>
      expect(second.events.map(({ event_type }) => event_type)).toContain("secret.keyRotated"),
    );
    await second[Symbol.asyncDispose]();
    await using third = await createTestOrchestrator({
      storage: new MemoryStorage({ data }),
      secretsKey: numberedKey(2),
    });
    expect(await readAll(third)).toEqual(names.map(valueOf));
  });

  it("goes on wherever the process was killed, and loses nothing", async () => {
    let isOver = false;
    for (let step = 1; !isOver; step += 1) {
      const data = new MemoryData();
      const keys = new MemorySecretsKey();
      const process = new MortalProcess(new MemoryStorage({ data }), keys);
      const first = await startFilled({ storage: process.storage, secretsKey: process.key });
      process.left = step;
      isOver = await first.orchestrator.secrets.rotateKey(systemCaller).then(
        () => true,
        () => false,
      );
      process.left = 0;
      await first[Symbol.asyncDispose]();
      await using second = await createTestOrchestrator({
        storage: new MemoryStorage({ data }),
        secretsKey: keys,
      });
      expect(await readAll(second), `killed at step ${step}`).toEqual(names.map(valueOf));
      await second.orchestrator.secrets.rotateKey(systemCaller);
      const ids = new Set((await rows(second.storage)).map(({ value }) => value.key_id));
      expect(ids.size, `killed at step ${step}`).toBe(1);
      expect(keys.keys, `killed at step ${step}`).toHaveLength(1);
      expect(await readAll(second)).toEqual(names.map(valueOf));
      if (isOver) expect(step).toBeGreaterThan(8);
    }
  });

  it("has the old one forgotten at the next start where the process ended right before that", async () => {
    const data = new MemoryData();
    const secretsKey = new MemorySecretsKey();
    const first = await startFilled({ storage: new MemoryStorage({ data }), secretsKey });
    vi.spyOn(secretsKey, "retire").mockRejectedValueOnce(new Error("killed"));
    await expect(first.orchestrator.secrets.rotateKey(systemCaller)).rejects.toThrow("killed");
    await first[Symbol.asyncDispose]();
    expect(secretsKey.keys).toHaveLength(2);
    await using second = await createTestOrchestrator({ storage: new MemoryStorage({ data }), secretsKey });
    await waitFor(() => expect(secretsKey.keys).toEqual([numberedKey(2)]));
    expect(await readAll(second)).toEqual(names.map(valueOf));
  });

  it("takes the place of each before it, whichever comes first in order", async () => {
    const secretsKey = new MemorySecretsKey();
    await using test = await startFilled({ secretsKey });
    const ids: string[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const { key_id, rewrapped } = await test.orchestrator.secrets.rotateKey(systemCaller);
      expect({ turn, rewrapped }).toEqual({ turn, rewrapped: 3 });
      const left = (await rows(test.storage)).map(({ value }) => value.key_id);
      expect(left).toEqual([key_id, key_id, key_id]);
      ids.push(key_id);
    }
    const steps = ids.slice(1).map((id, index) => Math.sign(id < ids[index]! ? -1 : 1));
    expect(new Set(steps)).toEqual(new Set([-1, 1]));
    expect(await readAll(test)).toEqual(names.map(valueOf));
  });

  it("encrypts what somebody wrote with the old one after the change was over, at the next start", async () => {
    const data = new MemoryData();
    const both: SecretsKeySource = { read: () => Promise.resolve([numberedKey(2), numberedKey(1)]) };
    const first = await startFilled({ storage: new MemoryStorage({ data }), secretsKey: numberedKey(1) });
    const late = (await rows(first.storage))[0]!;
    await first[Symbol.asyncDispose]();
    const second = await createTestOrchestrator({ storage: new MemoryStorage({ data }), secretsKey: both });
    await waitFor(async () =>
      expect((await second.storage.get("secrets_key", "canary"))?.value).toMatchObject({
        key_id: (await rows(second.storage))[0]!.value.key_id,
      }),
    );
    await second.storage.commit([
      { kind: "put", collection: "secret_values", key: late.key, value: { ...late.value } },
    ]);
    await second[Symbol.asyncDispose]();
    await using third = await createTestOrchestrator({
      storage: new MemoryStorage({ data }),
      secretsKey: both,
    });
    await waitFor(async () =>
      expect(new Set((await rows(third.storage)).map(({ value }) => value.key_id)).size).toBe(1),
    );
    expect(await readAll(third)).toEqual(names.map(valueOf));
  });

  it("goes on where a secret is removed in the moment in which it is encrypted anew, and brings it not back", async () => {
    const isValue = (writes: readonly Write[]): boolean =>
      writes.some((write) => write.kind === "put" && write.collection === "secret_values");
    const storage = new RacingStorage(isValue);
    await using test = await startFilled({ storage, secretsKey: new MemorySecretsKey() });
    const { secrets } = test.orchestrator;
    const [first] = await rows(storage);
    storage.before = () => secrets.remove(systemCaller, { name: first!.value.name });
    const { key_id, rewrapped } = await secrets.rotateKey(systemCaller);
    expect(rewrapped).toBe(2);
    const left = await rows(storage);
    expect(left.map(({ value }) => [value.name, value.key_id])).toEqual(
      names.filter((name) => name !== first!.value.name).map((name) => [name, key_id]),
    );
  });

  it("does not mind values that are written meanwhile", async () => {
    const secretsKey = new MemorySecretsKey();
    await using test = await startFilled({ secretsKey });
    const { secrets } = test.orchestrator;
    const writes = names.map((name) => secrets.update(systemCaller, { name, value: `new ${name}` }));
    await Promise.all([secrets.rotateKey(systemCaller), ...writes]);
    expect(await readAll(test)).toEqual(names.map((name) => `new ${name}`));
    expect(new Set((await rows(test.storage)).map(({ value }) => value.key_id)).size).toBe(1);
  });
});

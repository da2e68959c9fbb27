/** Secrets that are made, removed and begun to be used in the same moment. */
import { describe, expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { Write } from "../../lib/storage/storage.ts";
import { createNotifying } from "../support/channel-scene.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { MemorySecretsKey } from "../support/secrets-key.ts";
import { handlesOf } from "../support/two-processes.ts";

const puts = (collection: string, key?: string) => (writes: readonly Write[]) =>
  writes.some(
    (write) =>
      write.kind === "put" && write.collection === collection && (key === undefined || write.key === key),
  );
const deletes = (collection: string) => (writes: readonly Write[]) =>
  writes.some((write) => write.kind === "delete" && write.collection === collection);

async function start(storage: RacingStorage): Promise<TestOrchestrator["orchestrator"]> {
  const test = await createNotifying({ storage });
  onTestFinished(() => test[Symbol.asyncDispose]());
  return test.orchestrator;
}

const hook = { name: "hook", type: "slack", config: { url: "secret:hook" } };
const hookUrl = "https://hooks.example.com/T/B/x";

it("the versions of a name rise where a secret comes and goes while another is made", async () => {
  const storage = new RacingStorage(puts("secrets", "db"));
  const { secrets } = await start(storage);
  storage.before = async () => {
    await secrets.create(systemCaller, { name: "db", value: "first" });
    await secrets.remove(systemCaller, { name: "db" });
  };
  const { value_version } = await secrets.create(systemCaller, { name: "db", value: "second" });
  expect(value_version).toBe(2);
});

describe("a secret that takes the name of one that goes, while that is changed,", () => {
  const restriction = { node_ids: ["a".repeat(32)] };
  const scene = async () => {
    const storage = new RacingStorage(puts("secrets", "db"));
    const { secrets } = await start(storage);
    await secrets.create(systemCaller, { name: "db", value: "first" });
    storage.before = async () => {
      await secrets.remove(systemCaller, { name: "db" });
      await secrets.create(systemCaller, { name: "db", value: "second", restriction });
    };
    return secrets;
  };

  it("is not changed by who saw the other", async () => {
    const secrets = await scene();
    await expect(
      secrets.update(systemCaller, { name: "db", description: "Of the site" }, { ifVersion: [1] }),
    ).rejects.toMatchObject({ code: "PRECONDITION_FAILED", details: { version: 2 } });
    expect(await secrets.get(systemCaller, { name: "db" })).toMatchObject({ value_version: 2, version: 2 });
  });

  it("keeps its value and its restriction where it is changed", async () => {
    const secrets = await scene();
    const changed = await secrets.update(systemCaller, { name: "db", description: "Of the site" });
    expect(changed).toMatchObject({ value_version: 2, restriction, version: 3 });
  });
});

describe("a secret that is removed while a channel begins to use it", () => {
  it("has the channel refused where the removal was first", async () => {
    const storage = new RacingStorage(puts("channels"));
    const { secrets, channels } = await start(storage);
    await secrets.create(systemCaller, { name: "hook", value: hookUrl });
    storage.before = () => secrets.remove(systemCaller, { name: "hook" });
    await expect(channels.create(systemCaller, hook)).rejects.toMatchObject({ code: "SECRET_UNAVAILABLE" });
    expect((await channels.list(systemCaller)).items).toEqual([]);
  });

  it("has the change of a channel refused, too", async () => {
    const storage = new RacingStorage(puts("channels"));
    const { secrets, channels } = await start(storage);
    await secrets.create(systemCaller, { name: "hook", value: hookUrl });
    const { id } = await channels.create(systemCaller, { ...hook, config: { url: hookUrl } });
    storage.before = () => secrets.remove(systemCaller, { name: "hook" });
    const change = { id, config: hook.config };
    await expect(channels.update(systemCaller, change)).rejects.toMatchObject({ code: "SECRET_UNAVAILABLE" });
  });

  it("stays where the channel was first", async () => {
    const storage = new RacingStorage(deletes("secrets"));
    const { secrets, channels } = await start(storage);
    await secrets.create(systemCaller, { name: "hook", value: hookUrl });
    storage.before = () => channels.create(systemCaller, hook);
    await expect(secrets.remove(systemCaller, { name: "hook" })).rejects.toMatchObject({
      code: "IN_USE",
      details: { used_by: ["channel hook"] },
    });
  });
});

it("of two processes that first need the key for hashes of inputs in one moment, both go on with the same", async () => {
  const storage = new RacingStorage(puts("secret_values"));
  const handle = handlesOf(storage);
  const secretsKey = new MemorySecretsKey();
  await using first = await createTestOrchestrator({ storage: handle(), secretsKey });
  await using second = await createTestOrchestrator({ storage: handle(), secretsKey });
  const { caller } = await first.signIn("Admin");
  const once = ({ orchestrator }: TestOrchestrator, key: string, answer: string): Promise<string> => {
    const call = { key, permission: "secrets.create", input: { value: "hush" } } as const;
    return orchestrator.idempotency.once(caller, call, () => Promise.resolve(answer));
  };
  storage.before = () => once(second, "b", "of the second");
  expect(await once(first, "a", "of the first")).toBe("of the first");
  expect(storage.before).toBeNull();
  expect(await once(second, "a", "again")).toBe("of the first");
});

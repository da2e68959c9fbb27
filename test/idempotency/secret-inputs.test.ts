/** Calls that carry secrets: what is kept of them gives nothing away, and is known again after a change of the master key. */
import { expect, it, onTestFinished } from "vitest";
import { nodeCrypto, systemCaller, toHex } from "fleetwright";
import { FakeClock, type TestOrchestrator } from "fleetwright/testing";
import type { CallDocument } from "../../lib/idempotency/documents.ts";
import { loadIdentity } from "../../lib/identity.ts";
import { canonicalJson } from "../../lib/internal/canonical-json.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { createNotifying } from "../support/channel-scene.ts";
import { MemorySecretsKey } from "../support/secrets-key.ts";

async function start(
  data = new MemoryData(),
  secretsKey = new MemorySecretsKey(),
): Promise<TestOrchestrator> {
  const clock = new FakeClock();
  const test = await createNotifying({ clock, secretsKey, storage: new MemoryStorage({ clock, data }) });
  onTestFinished(() => test[Symbol.asyncDispose]());
  return test;
}

type Caller = Awaited<ReturnType<TestOrchestrator["signIn"]>>["caller"];

const input = { name: "db", value: "c4nary" };
const create = ({ orchestrator }: TestOrchestrator, caller: Caller) =>
  orchestrator.idempotency.once(caller, { key: "k1", permission: "secrets.create", input }, (claiming) =>
    orchestrator.secrets.create(claiming, input),
  );

it("a secret that is made again with its key after the master key was changed is answered as before", async () => {
  const data = new MemoryData();
  const secretsKey = new MemorySecretsKey();
  const test = await start(data, secretsKey);
  const { caller } = await test.signIn("Operator");
  const made = await create(test, caller);
  await test.orchestrator.secrets.rotateKey(systemCaller);
  expect(await create(test, caller)).toEqual(made);
  await test[Symbol.asyncDispose]();
  // The old key is gone by now.
  expect(await create(await start(data, secretsKey), caller)).toEqual(made);
});

it("who has the files can't try what a channel was configured with", async () => {
  const test = await start();
  const { caller } = await test.signIn("Admin");
  const channel = { name: "hook", type: "slack", config: { url: "https://hooks.example.com/guess" } };
  const call = { key: "k1", permission: "channels.create", input: channel } as const;
  await test.orchestrator.idempotency.once(caller, call, (claiming) =>
    test.orchestrator.channels.create(claiming, channel),
  );
  const { secret } = await loadIdentity(test.storage, nodeCrypto);
  const key = nodeCrypto.deriveKey(secret, new Uint8Array(0), "fleetwright/1 idempotency", 32);
  const guess = toHex(nodeCrypto.hmac(key, Buffer.from(canonicalJson(channel))));
  const { items } = await test.storage.list<CallDocument>("idempotent_calls", {});
  expect(items).toHaveLength(1);
  expect(items[0]!.value.fingerprint).not.toBe(guess);
});

it("a master key that is lost is missed no more once every secret is removed", async () => {
  const data = new MemoryData();
  const test = await start(data);
  const { caller } = await test.signIn("Operator");
  await create(test, caller);
  await test.orchestrator.secrets.remove(systemCaller, { name: "db" });
  await test[Symbol.asyncDispose]();
  // Another key, as after a restore without it.
  const after = await start(data, new MemorySecretsKey(7));
  const again = { key: "k2", permission: "secrets.create", input } as const;
  const { name } = await after.orchestrator.idempotency.once(caller, again, (claiming) =>
    after.orchestrator.secrets.create(claiming, input),
  );
  expect(name).toBe("db");
});

it("a master key that is lost is missed for as long as there is a secret", async () => {
  const data = new MemoryData();
  const test = await start(data);
  await create(test, (await test.signIn("Operator")).caller);
  await test[Symbol.asyncDispose]();
  await expect(start(data, new MemorySecretsKey(7))).rejects.toMatchObject({ code: "SECRETS_KEY_WRONG" });
});

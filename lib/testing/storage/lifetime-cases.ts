import assert from "node:assert/strict";
import { nodeCrypto } from "../../crypto/node-crypto.ts";
import type { Storage, StorageBackup } from "../../storage/storage.ts";
import { assertRefused, putAgent, testSchema, type StorageCase } from "./subject.ts";

const everyCall: Record<string, (storage: Storage) => Promise<unknown>> = {
  open: (storage) => storage.open(testSchema),
  check: (storage) => storage.check(),
  get: (storage) => storage.get("agents", "a"),
  getMany: (storage) => storage.getMany("agents", ["a"]),
  count: (storage) => storage.count("agents"),
  list: (storage) => storage.list("agents"),
  commit: (storage) => storage.commit([putAgent("a", {})]),
  readLog: (storage) => storage.readLog("audit"),
  trimLog: (storage) => storage.trimLog("audit", 1),
  appendBlob: (storage) => storage.appendBlob("a", new Uint8Array(1)),
  openBlob: (storage) => storage.openBlob("b"),
  readBlob: (storage) => storage.readBlob("a"),
  lease: (storage) => storage.lease("a", 1_000),
  follow: async (storage) => storage.follow(() => {}),
};

/** Promise 11, and how a storage is opened. */
export const lifetimeCases: StorageCase[] = [
  {
    name: "after close every call is refused, and close may be called again",
    promise: 11,
    async run({ storage }) {
      const lease = await storage.lease("mine", 1_000);
      await storage.close();
      await storage.close();
      for (const call of Object.values(everyCall)) await assertRefused(call(storage), "STORAGE_CLOSED");
      if (storage.backup) await assertRefused(drain(storage.backup), "STORAGE_CLOSED");
      if (storage.series) await assertRefused(storage.series.append("a", []), "STORAGE_CLOSED");
      assert.equal(await lease?.renew(), false);
    },
  },
  {
    name: "close waits for commits and appends under way",
    promise: 11,
    async run(subject) {
      const { storage } = subject;
      const commits = Array.from({ length: 10 }, (_, n) => storage.commit([putAgent(`a${n}`, {})]));
      const append = storage.appendBlob("blob", new Uint8Array(3));
      await storage.close();
      await Promise.all([...commits, append]);
      const next = subject.again();
      await next.open(testSchema);
      assert.equal((await next.list("agents")).items.length, 10);
      assert.equal((await next.readBlob("blob"))?.length, 3);
    },
  },
  {
    name: "data of a newer schema is refused and left as it is, older data is taken over",
    promise: 1,
    async run(subject) {
      await subject.storage.commit([putAgent("a", { n: 1 })]);
      await subject.storage.close();
      await assertRefused(subject.again().open({ ...testSchema, version: 2 }), "STORAGE_VERSION_UNSUPPORTED");
      const newer = subject.again();
      await newer.open({ ...testSchema, version: 4 });
      assert.deepEqual(await newer.get("agents", "a"), { key: "a", revision: 1, value: { n: 1 } });
      await newer.close();
      await assertRefused(subject.again().open(testSchema), "STORAGE_VERSION_UNSUPPORTED");
    },
  },
  {
    name: "data that is kept for one process is refused to a second one",
    promise: 1,
    async run(subject) {
      if (subject.storage.capabilities.shared) {
        const second = subject.again();
        await second.open(testSchema);
        await subject.storage.commit([putAgent("a", {})]);
        assert.ok(await second.get("agents", "a"));
      } else {
        await assertRefused(subject.again().open(testSchema), "STORAGE_LOCKED");
        assert.deepEqual((await subject.storage.commit([putAgent("a", {})])).revisions, [1]);
      }
    },
  },
];

async function drain(backup: StorageBackup): Promise<void> {
  const signer = nodeCrypto.createSigner(new Uint8Array(32));
  for await (const _piece of backup.archive(signer)) continue;
}

/** Contents where a write was cut short, where nobody says what refers to them, and where the storage fails. */
import { expect, it, test } from "vitest";
import { OrchestratorError } from "fleetwright";
import { contentCollections, Contents, type ContentKind } from "../../lib/contents/contents.ts";
import { toHex, toUtf8 } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";

const content = toUtf8("content");
const hash = toHex(nodeCrypto.sha256(content));
const longMs = 10 * 3_600_000;

async function opened() {
  const [clock, data] = [new FakeClock(), new MemoryData()];
  const storage = new MemoryStorage({ clock, data });
  await storage.open({ version: 1, collections: contentCollections, logs: {} });
  const contents = new Contents({ storage, clock, crypto: nodeCrypto });
  const sweep = async (): Promise<void> => {
    for await (const _ of contents.sweep());
  };
  return { clock, data, storage, contents, sweep };
}

it.each(Array.from({ length: content.length }, (_, length) => length))(
  "a content of which a crash left %i bytes is whole when it is saved again, and stays so",
  async (length) => {
    const { storage, contents } = await opened();
    await storage.appendBlob(`snapshot-${hash}`, content.slice(0, length), 0);
    for (let round = 0; round < 2; round += 1) {
      expect(await contents.save("snapshot", content)).toBe(hash);
      expect(await contents.read("snapshot", hash)).toEqual(content);
    }
  },
);

it.each<ContentKind>(["module", "snapshot", "rollout"])(
  "a content of a kind of which nobody says what refers to it stays: %s",
  async (kind) => {
    const { clock, contents, sweep } = await opened();
    await contents.save(kind, content);
    // Others say so of theirs.
    for (const other of ["module", "snapshot", "rollout"] as const)
      if (other !== kind) contents.onReference(other, async () => false);
    await sweep();
    await clock.advance(longMs);
    await sweep();
    expect(await contents.read(kind, hash)).toEqual(content);
    expect(await contents.claim(kind, hash)).toBe(true);
  },
);

test("a storage that fails is told by whoever sweeps, and the next sweep removes what is loose", async () => {
  const { clock, data, storage, contents, sweep } = await opened();
  contents.onReference("snapshot", async () => false);
  await contents.save("snapshot", content);
  await sweep();
  await clock.advance(longMs);
  const commit = storage.commit.bind(storage);
  storage.commit = () => Promise.reject(new OrchestratorError("STORAGE_FULL"));
  await expect(sweep()).rejects.toMatchObject({ code: "STORAGE_FULL" });
  storage.commit = commit;
  await sweep();
  expect(data.blobs.size).toBe(0);
});

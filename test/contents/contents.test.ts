import { expect, it } from "vitest";
import { contentCollections, Contents } from "../../lib/contents/contents.ts";
import { toUtf8 } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Storage } from "../../lib/storage/storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { seededRandom } from "../support/random.ts";
import { VolatileDisk } from "../support/volatile-disk.ts";

const hourMs = 3_600_000;
const schema = {
  version: 1,
  collections: { users: { indexes: { by_hash: ["hash"] } }, ...contentCollections },
  logs: {},
};

async function opened(storage: Storage, clock: FakeClock) {
  await storage.open(schema);
  const contents = new Contents({ storage, clock, crypto: nodeCrypto });
  contents.onReference("snapshot", async (hash) => {
    const query = { index: "by_hash", equals: [hash], limit: 1 };
    return (await storage.list("users", query)).items.length > 0;
  });
  const sweep = async (): Promise<void> => {
    for await (const _ of contents.sweep());
  };
  const refer = (key: string, hash: string) =>
    storage.commit([{ kind: "put", collection: "users", key, value: { hash } }]);
  const leave = (key: string, hash: string) =>
    storage.commit([{ kind: "delete", collection: "users", key }, contents.loosen("snapshot", hash)]);
  return { storage, clock, contents, sweep, refer, leave };
}

it("a content stays while something refers to it, and an hour at least before and after that", async () => {
  const data = new MemoryData();
  const clock = new FakeClock();
  const { contents, sweep, refer, leave } = await opened(new MemoryStorage({ clock, data }), clock);
  const hash = await contents.save("snapshot", toUtf8("content"));
  const after = async (ms: number): Promise<boolean> => {
    await clock.advance(ms);
    await sweep();
    return data.blobs.size > 0;
  };
  expect(await after(0)).toBe(true);
  clock.jump(1_000 * hourMs);
  expect(await after(hourMs - 1)).toBe(true);
  await refer("a", hash);
  expect(await after(10 * hourMs)).toBe(true);
  expect(await after(10 * hourMs)).toBe(true);
  await leave("a", hash);
  expect(await after(0)).toBe(true);
  expect(await after(hourMs - 1)).toBe(true);
  // Whoever wants it again has an hour more.
  expect(await contents.claim("snapshot", hash)).toBe(true);
  expect(await after(hourMs - 1)).toBe(true);
  expect(await after(hourMs + 600_000)).toBe(false);
  expect(await contents.claim("snapshot", hash)).toBe(false);
  expect(await contents.save("snapshot", toUtf8("content"))).toBe(hash);
  expect(data.blobs.size).toBe(1);
});

it("a content that is claimed again while the claim before is fresh stays for an hour from then on", async () => {
  const data = new MemoryData();
  const clock = new FakeClock();
  const { contents, sweep } = await opened(new MemoryStorage({ clock, data }), clock);
  const hash = await contents.save("snapshot", toUtf8("content"));
  await sweep();
  await clock.advance(600_000 - 1);
  expect(await contents.claim("snapshot", hash)).toBe(true);
  await clock.advance(hourMs);
  await sweep();
  expect(data.blobs.size).toBe(1);
  await clock.advance(1);
  await sweep();
  expect(data.blobs.size).toBe(0);
});

it("many that save what they share while it is new cost two small commits, not one each", async () => {
  const data = new MemoryData();
  const clock = new FakeClock();
  const { contents, storage } = await opened(new MemoryStorage({ clock, data }), clock);
  const hash = await contents.save("snapshot", toUtf8("content"));
  for (let n = 0; n < 100; n++) expect(await contents.claim("snapshot", hash)).toBe(true);
  const [loose] = (await storage.list("loose_contents")).items;
  expect(loose?.revision).toBe(1);
});

it.each(Array.from({ length: 40 }, (_, seed) => seed))(
  "what is referred to is there, whoever saves, leaves and sweeps at the same time, seed %i",
  async (seed) => {
    const random = seededRandom(seed);
    const clock = new FakeClock();
    const disk = new VolatileDisk(random, Infinity);
    const storage = new FileStorage({ folder: "/data", disk, clock, segmentBytes: 65_536 });
    const { contents, sweep, refer, leave } = await opened(storage, clock);
    const user = async (name: string): Promise<void> => {
      for (let n = 0; n < 15; n++) {
        const content = toUtf8(`content ${Math.floor(random() * 3)}`);
        const known = Buffer.from(nodeCrypto.sha256(content)).toString("hex");
        const hash = (await contents.claim("snapshot", known))
          ? known
          : await contents.save("snapshot", content);
        await refer(name, hash);
        expect(await contents.read("snapshot", hash)).toEqual(content);
        for (let turn = Math.floor(random() * 8); turn > 0; turn--) await new Promise(setImmediate);
        await leave(name, hash);
        for (let turn = Math.floor(random() * 40); turn > 0; turn--) await new Promise(setImmediate);
      }
    };
    let isDone = false;
    const sweeper = async (): Promise<void> => {
      while (!isDone) {
        // Longer than a user takes from saving to referring, as an hour is.
        for (let turn = 0; turn < 12; turn++) await new Promise(setImmediate);
        await clock.advance(hourMs / 2);
        await sweep();
      }
    };
    const sweeping = sweeper();
    await Promise.all([user("a"), user("b")]);
    isDone = true;
    await sweeping;
    for (let round = 0; round < 3; round++) {
      await clock.advance(hourMs);
      await sweep();
    }
    expect(await disk.list("/data/blobs")).toEqual([]);
    await storage.close();
  },
);

it("a content that somebody else claims between the look for references and its removal stays", async () => {
  const clock = new FakeClock();
  const { storage, contents, sweep, refer } = await opened(new MemoryStorage({ clock }), clock);
  const hash = await contents.save("snapshot", toUtf8("content"));
  // As another process on the same storage: it shares no queue with the first.
  const others = new Contents({ storage, clock, crypto: nodeCrypto });
  others.onReference("snapshot", async () => false);
  let isRaced = false;
  contents.onReference("snapshot", async () => {
    isRaced = true;
    expect(await others.claim("snapshot", hash)).toBe(true);
    return false;
  });
  await sweep();
  await clock.advance(2 * hourMs);
  await sweep();
  expect(isRaced).toBe(true);
  await refer("a", hash);
  expect(await contents.read("snapshot", hash)).toEqual(toUtf8("content"));
});

it("a content that another process removes after its claim is loose again where it is saved once more", async () => {
  const data = new MemoryData();
  const clock = new FakeClock();
  const { storage, contents, sweep } = await opened(new MemoryStorage({ clock, data }), clock);
  const hash = await contents.save("snapshot", toUtf8("content"));
  const id = `snapshot-${hash}`;
  // The other one had seen it loose for long enough.
  await storage.commit([
    { kind: "delete", collection: "loose_contents", key: id },
    { kind: "dropBlob", id },
  ]);
  expect(await contents.save("snapshot", toUtf8("content"))).toBe(hash);
  await sweep();
  await clock.advance(2 * hourMs);
  await sweep();
  expect(data.blobs.size).toBe(0);
});

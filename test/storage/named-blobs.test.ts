/** A blob that a document names is there, or somebody is told: found with backups that were verified without it. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import { readArchive, writeArchive, type ArchivePart } from "../../lib/storage/file/archive.ts";
import { restoreBackup, verifyBackup } from "../../lib/storage/file/restore.ts";
import type { StorageSchema } from "../../lib/storage/storage.ts";
import { backupOrigin, backupSigner } from "../support/backups.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const schema: StorageSchema = {
  version: 1,
  collections: { things: { indexes: {}, blobs: { content: "thing" } } },
  logs: {},
};
const hashOf = (n: number): string => n.toString(16).padStart(64, "0");

async function opened(folder: string, acceptLoss = false, of = schema): Promise<FileStorage> {
  const storage = new FileStorage({ folder, segmentBytes: 65_536, acceptLoss });
  onTestFinished(() => storage.close());
  await storage.open(of);
  return storage;
}

async function fill(folder: string): Promise<FileStorage> {
  const storage = await opened(folder);
  // Its name is not its hash, so that the files need no content; the last document names what another names, too.
  for (const n of [1, 2, 2]) {
    await storage.commit([
      { kind: "put", collection: "things", key: `k${n}`, value: { content: hashOf(n) } },
    ]);
  }
  const other = { other: { content: hashOf(99) }, text: `"content":"${hashOf(98)}"`, content: "none" };
  await storage.commit([{ kind: "put", collection: "things", key: "user", value: other }]);
  return storage;
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}
async function* of(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

test("a backup without a blob that is named is refused, with the names; one that names none passes", async () => {
  const storage = await fill(temporaryFolder());
  await expect(collect(storage.backup.archive(backupSigner))).rejects.toMatchObject({
    code: "STORAGE_CORRUPT",
    message: expect.stringContaining(`are missing: thing-${hashOf(1)}, thing-${hashOf(2)}, in`),
  });
});

test("verify and restore refuse a backup that lacks one", async () => {
  const storage = await opened(temporaryFolder());
  await storage.appendBlob("empty", new Uint8Array(0));
  const archive = await collect(storage.backup.archive(backupSigner));
  expect(await verifyBackup(of(archive))).toMatchObject({ documents: 0 });
  // As one would have been written that did not look.
  const lacking = await fillWithout(archive);
  const folder = join(temporaryFolder(), "restored");
  for (const refused of [verifyBackup(of(lacking)), restoreBackup(of(lacking), folder, backupOrigin)])
    await expect(refused).rejects.toMatchObject({
      code: "STORAGE_CORRUPT",
      details: { entry: `blobs/thing-${hashOf(7)}.blob` },
    });
  expect(readdirSync(folder)).toEqual([]);
});

/** The archive with a document that names a blob. */
async function fillWithout(archive: Buffer): Promise<Buffer> {
  const { snapshotChunks, parseSnapshot } = await import("../../lib/storage/file/snapshot.ts");
  const parts: ArchivePart[] = [];
  for await (const part of readArchive(of(archive), () => {})) parts.push(part);
  async function* changed() {
    const documents = parts.filter(({ file }) => file === "db.json").map(({ bytes }) => bytes);
    const snapshot = parseSnapshot(Buffer.concat(documents), "db.json");
    snapshot.collections["things"] = [{ key: "k", revision: 1, value: { content: hashOf(7) } }];
    yield { file: "db.json", offset: 0, bytes: Buffer.concat([...snapshotChunks(snapshot)]) };
    for (const part of parts) if (part.file !== "db.json") yield part;
  }
  return collect(writeArchive(changed(), backupSigner));
}

test("a start without one is refused; with the loss accepted it goes on, can be backed up, and stays quiet", async () => {
  const folder = temporaryFolder();
  await (await fill(folder)).close();
  await expect(opened(folder)).rejects.toMatchObject({
    code: "STORAGE_CORRUPT",
    message: expect.stringContaining("--accept-loss"),
  });
  const storage = await opened(folder, true);
  expect(storage.losses.list()).toHaveLength(1);
  const archive = await collect(storage.backup.archive(backupSigner));
  await verifyBackup(of(archive));
  await storage.close();
  const target = join(temporaryFolder(), "restored");
  await restoreBackup(of(archive), target, backupOrigin);
  await (await opened(target)).close();
  const again = await opened(folder);
  expect((await again.get("things", "k1"))?.value["content"]).toBe(hashOf(1));
  await again.close();
  rmSync(join(folder, "blobs"), { recursive: true });
  await expect(opened(folder)).rejects.toMatchObject({ code: "STORAGE_CORRUPT" });
});

const nested: StorageSchema = {
  version: 1,
  collections: {
    things: { indexes: {}, blobs: { content: "thing", "state.snapshot": "shot", "a.b.snapshot": "deep" } },
  },
  logs: {},
};
test.each<[what: string, value: JsonObject, missing: string | null]>([
  ["at the top", { content: hashOf(1) }, `thing-${hashOf(1)}`],
  ["in a member", { state: { snapshot: hashOf(2) } }, `shot-${hashOf(2)}`],
  ["in a member of a member", { a: { b: { snapshot: hashOf(3) } } }, `deep-${hashOf(3)}`],
  [
    "behind one of that name that names none",
    { snapshot: hashOf(9), state: { snapshot: hashOf(2) } },
    `shot-${hashOf(2)}`,
  ],
  ["nowhere: that name stands at the top", { snapshot: hashOf(9) }, null],
  ["nowhere: that name stands in another member", { other: { snapshot: hashOf(9) }, state: {} }, null],
  ["nowhere: that name stands too deep", { state: { state: { snapshot: hashOf(9) } } }, null],
  ["nowhere: the hash is cut", { content: hashOf(1).slice(1), state: { snapshot: null } }, null],
])("a start misses the blob that is named %s", async (_what, value, missing) => {
  const folder = temporaryFolder();
  const storage = await opened(folder, false, nested);
  await storage.commit([{ kind: "put", collection: "things", key: "k", value }]);
  await storage.close();
  const outcome = await opened(folder, false, nested).then(
    () => null,
    (error: Error) => /are missing: (.*?)(,|\.| )/.exec(error.message)?.[1],
  );
  expect(outcome).toBe(missing);
});

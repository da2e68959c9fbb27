/** A data folder with something in every kind of file, and what can be read from it. */
import { readContent, saveContent } from "../../lib/contents/content-blob.ts";
import { toHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto as crypto } from "../../lib/crypto/node-crypto.ts";
import { FileStorage, type FileStorageOptions } from "../../lib/storage/file-storage.ts";
import type { LogPage, Storage, StorageSchema } from "../../lib/storage/storage.ts";

export const filledSchema: StorageSchema = {
  version: 1,
  collections: { agents: { indexes: { by_n: ["n"] } }, modules: { indexes: {} } },
  logs: { audit: { chained: true }, events: { chained: false } },
};

/** Small, so that little content makes many files. */
export const smallSizes = { segmentBytes: 16_384, minJournalBytes: 32_768, logSegmentBytes: 8_192 };

/** As the orchestrator stores them: by kind, named after their content. */
const blobKinds = ["module", "snapshot"];
const contentOfKind = (kind: string): Buffer => Buffer.from(`content of a ${kind} `.repeat(99));

/** Fills a folder and closes it: snapshot, several journal and log segments, blobs, a trimmed log. */
export async function fillFolder(options: FileStorageOptions): Promise<void> {
  const storage = new FileStorage({ ...smallSizes, ...options });
  await storage.open(filledSchema);
  for (let n = 1; n <= 200; n++) {
    await storage.commit([
      { kind: "put", collection: n % 3 === 0 ? "modules" : "agents", key: `k${n % 40}`, value: valueOf(n) },
      { kind: "append", log: n % 4 === 0 ? "events" : "audit", at: n, value: valueOf(n) },
    ]);
  }
  for (const kind of blobKinds) await saveContent({ storage, crypto }, kind, contentOfKind(kind));
  await storage.trimLog("audit", 20);
  await storage.close();
}

function valueOf(n: number) {
  return { n, text: `value ${n} `.repeat(1 + (n % 30)) };
}

/** Everything that a storage holds but its blobs, as JSON of one form. */
export async function contentOf(storage: Storage): Promise<string> {
  const documents = [];
  for (const collection of Object.keys(filledSchema.collections)) {
    documents.push((await storage.list(collection, { limit: 1_000 })).items);
  }
  const logs = [];
  for (const log of Object.keys(filledSchema.logs)) {
    for (let from: number | null = 1; from !== null;) {
      const page: LogPage = await storage.readLog(log, { from, limit: 1_000 });
      logs.push(page);
      from = page.next;
    }
  }
  return JSON.stringify({ documents, logs });
}

/** The blobs of a filled folder, as text. Throws `STORAGE_CORRUPT` where one is damaged. */
export async function blobsOf(storage: Storage): Promise<string[]> {
  const blobs = blobKinds.map((kind) => {
    const hash = toHex(crypto.sha256(contentOfKind(kind)));
    return readContent({ storage, crypto }, kind, hash);
  });
  return (await Promise.all(blobs)).map((bytes) => Buffer.from(bytes).toString("latin1"));
}

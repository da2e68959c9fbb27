import { onTestFinished } from "vitest";
import { FileStorage, type FileStorageOptions } from "../../lib/storage/file-storage.ts";
import type { StorageSchema, Write } from "../../lib/storage/storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";

/** What the tests of the file storage keep. */
export const schema: StorageSchema = {
  version: 1,
  collections: { agents: { indexes: {} } },
  logs: { audit: { chained: true } },
};

/** Opens a file storage that is closed when the test ends. */
export async function openStorage(
  options: FileStorageOptions,
  version = schema.version,
): Promise<FileStorage> {
  const storage = new FileStorage({ clock: new FakeClock(), segmentBytes: 64 * 1_024, ...options });
  onTestFinished(() => storage.close());
  await storage.open({ ...schema, version });
  return storage;
}

/** A put of an agent and an entry in the log, as a feature writes them. */
export function change(key: string, n: number, pad = ""): Write[] {
  return [
    { kind: "put", collection: "agents", key, value: { n, pad } },
    { kind: "append", log: "audit", at: n, value: { key, n } },
  ];
}

/** Data of every version that was ever written, opened for ever. A golden folder is never made anew: its form is the promise. */
import { cpSync, createReadStream, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import { restoreBackup, verifyBackup } from "../../lib/storage/file/restore.ts";
import type { StorageSchema } from "../../lib/storage/storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { backupOrigin } from "../support/backups.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const golden = join(import.meta.dirname, "golden");
const schema: StorageSchema = {
  version: 1,
  collections: { agents: { indexes: { by_rank: ["rank"] } }, modules: { indexes: {} } },
  logs: { audit: { chained: true }, events: { chained: false } },
};
/** The hash of the newest audit entry: over all of them. */
const headHash = "757e2e0eb3aeea5b054a3d6f0675e980067c6b581997fb3f024f15d2f258d301";

async function open(folder: string): Promise<FileStorage> {
  const storage = new FileStorage({ folder, clock: new FakeClock() });
  onTestFinished(() => storage.close());
  await storage.open(schema);
  return storage;
}

async function expectContent(storage: FileStorage): Promise<void> {
  const { items } = await storage.list("agents", { index: "by_rank" });
  expect(items.map((item) => item.value["rank"])).toEqual([21, 22, 24, 25, 26, 27, 28, 29, 30]);
  expect(items[0]).toEqual({
    key: 'agent "1" ü',
    revision: 3,
    value: { rank: 21, tags: { env: "prod" }, pad: "x".repeat(120) },
  });
  const audit = await storage.readLog("audit");
  expect(audit.entries.map((entry) => entry.sequence)).toEqual(Array.from({ length: 23 }, (_, n) => n + 8));
  expect(audit.head).toEqual({ sequence: 30, hash: headHash });
  const [first] = (await storage.readLog("events")).entries;
  expect(first).toEqual({ sequence: 1, at: 1, value: { n: 1, text: "a\nb" }, hash: null });
  expect(Buffer.from((await storage.readBlob("transcript")) ?? []).toString()).toBe("first second");
  expect(await storage.readBlob("Odd/../id")).toEqual(new Uint8Array([0, 255]));
}

describe.each(readdirSync(golden))("data written by %s", (version) => {
  test("is opened, used and opened again", async () => {
    const folder = temporaryFolder();
    cpSync(join(golden, version, "folder"), folder, { recursive: true });
    const storage = await open(folder);
    await expectContent(storage);
    await storage.commit([{ kind: "put", collection: "modules", key: "new", value: {} }]);
    await storage.close();
    await expectContent(await open(folder));
  });

  test("in a backup is verified and restored", async () => {
    const archive = () => createReadStream(join(golden, version, "fleet.backup"));
    const origin = version === "v1" ? { unsigned: true } : backupOrigin;
    const folder = temporaryFolder();
    mkdirSync(join(folder, "data"));
    const summary = await restoreBackup(archive(), join(folder, "data"), origin);
    expect(summary).toEqual(await verifyBackup(archive()));
    expect(summary.orchestrator_key).toBe(version === "v1" ? null : backupOrigin.orchestratorKey);
    await expectContent(await open(join(folder, "data")));
  });
});

import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FileStorage } from "../../lib/storage/file-storage.ts";
import { restoreBackup, verifyBackup } from "../../lib/storage/file/restore.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { backupOrigin, backupSigner } from "../support/backups.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { seededRandom } from "../support/random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const minute = 60_000;
const owners = ["a", "b", "Ü c"];
const all = { from: 0, to: 1e15 };

/** A fleet that sends samples: the n-th of each agent is of second n. */
class Ingest {
  readonly clock = new FakeClock();
  readonly folder = temporaryFolder();
  readonly storage: Promise<FileStorage>;
  count = 0;

  constructor(rawSamplesMs = 1e12) {
    this.storage = openStorage({ folder: this.folder, clock: this.clock, rawSamplesMs });
  }

  async send(samples: number): Promise<void> {
    const storage = await this.storage;
    for (let left = samples; left > 0; left--) {
      const row = rowOf(++this.count);
      for (const owner of owners) await storage.series.append(owner, [row]);
    }
  }

  /** Lets time pass, and what is due by then be done. */
  async pass(ms: number): Promise<void> {
    const { series } = await this.storage;
    for (const part of [ms, 1_000]) {
      await this.clock.advance(part);
      // It runs behind the upkeep that the clock began.
      await series.trim("nobody");
    }
  }
}

/** Numbers of several kinds, which must come back to the last bit. */
function rowOf(n: number): { at: number; values: Record<string, number> } {
  const values = { whole: n, tenth: n / 10, odd: Math.sqrt(n), ...(n % 3 === 0 && { rare: -n }) };
  return { at: n * 1_000, values };
}

async function* backUp(storage: FileStorage, between = async (): Promise<void> => {}) {
  for await (const piece of storage.backup.archive(backupSigner)) {
    yield piece;
    await between();
  }
}

async function inMemory(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = [];
  for await (const piece of pieces) found.push(piece);
  return Buffer.concat(found);
}

async function* inPieces(bytes: Buffer, size = 5_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** How many samples of each owner a restored backup holds: all from the first on, each as it was sent. */
async function restoredCounts(archive: Buffer): Promise<number[]> {
  const folder = join(mkdtempSync(join(temporaryFolder(), "x")), "restored");
  const summary = await restoreBackup(inPieces(archive), folder, backupOrigin);
  expect(await verifyBackup(inPieces(archive, 70_000))).toEqual(summary);
  expect(summary).toMatchObject({ series_damages: 0 });
  const restored = await openStorage({ folder });
  const counts: number[] = [];
  for (const owner of owners) {
    const found = await restored.series.query(owner, all);
    const rows = (found["whole"] ?? []).map((_, index) => rowOf(index + 1));
    for (const name of ["whole", "tenth", "odd", "rare"]) {
      const expected = rows.filter(({ values }) => name in values);
      const points = found[name] ?? [];
      expect(points.map(({ at, mean }) => [at, mean])).toEqual(
        expected.map(({ at, values }) => [at, values[name]]),
      );
    }
    counts.push(rows.length);
  }
  await restored.series.append("a", [rowOf(1)]);
  await restored.close();
  return counts;
}

describe("time series in a backup", () => {
  test("are there to the last bit, wherever they lay, although agents go on sending", async () => {
    const ingest = new Ingest();
    const storage = await ingest.storage;
    for (let turn = 0; turn < 40; turn++) {
      await ingest.send(25);
      await ingest.pass(10 * minute);
    }
    await ingest.send(7);
    const tiers = readdirSync(join(ingest.folder, "series")).map((name) => name.replace(/-.*/, ""));
    expect(new Set(tiers)).toEqual(new Set(["heads", "recent", "raw"]));
    const before = ingest.count;
    const archive = await inMemory(
      backUp(storage, async () => {
        await ingest.send(5);
        await ingest.pass(30 * minute);
      }),
    );
    expect(ingest.count).toBeGreaterThan(before + 20);
    for (const count of await restoredCounts(archive)) expect(count).toBeGreaterThanOrEqual(before);
  });

  test.each(Array.from({ length: 12 }, (_, seed) => seed))(
    "are one run without a gap, whatever is sealed and merged meanwhile, seed %i",
    async (seed) => {
      const random = seededRandom(seed);
      const ingest = new Ingest();
      const storage = await ingest.storage;
      const live = async (): Promise<void> => {
        for (let turn = Math.floor(random() * 4); turn > 0; turn--) {
          await ingest.send(Math.floor(random() * 9));
          await ingest.pass([1_000, 10 * minute, 40 * minute, 150 * minute][Math.floor(random() * 4)] ?? 0);
        }
      };
      for (let round = 0; round < 3; round++) {
        for (let turn = 0; turn < 6; turn++) await live();
        const before = ingest.count;
        // Between the pieces and, once, at any moment beside them.
        const beside = round === 1 ? live() : Promise.resolve();
        const archive = await inMemory(backUp(storage, live));
        await beside;
        for (const count of await restoredCounts(archive)) expect(count).toBeGreaterThanOrEqual(before);
      }
    },
  );

  test("keep what was trimmed out of it, and points of what was thinned", async () => {
    const ingest = new Ingest(60 * minute);
    const storage = await ingest.storage;
    await ingest.send(600);
    for (let turn = 0; turn < 100; turn++) await ingest.pass(10 * minute);
    await ingest.send(10);
    await ingest.pass(20 * minute);
    await storage.series.trim("a", 605_000);
    await storage.series.trim("b");
    const folder = join(temporaryFolder(), "restored");
    await restoreBackup(backUp(storage), folder, backupOrigin);
    const restored = await openStorage({ folder });
    for (const owner of owners) {
      expect(await restored.series.query(owner, all)).toEqual(await storage.series.query(owner, all));
    }
    expect((await restored.series.query("a", all))["whole"]?.map(({ mean }) => mean)).toEqual([
      605, 606, 607, 608, 609, 610,
    ]);
    expect(await restored.series.query("b", all)).toEqual({});
    expect((await restored.series.query("Ü c", all))["whole"]?.[0]).toMatchObject({ min: 1, max: 299 });
  });

  test("are left after a restart with nothing new to write", async () => {
    const ingest = new Ingest();
    await ingest.send(3);
    await ingest.pass(11 * minute);
    const storage = await ingest.storage;
    await storage.series.trim("a", 2_000);
    await storage.close();
    const again = await openStorage({ folder: ingest.folder, clock: ingest.clock });
    const folder = join(temporaryFolder(), "restored");
    await restoreBackup(backUp(again), folder, backupOrigin);
    const restored = await openStorage({ folder });
    expect((await restored.series.query("a", all))["whole"]?.map(({ mean }) => mean)).toEqual([2, 3]);
  });

  test("that are damaged are counted and keep nobody from the rest", async () => {
    const ingest = new Ingest();
    const storage = await ingest.storage;
    for (let turn = 0; turn < 3; turn++) {
      await ingest.send(20);
      await ingest.pass(10 * minute);
    }
    await storage.commit(change("agent", 1));
    const [name = ""] = readdirSync(join(ingest.folder, "series")).filter((file) =>
      file.startsWith("recent"),
    );
    const path = join(ingest.folder, "series", name);
    const bytes = readFileSync(path);
    bytes[bytes.length - 5] = (bytes.at(-5) ?? 0) ^ 1;
    bytes[2] = 0;
    writeFileSync(path, bytes);
    const archive = await inMemory(backUp(storage));
    const summary = await verifyBackup(inPieces(archive));
    expect(summary.series_damages).toBe(2);
    const folder = join(temporaryFolder(), "restored");
    expect(await restoreBackup(inPieces(archive), folder, backupOrigin)).toEqual(summary);
    const restored = await openStorage({ folder });
    expect((await restored.get("agents", "agent"))?.value["n"]).toBe(1);
    expect((await restored.series.query("b", all))["whole"]?.length).toBeGreaterThan(15);
  });

  test("keep no file longer than it takes, also when it is given up", async () => {
    const ingest = new Ingest();
    const storage = await ingest.storage;
    await ingest.send(20);
    await ingest.pass(11 * minute);
    const pieces = storage.backup.archive(backupSigner)[Symbol.asyncIterator]();
    await pieces.next();
    await pieces.next();
    for (const owner of owners) await storage.series.trim(owner);
    await ingest.pass(2 * minute);
    const chunks = () =>
      readdirSync(join(ingest.folder, "series")).filter((name) => name.endsWith(".chunks"));
    expect(chunks()).not.toEqual([]);
    await pieces.return?.();
    await ingest.pass(2 * minute);
    expect(chunks()).toEqual([]);
  });

  test("end with the storage that is closed under it", async () => {
    const ingest = new Ingest();
    const storage = await ingest.storage;
    await ingest.send(20);
    await ingest.pass(11 * minute);
    const pieces = storage.backup.archive(backupSigner)[Symbol.asyncIterator]();
    let piece = await pieces.next();
    while (!Buffer.from(piece.value ?? []).includes('"file":"series/')) piece = await pieces.next();
    await storage.close();
    await expect(pieces.next()).rejects.toMatchObject({ code: "STORAGE_CLOSED" });
  });
});

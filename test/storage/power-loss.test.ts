import { expect, test } from "vitest";
import { chainHash } from "../../lib/storage/hash-chain.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import type { LogEntry, LogPage, Storage, StorageSchema } from "../../lib/storage/storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { seededRandom } from "../support/random.ts";
import { VolatileDisk } from "../support/volatile-disk.ts";

const schema: StorageSchema = {
  version: 1,
  collections: { counters: { indexes: { by_n: ["n"] } } },
  logs: { audit: { chained: true } },
};
const writers = ["a", "b", "c", "d"];
// Small, so that a life of a few hundred changes sees many segments and snapshots.
const sizes = { segmentBytes: 3_000, minJournalBytes: 4_000, logSegmentBytes: 1_500 };

/** What was promised to the writers, over all lives of one disk. */
class Promised {
  readonly counts = new Map<string, number>();
  readonly tried = new Map<string, number>();
  trimmed = 0;
  blob = Buffer.alloc(0);
}

async function write(
  storage: Storage,
  writer: string,
  promised: Promised,
  random: () => number,
): Promise<void> {
  for (;;) {
    const n = (promised.counts.get(writer) ?? 0) + 1;
    promised.tried.set(writer, n);
    const pad = "x".repeat(Math.floor(random() * 700));
    await storage.commit([
      { kind: "put", collection: "counters", key: writer, value: { n, pad }, expected: n - 1 },
      { kind: "append", log: "audit", at: n, value: { writer, n } },
    ]);
    promised.counts.set(writer, n);
  }
}

async function trimAndAppend(storage: Storage, promised: Promised, random: () => number): Promise<void> {
  for (;;) {
    const { head } = await storage.readLog("audit", { limit: 1 });
    const before = Math.floor(head.sequence * random());
    await storage.trimLog("audit", before);
    promised.trimmed = Math.max(promised.trimmed, before - 1);
    const bytes = Buffer.from(`[${head.sequence}]`.repeat(60));
    await storage.appendBlob("transcript", bytes);
    promised.blob = Buffer.concat([promised.blob, bytes]);
  }
}

async function allEntries(storage: Storage): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for (let from: number | null = 1; from !== null;) {
    const page: LogPage = await storage.readLog("audit", { from, limit: 1_000 });
    entries.push(...page.entries);
    from = page.next;
  }
  return entries;
}

async function check(storage: Storage, promised: Promised): Promise<void> {
  const { base, head } = await storage.readLog("audit", { limit: 1 });
  const entries = await allEntries(storage);
  expect(base.sequence).toBeGreaterThanOrEqual(promised.trimmed);
  let previous = base;
  for (const entry of entries) {
    expect(entry.sequence).toBe(previous.sequence + 1);
    expect(entry.hash).toBe(chainHash(previous.hash ?? "", entry));
    previous = entry;
  }
  expect(previous.sequence).toBe(head.sequence);
  let total = 0;
  for (const writer of writers) {
    const stored = (await storage.get<{ n: number }>("counters", writer))?.value.n ?? 0;
    expect(stored).toBeGreaterThanOrEqual(promised.counts.get(writer) ?? 0);
    expect(stored).toBeLessThanOrEqual(promised.tried.get(writer) ?? 0);
    const logged = entries
      .filter((entry) => entry.value["writer"] === writer)
      .map((entry) => entry.value["n"]);
    // Each commit wrote its document and its entry together: what is not trimmed runs up to the document, once each.
    expect(logged).toEqual(logged.map((_, index) => stored - logged.length + 1 + index));
    promised.counts.set(writer, stored);
    total += stored;
  }
  expect(head.sequence).toBe(total);
  const blob = Buffer.from((await storage.readBlob("transcript")) ?? []);
  expect(blob.subarray(0, promised.blob.length).equals(promised.blob)).toBe(true);
  // What was being appended may be there in part.
  promised.blob = blob;
}

const seeds = Array.from({ length: 100 }, (_, seed) => seed);

test.each(seeds)("nothing that was promised is lost when the power fails, seed %i", async (seed) => {
  const random = seededRandom(seed);
  const promised = new Promised();
  let disk = new VolatileDisk(random, Math.floor(random() * 150));
  for (let life = 0; life < 5; life++) {
    const storage = new FileStorage({ folder: "/data", clock: new FakeClock(), disk, ...sizes });
    const work = (async () => {
      await storage.open(schema);
      await check(storage, promised);
      const writing = writers.map((writer) => write(storage, writer, promised, random));
      await Promise.all([...writing, trimAndAppend(storage, promised, random)]);
    })();
    await Promise.race([disk.lost, work]);
    disk = disk.afterPowerLoss(Math.floor(random() * 250));
  }
  const last = new FileStorage({
    folder: "/data",
    clock: new FakeClock(),
    disk: disk.afterPowerLoss(Infinity),
    ...sizes,
  });
  await last.open(schema);
  await check(last, promised);
  await last.close();
});

/**
 * Durable commits a second, beside what the disk can do in the same run: `node --import tsx test/bench/storage.ts`.
 *
 * Absolute figures depend on the machine and its neighbours; the ratios are the result. What is compared runs in turns, a
 * ratio is taken within each round, and the median of five rounds is printed.
 */
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import type { Storage, StorageSchema, Write } from "../../lib/storage/storage.ts";

const rounds = 5;
const roundMs = 600;
const rawBytes = 400;
const schema: StorageSchema = {
  version: 1,
  collections: { agents: { indexes: { by_status: ["status", "seen_at"] } } },
  logs: {},
};

function agent(n: number): Write {
  const key = `agent-${String(n).padStart(6, "0")}`;
  const tags = { env: n % 2 === 0 ? "prod" : "test", role: "web", rack: `r${n % 40}` };
  const value = {
    node_id: key,
    status: "approved",
    seen_at: n,
    tags,
    platform: "linux",
    note: "x".repeat(120),
  };
  return { kind: "put", collection: "agents", key, value };
}

/** The floor: a loop of pwrite and fdatasync into a preallocated file, in this process. */
async function rawRate(folder: string): Promise<number> {
  const size = 8 << 20;
  const file = openSync(join(folder, "raw"), "w+");
  writeSync(file, Buffer.alloc(size));
  fsyncSync(file);
  const record = Buffer.alloc(rawBytes, 65);
  const rate = await rateOf(async (n) => {
    writeSync(file, record, 0, rawBytes, (n * rawBytes) % (size - rawBytes));
    fdatasyncSync(file);
  });
  closeSync(file);
  return rate;
}

async function rateOf(step: (n: number) => Promise<unknown>, writers = 1): Promise<number> {
  let count = 0;
  const start = performance.now();
  const write = async (): Promise<void> => {
    while (performance.now() - start < roundMs) await step(count++);
  };
  await Promise.all(Array.from({ length: writers }, write));
  return (count / (performance.now() - start)) * 1_000;
}

async function opened(folder: string, documents: number): Promise<Storage> {
  const storage = new FileStorage({ folder: join(folder, `documents-${documents}`), clock: systemClock });
  await storage.open(schema);
  for (let n = 0; n < documents; n += 500) {
    await storage.commit(Array.from({ length: 500 }, (_, index) => agent(n + index)));
  }
  return storage;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

const folder = await mkdtemp(join(tmpdir(), "fleetwright-bench-"));
try {
  const small = await opened(folder, 1_000);
  const large = await opened(folder, 100_000);
  const measures: Record<string, () => Promise<number>> = {
    raw: () => rawRate(folder),
    one: () => rateOf((n) => small.commit([agent(n % 1_000)])),
    large: () => rateOf((n) => large.commit([agent((n * 7_919) % 100_000)])),
    many: () => rateOf((n) => small.commit([agent(n % 1_000)]), 64),
  };
  const results: Record<string, number[]> = {};
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of Object.entries(measures)) (results[name] ??= []).push(await measure());
  }
  const rate = (name: string): string => median(results[name] ?? []).toFixed(0);
  const ratio = (name: string, base: string): number =>
    median((results[name] ?? []).map((value, round) => value / (results[base]?.[round] ?? NaN)));
  const print = (name: string, value: string): void =>
    void process.stdout.write(`${name.padEnd(44)} ${value}\n`);
  print("raw preallocated pwrite + fdatasync, per s", rate("raw"));
  print("1 writer, commits per s", `${rate("one")}: ${ratio("one", "raw").toFixed(2)} x raw`);
  print("64 writers, commits per s", `${rate("many")}: ${ratio("many", "one").toFixed(1)} x 1 writer`);
  print("1 writer at 100,000 documents", `${rate("large")}: ${ratio("large", "one").toFixed(2)} x at 1,000`);
  await small.close();
  await large.close();
  const start = performance.now();
  const again = new FileStorage({ folder: join(folder, "documents-100000"), clock: systemClock });
  await again.open(schema);
  print("start with 100,000 documents, ms", (performance.now() - start).toFixed(0));
  await again.close();
} finally {
  await rm(folder, { recursive: true });
}

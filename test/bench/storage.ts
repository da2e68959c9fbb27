/**
 * Durable commits a second, beside what the disk can do in the same run: `node --import tsx test/bench/storage.ts`.
 *
 * Absolute figures depend on the machine and its neighbours; the ratios are the result. What is compared runs in turns, a
 * ratio is taken within each round, and the median of five rounds is printed.
 */
import { closeSync, existsSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import type { DocumentPage, Storage, StorageSchema, Write } from "../../lib/storage/storage.ts";

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

/** Starts, and starts with the first list after them, beside JSON.parse of the same documents in one text. */
async function startRatios(folder: string) {
  const starts: { ms: number; listedMs: number; parseMs: number }[] = [];
  let text = "";
  for (let round = 0; round < rounds + 1; round++) {
    const begun = performance.now();
    const storage = new FileStorage({ folder, clock: systemClock });
    await storage.open(schema);
    const ms = performance.now() - begun;
    await storage.list("agents", { index: "by_status" });
    const listedMs = performance.now() - begun;
    if (text === "") text = JSON.stringify(await allOf(storage));
    await storage.close();
    const parsing = performance.now();
    JSON.parse(text);
    // The first round warms up.
    if (round > 0) starts.push({ ms, listedMs, parseMs: performance.now() - parsing });
  }
  return {
    ms: median(starts.map((each) => each.ms)),
    listedMs: median(starts.map((each) => each.listedMs)),
    ratio: median(starts.map((each) => each.ms / each.parseMs)),
    listedRatio: median(starts.map((each) => each.listedMs / each.parseMs)),
  };
}

async function allOf(storage: Storage): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let after: string | null = ""; after !== null;) {
    const page: DocumentPage = await storage.list("agents", { limit: 1_000, ...(after !== "" && { after }) });
    all.push(...page.items);
    after = page.next;
  }
  return all;
}

/** How long the event loop is held up while a snapshot is written beside the commits of one writer, in milliseconds. */
async function stallOfSnapshot(folder: string): Promise<{ p99: number; max: number }> {
  const storage = new FileStorage({ folder, clock: systemClock });
  await storage.open(schema);
  const draft = join(folder, "db.json.tmp");
  for (let n = 0; !existsSync(draft); n += 500) {
    await storage.commit(Array.from({ length: 500 }, (_, index) => agent((n + index) % 100_000)));
  }
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  for (let n = 0; existsSync(draft); n++) await storage.commit([agent(n)]);
  delay.disable();
  await storage.close();
  return { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 };
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
  const start = await startRatios(join(folder, "documents-100000"));
  print(
    "start with 100,000 documents, ms",
    `${start.ms.toFixed(0)}: ${start.ratio.toFixed(2)} x JSON.parse of them`,
  );
  print(
    "start and a list by an index, ms",
    `${start.listedMs.toFixed(0)}: ${start.listedRatio.toFixed(2)} x JSON.parse`,
  );
  const stall = await stallOfSnapshot(join(folder, "documents-100000"));
  print(
    "stall while 100,000 documents are saved, ms",
    `p99 ${stall.p99.toFixed(1)}, longest ${stall.max.toFixed(1)}`,
  );
} finally {
  await rm(folder, { recursive: true });
}

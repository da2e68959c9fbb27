/**
 * The file storage beside what the disk and Node can do in the same run: `npm run bench -- storage`.
 *
 * Absolute figures depend on the machine and its neighbours; the ratios are the result. What is compared runs in turns, a
 * ratio is taken within each round, and the median of all rounds is printed, one line a goal with its baseline beside it.
 */
import { closeSync, existsSync, fdatasyncSync, fsyncSync, openSync, statSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { DocumentPage, Storage, StorageSchema, Write } from "../../lib/storage/storage.ts";
import "./use-build.ts";

const { systemClock } = await import("../../lib/clock.ts");
const { FileStorage } = await import("../../lib/storage/file-storage.ts");

const rounds = 9;
const roundMs = 400;
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

/** Made ahead, so that only the storage is measured. */
function preparedWrites(count: number, step: number): Write[][] {
  return Array.from({ length: count }, (_, n) => [agent((n * step) % 100_000)]);
}

/** Starts, and starts with the first list after them, beside JSON.parse of the same documents in one text. */
async function startRatios(folder: string) {
  const starts: { ms: number; listedMs: number; parseMs: number }[] = [];
  let text = "";
  for (let round = 0; round < rounds + 1; round++) {
    globalThis.gc?.();
    const begun = performance.now();
    const storage = new FileStorage({ folder, clock: systemClock });
    await storage.open(schema);
    const ms = performance.now() - begun;
    await storage.list("agents", { index: "by_status" });
    const listedMs = performance.now() - begun;
    if (text === "") text = JSON.stringify(await allOf(storage));
    await storage.close();
    globalThis.gc?.();
    const parsing = performance.now();
    JSON.parse(text);
    // The first round warms up.
    if (round > 0) starts.push({ ms, listedMs, parseMs: performance.now() - parsing });
  }
  return {
    ms: median(starts.map((each) => each.ms)),
    parseMs: median(starts.map((each) => each.parseMs)),
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

/** Changes documents until the journal is nearly as large as the snapshot, when a start has most to read. */
async function fillJournal(folder: string): Promise<void> {
  const storage = new FileStorage({ folder, clock: systemClock });
  await storage.open(schema);
  const bytes = statSync(join(folder, "db.json")).size * 0.7;
  const documentBytes = JSON.stringify(agent(0)).length;
  for (let n = 0; n * documentBytes < bytes; n += 500) {
    await storage.commit(Array.from({ length: 500 }, (_, index) => agent((n + index) % 100_000)));
  }
  await storage.close();
}

function print(name: string, value: string, goal = ""): void {
  process.stdout.write(`${name.padEnd(52)} ${value.padEnd(44)} ${goal}`.trimEnd().concat("\n"));
}

async function measureCommits(folder: string): Promise<void> {
  const small = await opened(folder, 1_000);
  const large = await opened(folder, 100_000);
  const [few, spread] = [preparedWrites(1_000, 1), preparedWrites(10_000, 7_919)];
  const commitTo = (storage: Storage, writes: Write[][]) => (n: number) =>
    storage.commit(writes[n % writes.length] ?? []);
  const measures: Record<string, () => Promise<number>> = {
    raw: () => rawRate(folder),
    one: () => rateOf(commitTo(small, few)),
    large: () => rateOf(commitTo(large, spread)),
    many: () => rateOf(commitTo(small, few), 64),
  };
  const results: Record<string, number[]> = {};
  for (let round = -1; round < rounds; round++) {
    for (const [name, measure] of Object.entries(measures)) {
      const result = await measure();
      // The first round warms up.
      if (round >= 0) (results[name] ??= []).push(result);
    }
  }
  await small.close();
  await large.close();
  const rate = (name: string): string => median(results[name] ?? []).toFixed(0);
  const ratio = (name: string, base: string): number =>
    median((results[name] ?? []).map((value, round) => value / (results[base]?.[round] ?? NaN)));
  const compare = (name: string, base: string): string =>
    `${ratio(name, base).toFixed(2)} (${rate(name)} against ${rate(base)} per s)`;
  print("1 writer / raw pwrite + fdatasync, preallocated", compare("one", "raw"), "goal >= 0.90");
  print("64 writers / 1 writer", compare("many", "one"), "goal >= 20");
  const cost = ratio("one", "large").toFixed(2);
  print(
    "cost of a commit at 100,000 documents / at 1,000",
    `${cost} (${rate("large")} against ${rate("one")} per s)`,
    "goal <= 1.10",
  );
}

async function measureStart(name: string, folder: string): Promise<void> {
  const { ms, parseMs, ratio, listedMs, listedRatio } = await startRatios(folder);
  const against = `against ${parseMs.toFixed(0)} ms)`;
  print(`${name} / JSON.parse`, `${ratio.toFixed(2)} (${ms.toFixed(0)} ${against}`, "goal <= 1.10");
  print("... and a list by an index", `${listedRatio.toFixed(2)} (${listedMs.toFixed(0)} ${against}`);
}

const folder = await mkdtemp(join(tmpdir(), "fleetwright-bench-"));
try {
  await measureCommits(folder);
  const large = join(folder, "documents-100000");
  const { p99, max } = await stallOfSnapshot(large);
  print(
    "stall of the event loop while 100,000 are saved",
    `p99 ${p99.toFixed(1)} ms, longest ${max.toFixed(1)} ms`,
    "goal p99 < 20 ms",
  );
  await measureStart("start, 100,000 documents, just saved", large);
  await fillJournal(large);
  await measureStart("start, 100,000 documents, longest journal", large);
} finally {
  await rm(folder, { recursive: true });
}

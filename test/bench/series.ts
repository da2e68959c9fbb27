/**
 * Time series in files: size, reading, taking in, memory. `node --expose-gc --import tsx test/bench/series.ts`.
 *
 * Sizes do not depend on the machine; times do. The clock is a fake one, so that hours of a fleet pass as fast as they can.
 */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../lib/logger.ts";
import { nodeDisk } from "../../lib/storage/file/disk.ts";
import { decodeChunk } from "../../lib/storage/file/series/chunk.ts";
import { FileSeries } from "../../lib/storage/file/series/file-series.ts";
import { scanFrames } from "../../lib/storage/file/series/frames.ts";
import { Head } from "../../lib/storage/file/series/head.ts";
import type { SampleRow } from "../../lib/storage/storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { firstRows, rowMs } from "./series-data.ts";

const dayMs = 86_400_000;
const seriesCount = 20;

function print(name: string, value: string): void {
  process.stdout.write(`${name.padEnd(56)} ${value}\n`);
}

async function opened(folder: string, clock: FakeClock, disk = nodeDisk): Promise<FileSeries> {
  const times = { rawMs: 2 * dayMs, pointsMs: 30 * dayMs };
  const series = new FileSeries({
    disk,
    folder,
    clock,
    logger: silentLogger,
    check: () => {},
    ...times,
  });
  await series.open();
  return series;
}

async function bytesOf(folder: string, tier: string): Promise<number> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(tier));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Milliseconds of the fastest of some runs: the others had neighbours. */
async function fastest(step: () => unknown): Promise<number> {
  let best = Infinity;
  for (let run = 0; run < 20; run++) {
    const start = performance.now();
    await step();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

/** 26 hours of some agents: what 24 hours of whole chunks take, and how long it takes to read them. */
async function sizeAndReading(folder: string): Promise<void> {
  const agents = 10;
  const hours = 26;
  const clock = new FakeClock();
  const series = await opened(folder, clock);
  const rows = Array.from({ length: agents }, (_, agent) => firstRows(agent, (hours * 3_600_000) / rowMs));
  for (let row = 0; row < (rows[0]?.length ?? 0); row++) {
    for (let agent = 0; agent < agents; agent++) {
      await series.append(`agent-${agent}`, rows[agent]?.slice(row, row + 1) ?? []);
    }
    await clock.advance(rowMs);
    await series.upkeep();
  }
  let samples = 0;
  const ofOne: Uint8Array[] = [];
  for (const name of (await readdir(folder)).filter((name) => name.startsWith("raw")).sort()) {
    const file = await nodeDisk.open(join(folder, name), "read");
    for await (const frame of scanFrames(file)) {
      if ("isInside" in frame) throw new Error("The bench wrote a damaged file.");
      // The index.
      if (frame.head.length === 0) continue;
      samples += decodeChunk(frame.body).times.length * seriesCount;
      if (Buffer.from(frame.head).includes("agent-7")) ofOne.push(Uint8Array.from(frame.body));
    }
    await file.close();
  }
  const jsonLines = rows.flat().reduce((sum, row) => sum + JSON.stringify(row).length + 1, 0);
  const rowCount = agents * (rows[0]?.length ?? 0);
  const day = ofOne.slice(0, 12);
  const from = rows[7]?.[0]?.at ?? 0;
  const query = { from, to: from + dayMs };
  print("bytes a sample, files of 2 h chunks", ((await bytesOf(folder, "raw")) / samples).toFixed(3));
  print("bytes a sample, JSON lines", (jsonLines / rowCount / seriesCount).toFixed(1));
  print(
    "24 h of one agent decoded, ms",
    (await fastest(() => day.map((body) => decodeChunk(body)))).toFixed(2),
  );
  const stepped = await fastest(() => series.query("agent-7", { ...query, stepMs: 300_000 }));
  print("24 h of one agent queried by 5 minutes, ms", stepped.toFixed(1));
  print(
    "24 h of one agent queried as sampled, ms",
    (await fastest(() => series.query("agent-7", query))).toFixed(1),
  );
  const one = { ...query, stepMs: 300_000, series: ["cpu.user"] };
  print(
    "24 h of one series queried by 5 minutes, ms",
    (await fastest(() => series.query("agent-7", one))).toFixed(1),
  );
  await series.close();
  await start(folder, clock);
}

/** What a start reads of the chunks that are stored; beside that, the heads of the last minutes. */
async function start(folder: string, clock: FakeClock): Promise<void> {
  const disk = new LimitedDisk();
  const begun = performance.now();
  const series = await opened(folder, clock, disk);
  const ms = performance.now() - begun;
  const chunks = [...disk.bytesRead].filter(([path]) => path.endsWith(".chunks"));
  const read = chunks.reduce((sum, [, bytes]) => sum + bytes, 0);
  let stored = 0;
  for (const tier of ["coarse", "raw", "recent"]) stored += await bytesOf(folder, tier);
  const share = ((100 * read) / stored).toFixed(1);
  print("start, ms", `${ms.toFixed(0)}, reading ${share} % of ${stored} bytes of chunks`);
  await series.close();
}

/** A large fleet for some minutes of its time. */
async function takingIn(folder: string): Promise<void> {
  const agents = 10_000;
  const minutes = 20;
  const clock = new FakeClock();
  const series = await opened(folder, clock);
  const kinds = Array.from({ length: 50 }, (_, agent) => firstRows(agent, minutes * 4));
  const memory = memoryInUse();
  const secondsPerRow = rowMs / 1_000;
  const started = process.cpuUsage();
  const startedAt = performance.now();
  for (let second = 0; second < minutes * 60; second++) {
    const row = Math.floor(second / secondsPerRow);
    const waiting: Promise<void>[] = [];
    for (let agent = second % secondsPerRow; agent < agents; agent += secondsPerRow) {
      const kind = kinds[agent % kinds.length] as SampleRow[];
      waiting.push(series.append(`agent-${agent}`, kind.slice(row, row + 1)));
    }
    await Promise.all(waiting);
    await clock.advance(1_000);
    await series.upkeep();
  }
  const { user, system } = process.cpuUsage(started);
  const cpuMs = (user + system) / 1_000;
  print(
    `taking in ${agents} agents x ${seriesCount} series, % of one core`,
    (cpuMs / (minutes * 600)).toFixed(2),
  );
  print("  the same by elapsed time, %", ((performance.now() - startedAt) / (minutes * 600)).toFixed(2));
  print("memory of one agent in all, bytes", ((memoryInUse() - memory) / agents).toFixed(0));
  await series.close();
  await start(folder, clock);
}

/** Full heads, of ten minutes each. */
function memoryOfHeads(): void {
  const agents = 2_000;
  const kinds = Array.from({ length: 50 }, (_, agent) => firstRows(agent, 40));
  const before = memoryInUse();
  const heads = Array.from({ length: agents }, (_, agent) => {
    const head = new Head(agent, `agent-${agent}`);
    for (const row of kinds[agent % kinds.length] ?? []) head.append(row);
    return head;
  });
  print("memory of a full head, bytes", ((memoryInUse() - before) / agents).toFixed(0));
  const bytes = heads.reduce((sum, head) => sum + head.length, 0) / agents;
  print(
    "  of these its samples, bytes",
    `${bytes.toFixed(0)}: ${(bytes / 40 / seriesCount).toFixed(2)} a sample`,
  );
}

/** Bytes of the process's own data, after a collection of what is free. */
function memoryInUse(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const folder = await mkdtemp(join(tmpdir(), "fleetwright-bench-"));
try {
  await sizeAndReading(join(folder, "size"));
  memoryOfHeads();
  await takingIn(join(folder, "fleet"));
} finally {
  await rm(folder, { recursive: true });
}

/**
 * The state engine against the same work in a bare loop: 1,000 files of 1 KiB, mode 0640, on this machine.
 * Run: `npm run bench -- state`. Prints milliseconds of wall clock and of CPU, medians of interleaved rounds, and their ratios.
 * The CPU time is this process's alone, and the better judge on a busy machine; what waits for the disk is not in it.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import type { StateRunResult } from "../../lib/state/run/engine.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";
import "./use-build.ts";

const { systemClock } = await import("../../lib/clock.ts");
const { LocalHost } = await import("../../lib/host/local-host.ts");
const { resolveResource } = await import("../../lib/state/definition.ts");
const { runState } = await import("../../lib/state/run/engine.ts");

const files = 1000;
const rounds = 25;
/** First applies wait for the disk. */
const firstRounds = 9;
/** Rounds before those that count: an agent runs for months. */
const warmUpRounds = 15;
const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
const host = new LocalHost({ stateFolder: join(folder, "state") });
const contents = Array.from({ length: files }, (_, index) => `${index} `.padEnd(1024, "x"));

function declare(base: string, count = files): ResolvedResource[] {
  return Array.from({ length: count }, (_, index) => {
    const path = join(base, `file-${index}`);
    const content = `${index} `.padEnd(1024, "x");
    const resolution = resolveResource({ type: "file", path, content, mode: "0640" }, { module: "bench" });
    if (!resolution.ok) throw new Error(resolution.issues[0]?.message);
    return resolution.resource;
  });
}

function run(
  mode: RunMode,
  desired: ResolvedResource[],
  applied: AppliedResource[],
): Promise<StateRunResult> {
  const signal = new AbortController().signal;
  return runState({ mode, desired, applied, host, clock: systemClock, signal, timeoutMs: 60_000 });
}

function rawCheck(base: string, hashes: readonly string[]): void {
  const buffer = Buffer.allocUnsafe(65_536);
  for (let index = 0; index < files; index += 1) {
    const fd = openSync(`${base}/file-${index}`, "r");
    const { mode } = fstatSync(fd);
    const read = readSync(fd, buffer);
    const hash = createHash("sha256").update(buffer.subarray(0, read)).digest("hex");
    closeSync(fd);
    if ((mode & 0o7777) !== 0o640 || hash !== hashes[index]) throw new Error("The file differs.");
  }
}

/** All temporary files, one sync of the file system, all renames, one sync of the folder. */
function rawWrite(base: string, durable: boolean): void {
  for (let index = 0; index < files; index += 1) {
    const fd = openSync(`${base}/.tmp-${index}`, "wx", 0o600);
    writeSync(fd, contents[index] ?? "");
    fchmodSync(fd, 0o640);
    closeSync(fd);
    if (!durable) renameSync(`${base}/.tmp-${index}`, `${base}/file-${index}`);
  }
  if (!durable) return;
  spawnSync("sync", ["-f", base]);
  for (let index = 0; index < files; index += 1) renameSync(`${base}/.tmp-${index}`, `${base}/file-${index}`);
  const fd = openSync(base, "r");
  fsyncSync(fd);
  closeSync(fd);
}

/** What one round took, milliseconds. */
interface Cost {
  wallMs: number;
  cpuMs: number;
}

async function timed(work: () => unknown): Promise<Cost> {
  const startedCpu = process.cpuUsage();
  const startedMs = performance.now();
  await work();
  const wallMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(startedCpu);
  return { wallMs, cpuMs: (user + system) / 1000 };
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

function middle(costs: readonly Cost[]): Cost {
  return {
    wallMs: median(costs.map(({ wallMs }) => wallMs)),
    cpuMs: median(costs.map(({ cpuMs }) => cpuMs)),
  };
}

function report(name: string, engine: readonly Cost[], raw: readonly Cost[]): void {
  const [ours, bare] = [middle(engine), middle(raw)];
  const compare = (a: number, b: number): string =>
    `${a.toFixed(1)} to ${b.toFixed(1)} ms, ratio ${(a / b).toFixed(2)}`;
  console.log(`${name}: ${compare(ours.wallMs, bare.wallMs)}; CPU ${compare(ours.cpuMs, bare.cpuMs)}`);
}

/** Runs contenders in turns, each behind each, since what ran before colours what runs next. */
async function inTurns<Name extends string>(
  contenders: Record<Name, (round: number) => (() => unknown) | Promise<() => unknown>>,
  turns: { warmUp: number; counted: number },
): Promise<Record<Name, Cost[]>> {
  const names = Object.keys(contenders) as Name[];
  const costs: Partial<Record<Name, Cost[]>> = {};
  for (let round = -turns.warmUp; round < turns.counted; round += 1) {
    const turn = Math.abs(round) % names.length;
    for (const name of [...names.slice(turn), ...names.slice(0, turn)]) {
      const cost = await timed(await contenders[name](round));
      if (round >= 0) (costs[name] ??= []).push(cost);
    }
  }
  return costs as Record<Name, Cost[]>;
}

async function benchNoOp(): Promise<void> {
  const base = join(folder, "same");
  mkdirSync(base);
  const desired = declare(base);
  const { applied } = await run("apply", desired, []);
  const hashes = contents.map((content) => createHash("sha256").update(content).digest("hex"));
  // Made ahead, so that nobody pays for another's garbage.
  const declared = Array.from({ length: warmUpRounds + rounds }, () => structuredClone(desired));
  const costs = await inTurns(
    {
      raw: () => () => rawCheck(base, hashes),
      apply: () => () => run("apply", desired, applied),
      plan: () => () => run("plan", desired, applied),
      check: () => () => run("check", desired, applied),
      received: () => () => run("apply", declared.pop() ?? [], applied),
    },
    { warmUp: warmUpRounds, counted: rounds },
  );
  report("no-op apply against a raw loop", costs.apply, costs.raw);
  report("no-op apply, resources just received (validation included)", costs.received, costs.raw);
  report("plan against no-op apply", costs.plan, costs.apply);
  report("drift check against a raw loop", costs.check, costs.raw);
}

async function benchFirst(): Promise<void> {
  const make = (name: string, round: number): string => {
    const base = join(folder, `${name}${round}`);
    mkdirSync(base);
    // What others have to write is not for the next contender to wait for.
    spawnSync("sync", ["-f", folder]);
    return base;
  };
  const costs = await inTurns(
    {
      engine: (round) => {
        const desired = declare(make("engine", round));
        return () => run("apply", desired, []);
      },
      raw: (round) => {
        const base = make("raw", round);
        return () => rawWrite(base, false);
      },
      durable: (round) => {
        const base = make("durable", round);
        return () => rawWrite(base, true);
      },
    },
    { warmUp: 3, counted: firstRounds },
  );
  report("first apply, durable, against atomic and durable", costs.engine, costs.durable);
  report("first apply, durable, against atomic only", costs.engine, costs.raw);
}

/** What one resource costs among many against among few, in time and in memory. */
async function benchScale(): Promise<void> {
  const base = join(folder, "many");
  mkdirSync(base);
  const many = declare(base, files * 10);
  const { applied } = await run("apply", many, []);
  const few = many.slice(0, files);
  const appliedFew = applied.slice(0, files);
  const costs = await inTurns(
    {
      many: () => () => run("apply", many, applied),
      few: () => async () => {
        for (let time = 0; time < 10; time += 1) await run("apply", few, appliedFew);
      },
    },
    { warmUp: 3, counted: 9 },
  );
  report("no-op of 10,000 against ten of 1,000", costs.many, costs.few);
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const desired = structuredClone(many);
  const held = await run("apply", desired, structuredClone(applied));
  globalThis.gc?.();
  const bytes = (process.memoryUsage().heapUsed - before) / held.results.length;
  console.log(`memory of one resource, desired, applied and its result: ${(bytes / 1024).toFixed(1)} kB`);
  if (desired.length !== held.results.length) throw new Error("A result is missing.");
}

try {
  await benchNoOp();
  await benchFirst();
  await benchScale();
} finally {
  rmSync(folder, { recursive: true });
}

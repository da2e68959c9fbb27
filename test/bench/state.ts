/**
 * The state engine against the same work in a bare loop: 1,000 files of 1 KiB, mode 0640, on this machine.
 * Run: `node --import tsx test/bench/state.ts`. Prints milliseconds, the median of interleaved rounds.
 */
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
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { resolveResource } from "../../lib/state/definition.ts";
import { runState, type StateRunResult } from "../../lib/state/engine.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import type { AppliedResource } from "../../lib/state/state-item.ts";
import type { RunMode } from "../../lib/state/state-run.ts";

const files = 1000;
const rounds = 25;
/** Rounds before those that count: an agent runs for months. */
const warmUpRounds = 15;
const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
const host = new LocalHost({ stateFolder: join(folder, "state") });
const contents = Array.from({ length: files }, (_, index) => `${index} `.padEnd(1024, "x"));

function declare(base: string): ResolvedResource[] {
  return contents.map((content, index) => {
    const path = join(base, `file-${index}`);
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

async function timed(work: () => unknown): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
}

function report(name: string, engine: number[], raw: number[]): void {
  const [ours, bare] = [median(engine), median(raw)];
  console.log(
    `${name}: engine ${ours.toFixed(2)}, raw ${bare.toFixed(2)}, ratio ${(ours / bare).toFixed(2)}`,
  );
}

async function benchNoOp(): Promise<void> {
  const base = join(folder, "same");
  mkdirSync(base);
  const desired = declare(base);
  const { applied } = await run("apply", desired, []);
  const hashes = contents.map((content) => createHash("sha256").update(content).digest("hex"));
  const contenders = {
    raw: () => rawCheck(base, hashes),
    apply: () => run("apply", desired, applied),
    plan: () => run("plan", desired, applied),
    check: () => run("check", desired, applied),
    received: () => run("apply", declared.pop() ?? [], applied),
  };
  const names = Object.keys(contenders) as (keyof typeof contenders)[];
  // Made ahead, so that nobody pays for another's garbage.
  const declared = Array.from({ length: warmUpRounds + rounds }, () => structuredClone(desired));
  const times = { raw: [], apply: [], plan: [], check: [], received: [] } as Record<
    keyof typeof contenders,
    number[]
  >;
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    // Each follows each in turn, since what ran before colours what runs next.
    const turn = Math.abs(round) % names.length;
    for (const name of [...names.slice(turn), ...names.slice(0, turn)]) {
      const elapsedMs = await timed(contenders[name]);
      if (round >= 0) times[name].push(elapsedMs);
    }
  }
  report("no-op apply", times.apply, times.raw);
  report("no-op apply, resources just received (validation included)", times.received, times.raw);
  report("no-op plan", times.plan, times.raw);
  report("drift check", times.check, times.raw);
}

async function benchFirst(): Promise<void> {
  const times: Record<"engine" | "raw" | "durable", number[]> = { engine: [], raw: [], durable: [] };
  for (let round = 0; round < 5; round += 1) {
    const bases = ["engine", "raw", "durable"].map((name) => join(folder, `${name}-${round}`));
    for (const base of bases) mkdirSync(base);
    const [engine = "", raw = "", durable = ""] = bases;
    const desired = declare(engine);
    spawnSync("sync", ["-f", folder]);
    times.durable.push(await timed(() => rawWrite(durable, true)));
    times.raw.push(await timed(() => rawWrite(raw, false)));
    spawnSync("sync", ["-f", folder]);
    times.engine.push(await timed(() => run("apply", desired, [])));
  }
  report("first apply, durable, against atomic and durable", times.engine, times.durable);
  report("first apply, durable, against atomic only", times.engine, times.raw);
}

try {
  await benchNoOp();
  await benchFirst();
} finally {
  rmSync(folder, { recursive: true });
}

/**
 * What many agents cost a server beside bare `ws` with as many connections, as ratios of one run: `npm run bench -- scale`.
 *
 * Each server runs in a process of its own, its agents in two more; only the server's CPU time and memory count. Agents are real connections
 * of the agent's own link that answer at once. "A run" is `true` on everybody with all answers; bare `ws` sends and gets messages of the same
 * number and about the same length. Of several runs the median counts. `BENCH_AGENTS` (default 10,000) is the larger fleet, the smaller is
 * a tenth of it; each agent takes two file descriptors of the machine and one of a process: mind `ulimit -n`.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import "./use-build.ts";
import type { Asked, Cost } from "./scale-server.ts";

const { fillFleet } = await import("./servers/fleet.ts");

const agents = Number(process.env["BENCH_AGENTS"] ?? 10_000);
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
const processes = 2;

type Kind = "product" | "bare";
/** What one server took with its agents. */
interface Taken {
  connectCpuMs: number;
  heap: number;
  resident: number;
  runCpuMs: number;
  runMs: number;
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
async function told<Answer>(child: ChildProcess): Promise<Answer> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, "exit", { signal }).then(([code]) => {
    throw new Error(`A process of the measurement ended (${String(code)}).`);
  });
  const message = once(child, "message", { signal }).then(([answer]) => answer as Answer);
  try {
    return await Promise.race([message, ended]);
  } finally {
    over.abort();
    ended.catch(() => {});
    message.catch(() => {});
  }
}
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

function start(script: string, args: string[], profile?: string): ChildProcess {
  const profiling = profile === undefined ? [] : ["--cpu-prof", "--cpu-prof-dir", profile];
  const execArgv = ["--expose-gc", ...profiling, "--import", "tsx", "--import", here("use-build.ts")];
  return fork(here(script), args, { execArgv });
}

async function ask<Answer>(server: ChildProcess, asked: Asked): Promise<Answer> {
  server.send(asked);
  return told<Answer>(server);
}

/** Connects so many agents to a server of a kind, and has it run something on all of them. */
async function measure(kind: Kind, count: number): Promise<Taken> {
  const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
  if (kind === "product") await fillFleet(folder, count);
  const profile = kind === "product" ? process.env["BENCH_PROFILE"] : undefined;
  const server = start("scale-server.ts", [kind, folder], profile);
  const url = await told<string>(server);
  const before = await ask<Cost>(server, "cost");
  const share = count / processes;
  const parts = Array.from({ length: processes }, (_, part) =>
    start("scale-agents.ts", [kind, url, String(part * share), String(share)]),
  );
  try {
    await Promise.all(parts.map((part) => told(part)));
    const connected = await ask<Cost>(server, "cost");
    const runs: { cpuMs: number; ms: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const { cpuMs } = await ask<Cost>(server, "cost");
      const startedMs = performance.now();
      await ask(server, "run");
      const ms = performance.now() - startedMs;
      runs.push({ cpuMs: (await ask<Cost>(server, "cost")).cpuMs - cpuMs, ms });
    }
    return {
      connectCpuMs: (connected.cpuMs - before.cpuMs) / count,
      heap: (connected.heap - before.heap) / count,
      resident: (connected.resident - before.resident) / count,
      runCpuMs: median(runs.map(({ cpuMs }) => cpuMs)) / count,
      runMs: median(runs.map(({ ms }) => ms)),
    };
  } finally {
    for (const child of [...parts, server]) child.disconnect();
    await once(server, "exit");
    rmSync(folder, { recursive: true, force: true });
  }
}

function print(name: string, figure: string): void {
  process.stdout.write(`${name.padEnd(64)} ${figure}\n`);
}

const us = (ms: number): string => (ms * 1_000).toFixed(0);

/** Prints what a fleet takes beside bare connections. */
async function compare(count: number): Promise<Taken> {
  const bare = await measure("bare", count);
  const ours = await measure("product", count);
  print(
    `${count} agents: heap for each, kB (bare ws)`,
    `${(ours.heap / 1e3).toFixed(1)} (${(bare.heap / 1e3).toFixed(1)})`,
  );
  print("  the same, resident", `${(ours.resident / 1e3).toFixed(1)} (${(bare.resident / 1e3).toFixed(1)})`);
  print("  beyond bare ws, kB of heap", ((ours.heap - bare.heap) / 1e3).toFixed(1));
  print("  connects a second of a core, with authentication", (1_000 / ours.connectCpuMs).toFixed(0));
  print("  the same of bare ws", (1_000 / bare.connectCpuMs).toFixed(0));
  print("  a run on all, CPU µs for each (bare ws)", `${us(ours.runCpuMs)} (${us(bare.runCpuMs)})`);
  print("  the same as a ratio", `${(ours.runCpuMs / bare.runCpuMs).toFixed(2)}x`);
  print("  a run on all, ms (bare ws)", `${ours.runMs.toFixed(0)} (${bare.runMs.toFixed(0)})`);
  return ours;
}

const few = await compare(agents / 10);
const many = await compare(agents);
print(
  `CPU of a run for each, ${agents} beside ${agents / 10}`,
  `${(many.runCpuMs / few.runCpuMs).toFixed(2)}x`,
);
print("CPU of a connect, the same", `${(many.connectCpuMs / few.connectCpuMs).toFixed(2)}x`);

/**
 * How long small requests take while a plan for the whole fleet runs: `npm run build && node --import tsx test/bench/latency.ts`.
 *
 * A server on a folder of files, its agents over WebSockets from a second process, and 200 authenticated reads of one agent a second
 * from this one, each timed from the moment it was due. All three share the machine, so the figures without a plan tell what
 * the machine itself adds. The loop's figures are how long the server's event loop took for a turn, and how much of it was the server's own computing.
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ask, openConnections, writeGet } from "./http-load.ts";
import type { BusyQuestion, BusyReady, LoopDelay } from "./servers/busy.ts";

const agents = Number(process.env["BENCH_AGENTS"] ?? 10_000);
const resources = 10;
const everyMs = 5;

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

function startProcess(module: string, args: readonly string[]): ChildProcess {
  return fork(here(module), args, {
    execArgv: ["--import", "tsx", "--import", here("use-build.ts")],
    env: { ...process.env, NODE_ENV: "production" },
  });
}

async function told<Answer>(child: ChildProcess): Promise<Answer> {
  const [answer] = (await once(child, "message")) as [Answer];
  return answer;
}

function askServer<Answer>(child: ChildProcess, question: BusyQuestion): Promise<Answer> {
  child.send(question);
  return told<Answer>(child);
}

/** Reads at a steady rate until told to end; tells how long each took, in milliseconds. */
async function readUntil(
  ended: Promise<unknown>,
  sockets: readonly Socket[],
  request: Buffer,
): Promise<number[]> {
  const tookMs: number[] = [];
  const free = [...sockets];
  const waiting: number[] = [];
  const running = new Set<Promise<void>>();
  const send = (socket: Socket, dueAt: number): void => {
    const answer = ask(socket, request).then(() => {
      tookMs.push(performance.now() - dueAt);
      running.delete(answer);
      const next = waiting.shift();
      if (next === undefined) free.push(socket);
      else send(socket, next);
    });
    running.add(answer);
  };
  let isOver = false;
  void ended.finally(() => (isOver = true));
  for (let dueAt = performance.now(); !isOver; dueAt += everyMs) {
    await sleep(Math.max(0, dueAt - performance.now()));
    // In turns: the server takes one that says nothing for a hanging one, and cuts it.
    const socket = free.shift();
    if (socket === undefined) waiting.push(dueAt);
    else send(socket, dueAt);
  }
  while (running.size > 0) await Promise.all(running);
  return tookMs;
}

function print(name: string, tookMs: readonly number[], { p99, max, maxCpu }: LoopDelay): void {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? NaN).toFixed(1);
  const reads = `p50 ${at(0.5)}  p99 ${at(0.99)}  max ${at(1 - 1e-9)} ms of ${sorted.length}`;
  console.log(
    `${name.padEnd(14)} reads ${reads}; loop p99 ${p99.toFixed(1)}  max ${max.toFixed(1)}  max CPU ${maxCpu.toFixed(1)} ms`,
  );
}

const server = startProcess("servers/busy.ts", [String(agents)]);
const { port, agentUrl, token } = await told<BusyReady>(server);
const fleet = startProcess("agents-process.ts", [agentUrl, String(agents), String(resources)]);
const joining = performance.now();
await told(fleet);
console.log(`${agents} agents connected in ${((performance.now() - joining) / 1000).toFixed(1)} s`);

const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
const sockets = await openConnections(port, 16);
const request = writeGet("/api/v1/agents?limit=1", headers);
await readUntil(sleep(2_000), sockets, request);
await askServer<LoopDelay>(server, "delay");
const idle = await readUntil(sleep(5_000), sockets, request);
print("idle", idle, await askServer<LoopDelay>(server, "delay"));

const began = performance.now();
const planned = askServer<number>(server, "plan");
const busy = await readUntil(planned, sockets, request);
print("during a plan", busy, await askServer<LoopDelay>(server, "delay"));
const seconds = (performance.now() - began) / 1000;
console.log(`the plan succeeded for ${await planned} of ${agents} agents in ${seconds.toFixed(1)} s`);
for (const socket of sockets) socket.destroy();
server.disconnect();
fleet.disconnect();

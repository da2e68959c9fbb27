/**
 * CPU time per REST request, beside plain node:http with the same answer in the same run.
 *
 *   npm run build && node --import tsx test/bench/rest.ts [module of another server ...]
 *
 * Each server runs the build, not the sources, in a process of its own; the figure is its user and system time, which moves less with the load of the
 * machine than the wall clock does. The ratio to node:http is the result; the microseconds are for scale. BENCH_GROUP=1 runs the
 * lists alone, 0 the single reads. BENCH_PROFILE=folder leaves a CPU profile of each server there.
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { ask, openConnections, writeGet } from "./http-load.ts";
import type { Ready } from "./server-process.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 7);
const requestsPerRound = Number(process.env["BENCH_REQUESTS"] ?? 20_000);
const connections = 16;
const profiles = process.env["BENCH_PROFILE"];
const profiling = profiles === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profiles}`];

interface Variant {
  name: string;
  child: ChildProcess;
  ready: Ready;
  request: Buffer;
  microseconds: number[];
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** Each against the first of its group. */
const groups = [
  ["node-http", "rest", "rest-chain", "rest-h3", "trpc", "real"],
  ["list-node-http", "list-cached-bytes", "list-real", "list-filtered", "list-trpc"],
];

async function start(module: string): Promise<Variant> {
  const child = fork(here("server-process.ts"), [module], {
    execArgv: [...profiling, "--import", "tsx", "--import", here("use-build.ts")],
    env: { ...process.env, NODE_ENV: "production" },
  });
  const [ready] = (await once(child, "message")) as [Ready];
  return {
    name: basename(module, ".ts"),
    child,
    ready,
    request: writeGet(ready.path, ready.headers),
    microseconds: [],
  };
}

async function cpuTime({ child }: Variant): Promise<number> {
  child.send("cpu");
  const [microseconds] = (await once(child, "message")) as [number];
  return microseconds;
}

/** Sends one request after the other on one connection. */
async function load(socket: Socket, request: Buffer, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += 1) await ask(socket, request);
}

async function round(variant: Variant, count: number): Promise<number> {
  const sockets = await openConnections(variant.ready.port, connections);
  const before = await cpuTime(variant);
  const each = Math.ceil(count / connections);
  await Promise.all(sockets.map((socket) => load(socket, variant.request, each)));
  const after = await cpuTime(variant);
  for (const socket of sockets) socket.destroy();
  return (after - before) / (each * connections);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function compare(modules: readonly string[]): Promise<void> {
  const variants: Variant[] = [];
  for (const module of modules) variants.push(await start(module));
  for (const variant of variants) await round(variant, requestsPerRound);
  for (let index = 0; index < rounds; index += 1) {
    for (const variant of variants) variant.microseconds.push(await round(variant, requestsPerRound));
  }
  const plain = median(variants[0]?.microseconds ?? []);
  for (const { name, microseconds, child } of variants) {
    const figure = median(microseconds);
    console.log(
      `${name.padEnd(14)} ${figure.toFixed(1).padStart(7)} µs/request  ${(figure / plain).toFixed(2)}x`,
    );
    child.disconnect();
  }
}

const asked = process.argv.slice(2);
const only = process.env["BENCH_GROUP"];
for (const [index, group] of groups.entries()) {
  if (only !== undefined && Number(only) !== index) continue;
  await compare([...group.map((name) => here(`servers/${name}.ts`)), ...(index === 0 ? asked : [])]);
}

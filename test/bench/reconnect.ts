/**
 * A fleet that comes back: a server is killed and started again, and its agents find it: `npm run build && node --import tsx
 * test/bench/reconnect.ts`.
 *
 * The server is the command line's, on a folder of files, in a process of its own; the agents are real connections of the agent's own
 * link over WebSockets, in two processes more, all of one address. All share the machine. Each agent takes two file descriptors of the
 * machine, and one of a process: mind `ulimit -n`.
 */
import { fork, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import "./use-build.ts";
import type { CameBack } from "./reconnect-agents.ts";

const { fillFleet } = await import("./servers/fleet.ts");

const agents = Number(process.env["BENCH_AGENTS"] ?? 3_000);
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3);
const processes = 2;

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** A server that listens, and where. */
interface Server {
  child: ChildProcess;
  port: number;
}

async function startServer(folder: string, port: number): Promise<Server> {
  const args = ["serve", "--port", String(port), "--data-dir", folder, "--log-level", "error", "--json"];
  const child = spawn(process.execPath, [here("../../dist/program/main.js"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  for await (const piece of child.stdout.setEncoding("utf8")) {
    said += String(piece);
    if (said.includes("\n}")) break;
  }
  return { child, port: Number(new URL((JSON.parse(said) as { url: string }).url).port) };
}

function startAgents(port: number, part: number): ChildProcess {
  const count = agents / processes;
  return fork(
    here("reconnect-agents.ts"),
    [`ws://127.0.0.1:${port}/agent/v1`, String(part * count), String(count)],
    { execArgv: ["--import", "tsx", "--import", here("use-build.ts")] },
  );
}

const told = async <Answer>(child: ChildProcess): Promise<Answer> =>
  ((await once(child, "message")) as [Answer])[0];

/** CPU time of a process so far, milliseconds (proc_pid_stat(5), in ticks of 10 ms); 0 where the system does not tell. */
function cpuMs({ pid }: ChildProcess): number {
  if (process.platform !== "linux") return 0;
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Kills the server, starts it again, and tells how everybody came back, beside how long they took to join at first. */
async function killOnce(
  server: Server,
  { fleet, joinedS }: { fleet: readonly ChildProcess[]; joinedS: number },
): Promise<Server> {
  const ready = fleet.map((part) => told(part));
  for (const part of fleet) part.send("again");
  await Promise.all(ready);
  const back = fleet.map((part) => told<CameBack>(part));
  const killedAtMs = Date.now();
  server.child.kill("SIGKILL");
  await once(server.child, "exit");
  const started = await startServer(folder, server.port);
  const upAtMs = Date.now();
  const startMs = cpuMs(started.child);
  const all = await Promise.all(back);
  const secondsUp = all
    .flatMap(({ atMs }) => atMs.map((at) => (at - upAtMs) / 1000))
    .toSorted((a, b) => a - b);
  const connectMs = ((cpuMs(started.child) - startMs) / agents).toFixed(2);
  const at = (share: number): string => secondsUp[Math.ceil(agents * share) - 1]!.toFixed(1).padStart(5);
  const turnedAway = all.reduce((sum, part) => sum + part.turnedAway, 0);
  const last = secondsUp.at(-1)!;
  const downS = (upAtMs - killedAtMs) / 1000;
  process.stdout.write(
    `down ${downS.toFixed(1)} s; back after 50 % ${at(0.5)}  90 % ${at(0.9)}  99 % ${at(0.99)}  100 % ${at(1)} s, ` +
      `${(last / joinedS).toFixed(2)} x joining; since the kill ${(last + downS).toFixed(1)} s; ` +
      `turned away ${turnedAway}, ${(turnedAway / agents).toFixed(2)} x agents; server ${connectMs} ms CPU a connect\n`,
  );
  return started;
}

const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
await fillFleet(folder, agents);
let server = await startServer(folder, 0);
const fleet = Array.from({ length: processes }, (_, part) => startAgents(server.port, part));
try {
  const joiningAtMs = Date.now();
  await Promise.all(fleet.map((part) => told(part)));
  const joinedS = (Date.now() - joiningAtMs) / 1000;
  process.stdout.write(`${agents} agents joined in ${joinedS.toFixed(1)} s, ${processes} x 24 at a time\n`);
  for (let round = 0; round < rounds; round += 1) server = await killOnce(server, { fleet, joinedS });
} finally {
  for (const part of fleet) part.disconnect();
  server.child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}

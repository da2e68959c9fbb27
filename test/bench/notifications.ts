/**
 * What it takes to tell 10,000 events to three channels, one of which is dead: `npm run bench -- notifications`.
 *
 * The server is the command line's, on a folder of files, in a process of its own; the receivers are in this one, and take each message at
 * once. All share the machine. Once it is left alone, once it is killed five times on the way. BENCH_EVENTS says how many events there are.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createClient } from "fleetwright/client";
import { readSigner } from "fleetwright/client/node";
import "./use-build.ts";

const { appendEvents, fanOutFlags, faultsOf, startFanOutReceiver, tellAddress } =
  await import("../support/fan-out.ts");

const count = Number(process.env["BENCH_EVENTS"] ?? 10_000);
const program = fileURLToPath(new URL("../../dist/program/main.js", import.meta.url));

async function startServer(folder: string) {
  const args = [
    "serve",
    "--port",
    "0",
    "--data-dir",
    folder,
    "--log-level",
    "error",
    "--json",
    ...fanOutFlags,
  ];
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  for await (const piece of child.stdout.setEncoding("utf8")) {
    said += String(piece);
    if (said.includes("\n}")) break;
  }
  const { url } = JSON.parse(said) as { url: string };
  return { child, client: createClient({ url, signer: readSigner(join(folder, "admin-key")) }) };
}

async function stop({ child }: Awaited<ReturnType<typeof startServer>>, signal: "SIGTERM" | "SIGKILL") {
  child.kill(signal);
  await once(child, "close");
}

/** The most memory that a process had so far, MiB (proc_pid_status(5)); 0 where the system does not tell. */
function peakMiB(pid: number | undefined): number {
  if (process.platform !== "linux") return 0;
  const [, kib = "0"] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kib) / 1024);
}

async function measure(kills: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
  await using one = await startFanOutReceiver();
  await using other = await startFanOutReceiver();
  const receivers = [one, other];
  const first = await startServer(folder);
  await tellAddress(first.client, "one", one.url);
  await tellAddress(first.client, "dead", "http://127.0.0.1:1/");
  await tellAddress(first.client, "other", other.url);
  await pause(3_000);
  const idleMiB = peakMiB(first.child.pid);
  await stop(first, "SIGTERM");
  await appendEvents(folder, count);
  const begun = performance.now();
  let server = await startServer(folder);
  let mostMiB = 0;
  for (let killed = 0; receivers.some(({ numbers }) => new Set(numbers).size < count);) {
    await pause(50);
    mostMiB = Math.max(mostMiB, peakMiB(server.child.pid));
    if (killed < kills && one.numbers.length > ((killed + 1) * count) / (kills + 1)) {
      killed += 1;
      await stop(server, "SIGKILL");
      server = await startServer(folder);
    }
  }
  const seconds = (performance.now() - begun) / 1000;
  await pause(500);
  await stop(server, "SIGTERM");
  rmSync(folder, { recursive: true });
  const faults = receivers.flatMap((receiver) => faultsOf(receiver, count));
  if (faults.length > 0) throw new Error(faults.join("; "));
  const twice = receivers.map(({ numbers }) => numbers.length - count).join(" and ");
  return `${seconds.toFixed(1)} s, ${Math.round((2 * count) / seconds)} messages a second; memory ${mostMiB} MiB at its peak, ${idleMiB} before; none lost, order kept, ${twice} came twice`;
}

const events = count.toLocaleString("en-US");
console.log(`${events} events to 3 channels, one of them dead: ${await measure(0)}`);
console.log(`the same, killed 5 times on the way: ${await measure(5)}`);

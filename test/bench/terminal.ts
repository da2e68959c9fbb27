/**
 * A terminal through the orchestrator beside ssh to the same machine, and beside bytes that a Node process passes on over bare `ws`:
 * `npm run bench -- terminal`.
 *
 * Echo: the time from a key to the character that comes back, a key for each in turn. Output: the time until `cat` of 50 MB has been shown,
 * in turn, with the memory and the CPU of the server. Viewer, server and agent are processes of their own, as ssh and sshd are; the server
 * records on a folder of files. Ratios are the result: the machine may be busy. BENCH_KEYS and BENCH_ROUNDS say how often.
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import "./use-build.ts";
import { deferred } from "../support/deferred.ts";
import { type MeasuredTerminal, startSecureShell } from "./secure-shell.ts";
import type { TerminalServerCost, TerminalServerQuestion, TerminalServerReady } from "./servers/terminal.ts";

const { attachTerminal } = await import("../../adapters/client/terminal.ts");

const keys = Number(process.env["BENCH_KEYS"] ?? 1_000);
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
/** Keys one right after the other, as a paste is, and as somebody types who is fast: then caches are cold and processors asleep. */
const pausesMs = [0, 20];
/** Keys that are not counted: a server has been up for a while. */
const warmUps = Number(process.env["BENCH_WARM_UPS"] ?? 3_000);
const fileBytes = 50_000_000;
const profiles = process.env["BENCH_PROFILE"];
const profiling = profiles === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profiles}`];
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

function startProcess(module: string, args: readonly string[] = []): ChildProcess {
  return fork(here(module), args, {
    execArgv: [...profiling, "--import", "tsx", "--import", here("use-build.ts")],
    env: { ...process.env, NODE_ENV: "production" },
  });
}

async function told<Answer>(child: ChildProcess): Promise<Answer> {
  const [answer] = (await once(child, "message")) as [Answer];
  return answer;
}

function ask<Answer>(child: ChildProcess, question: TerminalServerQuestion): Promise<Answer> {
  child.send(question);
  return told<Answer>(child);
}

async function openOurs({ url, token }: TerminalServerReady, nodeId: string): Promise<MeasuredTerminal> {
  const answer = await fetch(`${url}/api/v1/terminal/${nodeId}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ shell: "/bin/sh" }),
  });
  if (answer.status !== 201) throw new Error(await answer.text());
  const opened = (await answer.json()) as { websocket_url: string; ticket: string };
  const isOpen = deferred<void>();
  const hasEnded = deferred<void>();
  const attached = attachTerminal(url, opened, {
    connect: (address, protocol) => new WebSocket(address, protocol) as never,
    output: (bytes) => terminal.shown(bytes),
    message: ({ type }) => (type === "opened" ? isOpen.resolve() : undefined),
    ended: hasEnded.resolve,
  });
  const terminal: MeasuredTerminal = {
    type: (text) => attached.type(Buffer.from(text)),
    shown: () => {},
    close: () => {
      attached.type(Buffer.from("\u0004\u0004exit\n"));
      return hasEnded.promise;
    },
  };
  await isOpen.promise;
  return terminal;
}

async function openBare(url: string): Promise<MeasuredTerminal> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  const terminal: MeasuredTerminal = {
    type: (text) => socket.send(text),
    shown: () => {},
    close: async () => {
      socket.close();
      await once(socket, "close");
    },
  };
  socket.on("message", (bytes: Buffer) => terminal.shown(bytes));
  await once(socket, "open");
  return terminal;
}

/** Resolves when a terminal has shown a text at the end; gives how many bytes came. */
function shows(terminal: MeasuredTerminal, text: string): Promise<number> {
  return new Promise((resolve) => {
    let tail = "";
    let bytes = 0;
    terminal.shown = (piece) => {
      bytes += piece.length;
      tail = (tail + Buffer.from(piece.subarray(-100)).toString("latin1")).slice(-100);
      if (tail.trimEnd().endsWith(text)) resolve(bytes);
    };
  });
}

async function runCommand(terminal: MeasuredTerminal, command: string): Promise<number> {
  const shown = shows(terminal, "end-42");
  terminal.type(`${command}; echo end-$((40+2))\n`);
  return shown;
}

/** A shell without a prompt, and without an echo. */
async function prepare(terminal: MeasuredTerminal): Promise<void> {
  await runCommand(terminal, "PS1=; stty -echo");
}

async function echo(terminal: MeasuredTerminal): Promise<number> {
  const begun = performance.now();
  const shown = new Promise<void>((resolve) => (terminal.shown = () => resolve()));
  terminal.type("x");
  await shown;
  return performance.now() - begun;
}

const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN;
const us = (ms: number): string => `${(ms * 1_000).toFixed(0)} us`;
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;

/** Terminals by what they are. */
type Contenders = ReadonlyMap<"ours" | "ssh" | "bare ws", MeasuredTerminal>;

async function measureEcho(contenders: Contenders, pauseMs: number): Promise<void> {
  const took = new Map(Array.from(contenders.keys(), (name) => [name, [] as number[]]));
  for (const [, terminal] of contenders) {
    await runCommand(terminal, "stty echo");
    terminal.type("exec cat > /dev/null\n");
  }
  await sleep(500);
  for (let key = 0; key < keys + warmUps; key++)
    for (const [name, terminal] of contenders) {
      if (pauseMs > 0 && key >= warmUps) await sleep(pauseMs);
      const ms = await echo(terminal);
      // The first ones warm it up. A line is held by the system until it ends.
      if (key >= warmUps) took.get(name)?.push(ms);
      if (key % 200 === 199) {
        terminal.shown = () => {};
        terminal.type("\n");
        await sleep(50);
      }
    }
  for (const [name, values] of took)
    console.log(
      `echo, ${pauseMs} ms between keys, ${name}: p50 ${us(at(values, 0.5))}, p90 ${us(at(values, 0.9))}, p99 ${us(at(values, 0.99))}`,
    );
  const ssh = took.get("ssh");
  if (!ssh) return;
  for (const name of ["ours", "bare ws"] as const) {
    const ratio = (share: number): string => (at(took.get(name)!, share) / at(ssh, share)).toFixed(2);
    const goals = name === "ours" ? ["(goal 1.15)", "(goal 3)"] : ["", ""];
    console.log(
      `echo, ${pauseMs} ms between keys, ${name} / ssh: p50 ${ratio(0.5)} ${goals[0]}, p99 ${ratio(0.99)} ${goals[1]}`,
    );
  }
}

async function measureOutput(contenders: Contenders, file: string, server: ChildProcess): Promise<void> {
  const took = new Map(Array.from(contenders.keys(), (name) => [name, [] as number[]]));
  let most = 0;
  let cpuMs = 0;
  const before = (await ask<TerminalServerCost>(server, "cost")).mostBytes;
  for (let round = 0; round < rounds; round++)
    for (const [name, terminal] of contenders) {
      const begun = performance.now();
      const bytes = await runCommand(terminal, `cat ${file}`);
      took.get(name)?.push(performance.now() - begun);
      if (bytes < fileBytes) throw new Error(`${name} showed ${bytes} bytes of ${fileBytes}.`);
      const cost = await ask<TerminalServerCost>(server, "cost");
      most = Math.max(most, cost.mostBytes);
      if (name === "ours") cpuMs += cost.cpuMs;
    }
  for (const [name, values] of took)
    console.log(
      `cat of 50 MB, ${name}: ${at(values, 0.5).toFixed(0)} ms, ${(50_000 / at(values, 0.5)).toFixed(0)} MB/s`,
    );
  if (took.has("ssh"))
    console.log(
      `cat of 50 MB, ours / ssh: ${(at(took.get("ssh")!, 0.5) / at(took.get("ours")!, 0.5)).toFixed(2)} of its speed (goal 1.0)`,
    );
  console.log(
    `the server meanwhile: ${megabytes(before)} before, ${megabytes(most)} at most, ${(cpuMs / rounds).toFixed(0)} ms CPU for 50 MB`,
  );
}

const folder = mkdtempSync(join(tmpdir(), "fleetwright-terminal-"));
const server = startProcess("servers/terminal.ts");
try {
  const file = join(folder, "file");
  writeFileSync(file, `${"x".repeat(78)}\n`.repeat(Math.ceil(fileBytes / 79)));
  const ready = await told<TerminalServerReady>(server);
  const agent = startProcess("terminal-agent.ts", [ready.agentUrl]);
  await told(agent);
  const nodeId = await ask<string>(server, "approve");
  const shell = await startSecureShell(folder);
  if (typeof shell === "string") console.log(`without ssh: ${shell}`);
  const relay = startProcess("servers/terminal-relay.ts");
  const bareUrl = await told<string>(relay);
  await sleep(1_000);
  const measures = [
    ...pausesMs.map((ms) => (it: Contenders) => measureEcho(it, ms)),
    (it: Contenders) => measureOutput(it, file, server),
  ];
  for (const measure of measures) {
    const bareShell = startProcess("servers/terminal-relay.ts", [bareUrl]);
    await told(bareShell);
    const contenders = new Map<"ours" | "ssh" | "bare ws", MeasuredTerminal>();
    contenders.set("ours", await openOurs(ready, nodeId));
    if (typeof shell !== "string") contenders.set("ssh", shell.open());
    contenders.set("bare ws", await openBare(bareUrl));
    for (const terminal of contenders.values()) await prepare(terminal);
    await measure(contenders);
    for (const terminal of contenders.values()) await terminal.close();
    bareShell.disconnect();
    await once(bareShell, "exit");
  }
  relay.disconnect();
  if (typeof shell !== "string") await shell.close();
  agent.disconnect();
  await once(agent, "exit");
} finally {
  if (server.connected) server.disconnect();
  rmSync(folder, { recursive: true, force: true });
}

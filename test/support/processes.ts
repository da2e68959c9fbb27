/** Servers and agents as real processes, run from the build. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { OperationDetail } from "fleetwright";
import { createClient } from "fleetwright/client";
import type { Client } from "fleetwright/client";
import { readSigner } from "fleetwright/client/node";
import { freePort } from "./free-port.ts";

/** The command line as it is built. */
export const programPath = fileURLToPath(new URL("../../dist/program/main.js", import.meta.url));

/** A process of ours. */
export class Program implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  /** Whether it has ended and all that it wrote was read. */
  #isOver = false;
  /** What it wrote to standard output so far. */
  stdout = "";
  stderr = "";

  /** @param within - A command to run it with, e.g. `ip netns exec name`. */
  constructor(
    args: readonly string[],
    environment: Record<string, string> = {},
    within: readonly string[] = [],
  ) {
    if (!existsSync(programPath)) throw new Error("There is no build: run `npm run build` first.");
    const env = { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", ...environment };
    const [command = "", ...rest] = [...within, process.execPath, programPath, ...args];
    this.#child = spawn(command, rest, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.#exited = once(this.#child, "close").finally(() => (this.#isOver = true));
    this.#child.stdout?.setEncoding("utf8").on("data", (piece: string) => (this.stdout += piece));
    this.#child.stderr?.setEncoding("utf8").on("data", (piece: string) => (this.stderr += piece));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves with what has matched on standard output; rejects when the process ends before. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.stdout);
      if (match) return match;
      if (this.#isOver) {
        const how = this.#child.exitCode ?? this.#child.signalCode;
        throw new Error(`It ended with ${how}: ${this.stderr}`);
      }
      const stopped = new AbortController();
      const more = once(this.#child.stdout!, "data", { signal: stopped.signal }).catch(() => {});
      await Promise.race([more, this.#exited]);
      stopped.abort();
    }
  }

  /** Asks it to end, or makes it, and waits. Resolves with the exit code; null where a signal ended it. */
  async end(signal: "SIGTERM" | "SIGINT" | "SIGKILL" = "SIGTERM"): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
    await this.#exited;
    return this.#child.exitCode;
  }

  async exited(): Promise<number | null> {
    await this.#exited;
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }
}

/** A server that runs, and a client that signs in as its first Admin. */
export interface ServerProcess extends AsyncDisposable {
  program: Program;
  url: string;
  client: Client;
}

/** Starts a server; `port` 0 takes a free one, which stays free for it when it has ended. */
export async function startServerProcess(
  dataDir: string,
  port = 0,
  environment: Record<string, string> = {},
  flags: readonly string[] = [],
): Promise<ServerProcess> {
  const at = ["--port", String(port === 0 ? await freePort() : port)];
  const args = ["serve", ...at, "--data-dir", dataDir, "--log-level", "warn", ...flags];
  const program = new Program(args, environment);
  const [, url = ""] = await program.says(/^URL +(\S+)\n[^]*^Next .*\n/m);
  const client = createClient({ url, signer: readSigner(join(dataDir, "admin-key")) });
  return { program, url, client, [Symbol.asyncDispose]: () => program[Symbol.asyncDispose]() };
}

/** An agent that runs. */
export interface AgentProcess extends AsyncDisposable {
  program: Program;
  nodeId: string;
  /** Folder that stands for `/`. */
  root: string;
}

/** Starts an agent in `folder`, which keeps its state and its machine. */
export async function startAgentProcess(
  folder: string,
  url: string,
  environment: Record<string, string> = {},
): Promise<AgentProcess> {
  const root = join(folder, "root");
  mkdirSync(root, { recursive: true });
  const places = ["--root", root, "--state-dir", join(folder, "state")];
  const program = new Program(["agent", "--url", url, ...places, "--log-level", "silent"], environment);
  const [, nodeId = ""] = await program.says(/^Node +(\w+)\n/m);
  return { program, nodeId, root, [Symbol.asyncDispose]: () => program[Symbol.asyncDispose]() };
}

/** Starts an agent and approves it. */
export async function startFleetMember(
  folder: string,
  server: ServerProcess,
  environment: Record<string, string> = {},
): Promise<AgentProcess> {
  const agent = await startAgentProcess(folder, server.url, environment);
  await eventually("the agent is known", async () => {
    const { items } = await server.client.agents.list();
    return items.some(({ node_id }) => node_id === agent.nodeId);
  });
  await server.client.agents.setStatus(agent.nodeId, { status: "approved", name: "web-1" });
  return agent;
}

/** Looks again and again, for what another process does without telling us. */
export async function eventually(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`It did not happen in time that ${what}.`);
    await pause(25);
  }
}

/** Waits until an operation has ended. */
export async function endOf(client: Client, operationId: string): Promise<OperationDetail> {
  let operation = await client.operations.get(operationId);
  const hasEnded = async (): Promise<boolean> => {
    operation = await client.operations.get(operationId);
    return operation.status !== "queued" && operation.status !== "running";
  };
  try {
    await eventually("the operation has ended", hasEnded);
  } catch (cause) {
    const agent = await client.agents.get(operation.node_id);
    throw new Error(`It does not end: ${JSON.stringify({ operation, agent })}`, { cause });
  }
  return operation;
}

/** A server in a process of its own, a fleet that is honest, and attackers: each kind in a process of its own. */
import { fork, type ChildProcess } from "node:child_process";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { Agent, Role } from "fleetwright";
import { createClient, type Client } from "fleetwright/client";
import { createKeyFile } from "fleetwright/client/node";
import { takenModules } from "../heavy-modules.ts";
import { eventually, startServerProcess, type ServerProcess } from "../processes.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import type { Counts, Target } from "./attack.ts";
import { approvedSeeds, HostileAgent } from "./hostile-agent.ts";

/** Everything that is there before the attacks begin. */
export interface AttackScene {
  server: ServerProcess;
  /** Where the server keeps what it has. */
  dataDir: string;
  /** Agents that do what they are told, approved and connected. */
  honest: readonly string[];
  /** How often one of them was taken in so far: as many as there are, and one for each connection that was lost. */
  accepted(): Promise<number>;
  target: Target;
  /** Token of an Operator's session that no attacker has. */
  reader: string;
}

/** What the server's process is at some moment. */
export interface ProcessFigures {
  residentMib: number;
  peakMib: number;
  /** Seconds that its main thread computed, and that it waited for a processor that others had. */
  computed: number;
  waited: number;
}

/** Starts the server and as many honest agents, and lets in who turns out to be hostile. */
export async function startScene(agents: number): Promise<AttackScene> {
  const folder = temporaryFolder();
  const dataDir = join(folder, "data");
  const server = await startServerProcess(dataDir, 0, {}, ["--pending-agents", String(agents + 100)]);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { client } = server;
  const agentUrl = `${server.url.replace(/^http/, "ws")}/agent/v1`;
  const fleet = startProcess("../../bench/agents-process.ts", [agentUrl, String(agents), "0"]);
  const connected = told(fleet);
  const honest = await approveAll(client, agents);
  await connected;
  for (const seed of approvedSeeds) await letIn(client, agentUrl, seed);
  for (const [, content] of takenModules) await client.modules.upload({ content });
  const signIn = async (username: string, role: Role): Promise<string> => {
    const signer = createKeyFile(join(folder, `${username}.pem`));
    await client.operators.add({ username, public_key: signer.publicKey, role });
    let token = "";
    const own = createClient({ url: server.url, signer, onToken: (opened) => (token = opened) });
    await own.auth.session();
    return token;
  };
  const target = {
    port: Number(new URL(server.url).port),
    agentUrl,
    viewer: await signIn("viewer", "Viewer"),
    operator: await signIn("operator", "Operator"),
  };
  const accepted = (): Promise<number> => {
    const answer = told<number>(fleet);
    fleet.send("accepted");
    return answer;
  };
  return { server, dataDir, honest, accepted, target, reader: await signIn("reader", "Operator") };
}

/** Has both kinds of attackers attack until the function that it resolves with is called, which tells how often each did what. */
export async function startAttacks(target: Target): Promise<() => Promise<Record<string, Counts>>> {
  const kinds = ["agents", "http"].map((kind) => startProcess("attackers-process.ts", [kind]));
  await Promise.all(kinds.map(told));
  for (const child of kinds) child.send(target);
  return async () => {
    const counted = kinds.map((child) => told<Record<string, Counts>>(child));
    for (const child of kinds) child.send("end");
    const counts = Object.assign({}, ...(await Promise.all(counted))) as Record<string, Counts>;
    return counts;
  };
}

/** Every agent that the server knows. */
export async function allAgents(client: Client): Promise<Agent[]> {
  const items: Agent[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await client.agents.list({ limit: 500, ...(cursor !== undefined && { cursor }) });
    items.push(...page.items);
    cursor = page.next_cursor;
  }
  return items;
}

/** Looks at a process of this machine; Linux only. */
export function figuresOf(pid: number): ProcessFigures {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mib = (name: string): number =>
    Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
  const [computed = 0, waited = 0] = readFileSync(`/proc/${pid}/schedstat`, "utf8")
    .split(" ")
    .map((ns) => Math.round(Number(ns) / 1e9));
  return { residentMib: mib("VmRSS"), peakMib: mib("VmHWM"), computed, waited };
}

/** What a folder with all in it takes, MiB. */
export function sizeOf(folder: string): number {
  const bytes = Number.parseInt(execFileSync("du", ["-sb", folder]).toString(), 10);
  return Math.round(bytes / 1024 / 102.4) / 10;
}

function startProcess(module: string, args: readonly string[]): ChildProcess {
  const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  const execArgv = ["--import", "tsx", "--import", here("../../bench/use-build.ts")];
  const child = fork(here(module), args, { execArgv, env: { ...process.env, NODE_ENV: "production" } });
  const exited = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return child;
}

/** The next thing that a process tells; rejects when it ends before. */
async function told<Answer>(child: ChildProcess): Promise<Answer> {
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`A process ended with ${String(code)}.`);
  });
  ended.catch(() => {});
  const [answer] = (await Promise.race([once(child, "message"), ended])) as [Answer];
  return answer;
}

/** Approves so many as they come: a hundred may be connected and wait at a time. */
async function approveAll(client: Client, count: number): Promise<string[]> {
  const nodeIds: string[] = [];
  while (nodeIds.length < count) {
    const { items } = await client.agents.list({ limit: 100, status: "pending", connected: true });
    const approve = ({ node_id }: Agent) => client.agents.setStatus(node_id, { status: "approved" });
    await Promise.all(items.map(approve));
    nodeIds.push(...items.map(({ node_id }) => node_id));
    await pause(100);
  }
  return nodeIds;
}

/** Has an agent approved that comes once and leaves. */
async function letIn(client: Client, agentUrl: string, seed: Uint8Array): Promise<void> {
  const hostile = await HostileAgent.connect(agentUrl, seed, new AbortController().signal);
  const { nodeId } = hostile.agent;
  await eventually("it is known", () =>
    client.agents.get(nodeId).then(
      () => true,
      () => false,
    ),
  );
  await client.agents.setStatus(nodeId, { status: "approved" });
  await hostile.end(0);
}

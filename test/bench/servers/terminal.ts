/** A server with terminals, in a process of its own: tells where it listens, and whatever it is asked, how much memory it took at most since then. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileStorage, nodeCrypto, systemCaller, toHex } from "fleetwright";
import { startServer } from "../../../adapters/h3/server.ts";
import { signIn } from "./sign-in.ts";

/** What it tells when it listens. */
export interface TerminalServerReady {
  url: string;
  agentUrl: string;
  token: string;
}

/** What it is asked: to approve whoever waits, or what it took. */
export type TerminalServerQuestion = "approve" | "cost";

/** What the process took since it was asked before. */
export interface TerminalServerCost {
  /** Resident, bytes. */
  mostBytes: number;
  cpuMs: number;
}

const folder = mkdtempSync(join(process.env["BENCH_FOLDER"] ?? tmpdir(), "fleetwright-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const admin = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
const { orchestrator, url, agentUrl } = await startServer({
  storage: new FileStorage({ folder }),
  adminPublicKeys: [toHex(admin.publicKey)],
  listen: { port: 0 },
});

/** Resolves with the agent that waits. */
async function approve(): Promise<string> {
  for (;;) {
    const { items } = await orchestrator.agents.list(systemCaller, { status: "pending" });
    const [agent] = items;
    if (agent !== undefined) {
      const { node_id } = agent;
      await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
      return node_id;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

let mostBytes = 0;
let cpu = process.cpuUsage();
setInterval(() => (mostBytes = Math.max(mostBytes, process.memoryUsage.rss())), 20);

function cost(): TerminalServerCost {
  const { user, system } = process.cpuUsage(cpu);
  const taken = { mostBytes: Math.max(mostBytes, process.memoryUsage.rss()), cpuMs: (user + system) / 1_000 };
  mostBytes = 0;
  cpu = process.cpuUsage();
  return taken;
}

async function answer(question: TerminalServerQuestion): Promise<void> {
  process.send?.(question === "approve" ? await approve() : cost());
}

process.on("message", (question: TerminalServerQuestion) => void answer(question));
process.on("disconnect", () => process.exit());
process.send?.({ url, agentUrl, token: await signIn(orchestrator, admin) } satisfies TerminalServerReady);

/** The server as it is run, with a fleet on a folder of files that agents may connect to: `busy.ts <agents>`, in a process of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHistogram } from "node:perf_hooks";
import { FileStorage, nodeCrypto, systemCaller, toHex } from "fleetwright";
import { startServer } from "../../../adapters/h3/server.ts";
import { createModule, createResults } from "../simulated-agent.ts";
import { fillFleet } from "./fleet.ts";
import { signIn } from "./sign-in.ts";

/** What the process is asked: to plan for everyone, or how long its event loop was held since it was asked before. */
export type BusyQuestion = "plan" | "delay";

/** What it tells when it listens. */
export interface BusyReady {
  port: number;
  agentUrl: string;
  token: string;
}

/** Its answer to `delay`, in milliseconds. */
export interface LoopDelay {
  /** From one turn of the event loop to the next, or a millisecond. The machine's other work is in it. */
  p99: number;
  max: number;
  /** The most that the process, with all its threads, computed from one turn to the next. The machine's other work is not in it. */
  maxCpu: number;
}

const agents = Number(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
await fillFleet(folder, agents);
const admin = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
const { orchestrator, url, agentUrl } = await startServer({
  storage: new FileStorage({ folder }),
  adminPublicKeys: [toHex(admin.publicKey)],
  listen: { port: 0 },
});
await orchestrator.modules.upload(systemCaller, { content: createModule(createResults(10)) });
await orchestrator.assignments.create(systemCaller, { name: "everyone", selector: "*", modules: ["base"] });

const gaps = createHistogram();
let maxCpu = 0;
let last = { atMs: performance.now(), cpu: process.cpuUsage() };
setInterval(() => {
  const { user, system } = process.cpuUsage(last.cpu);
  const next = { atMs: performance.now(), cpu: process.cpuUsage() };
  gaps.record(Math.max(1, Math.round((next.atMs - last.atMs) * 1000)));
  maxCpu = Math.max(maxCpu, (user + system) / 1000);
  last = next;
}, 1);

async function plan(): Promise<number> {
  const { counts } = await orchestrator.rollouts.plan(systemCaller, { name: "everyone", wait_seconds: 300 });
  return counts.succeeded;
}

function delay(): LoopDelay {
  const found = { p99: gaps.percentile(99) / 1000, max: gaps.max / 1000, maxCpu };
  gaps.reset();
  maxCpu = 0;
  return found;
}

async function answer(question: BusyQuestion): Promise<void> {
  process.send?.(question === "plan" ? await plan() : delay());
}

process.on("message", (question: BusyQuestion) => void answer(question));
process.on("disconnect", () => process.exit());
const token = await signIn(orchestrator, admin);
process.send?.({ port: Number(new URL(url).port), agentUrl, token } satisfies BusyReady);

/**
 * What an operation costs the orchestrator's memory. `npm run build && node --expose-gc --import tsx test/bench/memory.ts`.
 *
 * Agents speak the real protocol over sockets in memory and answer every plan at once; the storage is a folder of files. Prints
 * the memory, and how late the event loop was meanwhile, after each tenth of the operations, of which the newest BENCH_KEPT are kept (default half of them).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import "./use-build.ts";

const { FileStorage, MemoryTransport, Orchestrator, systemCaller } = await import("fleetwright");
const { createModule, createResults, createSimulatedAgent } = await import("./simulated-agent.ts");

const agents = 20;
const operations = Number(process.env["BENCH_OPERATIONS"] ?? 100_000);
const kept = Math.max(1_000, Math.round(Number(process.env["BENCH_KEPT"] ?? operations / 2)));
const results = createResults(Number(process.env["BENCH_RESOURCES"] ?? 3));

const delays = monitorEventLoopDelay({ resolution: 5 });

function print(done: number): void {
  const [p99, max] = [delays.percentile(99), delays.max].map((ns) => (ns / 1e6).toFixed(0));
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  const [heap, outside, resident] = [heapUsed, external, rss].map((bytes) => (bytes / 2 ** 20).toFixed(1));
  process.stdout.write(
    `${String(done).padStart(8)} operations: heap ${heap}, outside ${outside}, resident ${resident} MiB; loop p99 ${p99}, max ${max} ms\n`,
  );
  delays.reset();
}

const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
const transport = new MemoryTransport({ maxPendingAgents: agents });
const storage = new FileStorage({ folder });
const orchestrator = new Orchestrator({ storage, transport, operationRetentionCount: kept });
const alive = setInterval(() => {}, 1_000);
try {
  await orchestrator.start();
  await orchestrator.modules.upload(systemCaller, { content: createModule(results) });
  await orchestrator.assignments.create(systemCaller, { name: "everyone", selector: "*", modules: ["base"] });
  const links = Array.from({ length: agents }, (_, number) =>
    createSimulatedAgent({ number, results, dial: async () => transport.connect() }),
  );
  for (const link of links) link.start();
  let pending: string[] = [];
  while (pending.length < agents) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    pending = (await orchestrator.agents.list(systemCaller, { status: "pending", limit: 100 })).items.map(
      ({ node_id }) => node_id,
    );
  }
  for (const node_id of pending)
    await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await new Promise((resolve) => setTimeout(resolve, 1000));
  delays.enable();
  print(0);
  for (let done = 0; done < operations;) {
    const upTo = done + operations / 10;
    while (done < upTo) {
      await Promise.all(pending.map((node_id) => orchestrator.operations.plan(systemCaller, { node_id })));
      done += agents;
    }
    print(done);
  }
  await orchestrator.stop();
} finally {
  clearInterval(alive);
  rmSync(folder, { recursive: true, force: true });
}

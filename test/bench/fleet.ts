/**
 * A fleet in one process: what an agent costs the orchestrator. `npm run build && node --expose-gc --import tsx
 * test/bench/fleet.ts`.
 *
 * Agents speak the real protocol over sockets in memory and answer every plan at once; there is no machine behind them.
 * Both sides of it run here, so the figures are an upper bound. The storage is a folder of files.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import "./use-build.ts";

const { FileStorage, MemoryTransport, Orchestrator, systemCaller } = await import("fleetwright");
const { createModule, createResults, createSimulatedAgent } = await import("./simulated-agent.ts");
type Product = InstanceType<typeof Orchestrator>;
type Link = ReturnType<typeof createSimulatedAgent>;

const agents = Number(process.env["BENCH_AGENTS"] ?? 1_000);
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
const resources = Number(process.env["BENCH_RESOURCES"] ?? 10);

const results = createResults(resources);

/** Resolves when this many events of a type have happened. */
function countEvents(orchestrator: Product, type: string, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    const end = orchestrator.listen((event) => {
      if (event.event_type !== type) return;
      left -= 1;
      if (left > 0) return;
      end();
      resolve();
    });
  });
}

function memory(): { heap: number; resident: number } {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, resident: rss };
}

async function timed(work: () => Promise<unknown>): Promise<{ ms: number; cpuMs: number }> {
  const [startedMs, startedCpu] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(startedCpu);
  return { ms: performance.now() - startedMs, cpuMs: (user + system) / 1000 };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}

function print(name: string, figure: string): void {
  process.stdout.write(`${name.padEnd(52)} ${figure}\n`);
}

/** Connects everybody for the first time, approves them, and connects them again as what they are then. */
async function enrol(orchestrator: Product, links: Link[]): Promise<void> {
  // No more than this many may wait for approval at one time.
  const atOnce = 100;
  for (let at = 0; at < links.length; at += atOnce) {
    const batch = links.slice(at, at + atOnce);
    const connected = countEvents(orchestrator, "agent.connected", batch.length);
    for (const link of batch) link.start();
    await connected;
    const { items } = await orchestrator.agents.list(systemCaller, { status: "pending", limit: 500 });
    await Promise.all(
      items.map(({ node_id }) =>
        orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" }),
      ),
    );
  }
}

async function benchPlans(orchestrator: Product, idle: number): Promise<void> {
  const plans: { ms: number; cpuMs: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const plan = timed(async () => {
      const rollout = await orchestrator.rollouts.plan(systemCaller, { name: "everyone", wait_seconds: 300 });
      if (rollout.counts.succeeded !== agents) throw new Error(JSON.stringify(rollout.counts));
    });
    plans.push(await plan);
  }
  const wall = median(plans.map(({ ms }) => ms));
  const cpu = median(plans.map(({ cpuMs }) => cpuMs));
  print(`one plan of ${resources} resources for all, ms`, wall.toFixed(0));
  print("the same, CPU for each agent, µs", ((cpu * 1000) / agents).toFixed(0));
  print("the last plan beside the first, CPU", (plans.at(-1)!.cpuMs / plans[0]!.cpuMs).toFixed(2));
  print("the whole beside a single plan, CPU for each", `${(cpu / agents / idle).toFixed(2)}x`);
}

/** What a plan costs that is alone, in ms of CPU. */
async function benchSingle(orchestrator: Product): Promise<number> {
  const { items } = await orchestrator.agents.list(systemCaller, { limit: 100 });
  const { cpuMs } = await timed(async () => {
    for (const { node_id } of items) await orchestrator.operations.plan(systemCaller, { node_id });
  });
  return cpuMs / items.length;
}

const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
const transport = new MemoryTransport({ maxPendingAgents: agents });
const orchestrator = new Orchestrator({ storage: new FileStorage({ folder }), transport });
// Timers of the clock don't keep a process alive, and a slow disk may leave nothing else.
const alive = setInterval(() => {}, 1_000);
try {
  await orchestrator.start();
  await orchestrator.modules.upload(systemCaller, { content: createModule(results) });
  await orchestrator.assignments.create(systemCaller, { name: "everyone", selector: "*", modules: ["base"] });
  const links = Array.from({ length: agents }, (_, number) =>
    createSimulatedAgent({ number, results, dial: async () => transport.connect() }),
  );
  const before = memory();
  const joined = await timed(() => enrol(orchestrator, links));
  const after = memory();
  print("agents", String(agents));
  print("joined and approved a second", ((agents / joined.ms) * 1000).toFixed(0));
  print("the same, CPU for each, µs", ((joined.cpuMs * 1000) / agents).toFixed(0));
  print("heap for each, KiB", ((after.heap - before.heap) / 1024 / agents).toFixed(1));
  print("resident for each, KiB", ((after.resident - before.resident) / 1024 / agents).toFixed(1));
  const idle = await benchSingle(orchestrator);
  print("a single plan, CPU µs", (idle * 1000).toFixed(0));
  await benchPlans(orchestrator, idle);
  await Promise.all(links.map((link) => link.stop()));
} finally {
  clearInterval(alive);
  await orchestrator.stop();
  rmSync(folder, { recursive: true });
}

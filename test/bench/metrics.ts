/** What metrics cost: a sample on the agent, a message with one on the orchestrator, and a day of one agent over HTTP. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOrchestratorApp } from "../../adapters/h3/orchestrator-app.ts";
import { listenApp } from "../../adapters/h3/serve.ts";
import { LocalMachine } from "../../lib/agent/metrics/local-machine.ts";
import { ProcCollector } from "../../lib/agent/metrics/proc-collector.ts";
import { SampleBacklog } from "../../lib/agent/metrics/sample-backlog.ts";
import { systemCaller } from "../../lib/callers/caller.ts";
import { systemClock } from "../../lib/clock.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { Orchestrator } from "../../lib/orchestrator.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import type { FileSeries } from "../../lib/storage/file/series/file-series.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";

const messages = 6;
const folder = mkdtempSync(join(tmpdir(), "fleetwright-metrics-"));
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const us = (ms: number): string => `${(ms * 1_000).toFixed(0)} us`;

async function agentSample(): Promise<Record<string, number>> {
  const collector = new ProcCollector(new LocalMachine(systemClock));
  const backlog = new SampleBacklog(join(folder, "backlog"), silentLogger);
  const [collects, keeps]: [number[], number[]] = [[], []];
  let values = await collector.collect(0);
  for (let turn = 1; turn <= 20; turn++) {
    const begun = cpuMs();
    for (let each = 0; each < 50; each++) values = await collector.collect(turn * 1e6 + each * 15_000);
    collects.push((cpuMs() - begun) / 50);
    const written = cpuMs();
    for (let each = 0; each < 50; each++) backlog.add({ at: turn * 1e6 + each * 15_000, values });
    keeps.push((cpuMs() - written) / 50);
  }
  process.stdout.write(
    `agent: ${Object.keys(values).length} series, ${us(median(collects))} CPU to read them, ${us(median(keeps))} to keep them\n`,
  );
  return values;
}

/** Samples of so many series. */
const widened = (values: Record<string, number>, count: number): Record<string, number> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => Object.entries(values)[n] ?? [`more.n_${n}`, n]),
  );

async function orchestratorMessage(values: Record<string, number>): Promise<void> {
  const transport = new MemoryTransport();
  const storage = new FileStorage({ folder: join(folder, "data") });
  const orchestrator = new Orchestrator({ storage, transport });
  await orchestrator.start();
  const agents: TestAgent[] = [];
  // No agent may send more than 120 messages a minute.
  while (agents.length < 200) {
    const seed = nodeCrypto.createSigningKeyPair().secretKey;
    const agent = new TestAgent(transport.connect(), { crypto: nodeCrypto, seed });
    await agent.join();
    await orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
    agents.push(agent);
  }
  for (const count of [20, 60]) {
    const wide = widened(values, count);
    const taken: number[] = [];
    for (let turn = 0; turn < 9; turn++) {
      const base = Date.now() - (count === 20 ? 80_000_000 : 40_000_000) + turn * 2_000_000;
      const frames = agents.map((agent) =>
        Array.from({ length: messages }, (_, n) =>
          agent.session.encode({
            type: "metrics",
            samples: [{ at: new Date(base + n * 15_000).toISOString(), values: { ...wide, "load.1": n } }],
            gap: false,
          }),
        ),
      );
      const begun = cpuMs();
      for (let n = 0; n < messages; n++) {
        agents.forEach(({ socket }, index) => frames[index]?.[n]?.forEach((frame) => socket.send(frame)));
        await new Promise((resolve) => setImmediate(resolve));
      }
      const last = base + (messages - 1) * 15_000;
      const { nodeId } = agents.at(-1) as TestAgent;
      for (;;) {
        const stored = await storage.series.query(nodeId, { from: last, to: last + 1, series: ["load.1"] });
        if (stored["load.1"]) break;
        await new Promise((resolve) => setImmediate(resolve));
      }
      taken.push((cpuMs() - begun) / (agents.length * messages));
    }
    process.stdout.write(
      `orchestrator: ${us(median(taken))} CPU for a message with one sample of ${count} series\n`,
    );
  }
  await orchestrator.stop();
}

/** A day of one agent, asked over HTTP, with so many agents stored. */
async function day(values: Record<string, number>, count: number): Promise<void> {
  const storage = new FileStorage({ folder: join(folder, `day-${count}`) });
  const transport = new MemoryTransport();
  const orchestrator = new Orchestrator({ storage, transport });
  await orchestrator.start();
  const agent = new TestAgent(transport.connect(), { crypto: nodeCrypto, seed: new Uint8Array(32).fill(1) });
  await agent.join();
  const { nodeId: node_id } = agent;
  const now = Date.now();
  const wide = widened(values, 20);
  const rows = Array.from({ length: 5_760 }, (_, n) => ({
    at: now - 86_400_000 + n * 15_000,
    values: Object.fromEntries(
      Object.keys(wide).map((name, i) => [name, Math.round(1_000 * Math.sin(n / 100 + i))]),
    ),
  }));
  for (let other = 0; other < count; other++)
    await storage.series.append(
      other === 0 ? node_id : `${other}`.padStart(32, "0"),
      other === 0 ? rows : rows.slice(-240),
    );
  // An agent's newest ten minutes wait for their chunk, not its day.
  await (storage.series as FileSeries).upkeep();
  const signer = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
  const public_key = Buffer.from(signer.publicKey).toString("hex");
  await orchestrator.operators.add(systemCaller, { username: "ada", public_key, role: "Viewer" });
  const anonymous = { kind: "anonymous" } as const;
  const { challenge_id, message } = await orchestrator.access.challenge(anonymous, { public_key });
  const signature = Buffer.from(signer.sign(Buffer.from(message))).toString("hex");
  const { token } = await orchestrator.access.verify(anonymous, { challenge_id, signature });
  const listening = await listenApp(createOrchestratorApp({ orchestrator }), { port: 0 });
  const from = new Date(now - 86_390_000).toISOString();
  const asked = [`from=${from}`, `from=${from}&series=load.1`, `from=${from}&step_seconds=44`];
  for (const query of asked) {
    const times: number[] = [];
    let bytes = 0;
    for (let turn = 0; turn < 15; turn++) {
      const begun = performance.now();
      const url = `${listening.url}/api/v1/agents/${node_id}/metrics?${query}`;
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
      bytes = (await answer.text()).length;
      if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`);
      times.push(performance.now() - begun);
    }
    const what = query.replace(/^from=[^&]*&?/, "") || "all of 20 series";
    process.stdout.write(
      `a day over HTTP, ${count} agents stored, ${what}: ${median(times).toFixed(1)} ms, ${bytes} bytes\n`,
    );
  }
  await listening.close();
  await orchestrator.stop();
}

try {
  const values = await agentSample();
  // First: what the messages of all agents leave to collect and to merge would count here.
  for (const count of [10, 1_000]) await day(values, count);
  await orchestratorMessage(values);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

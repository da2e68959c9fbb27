/**
 * kill -9 of the real server, again and again, while twenty agents report and a client writes. What was acknowledged is
 * there afterwards, once; the audit log verifies; every operation ends. FLEETWRIGHT_SEEDS="<n>-<n>" repeats a run.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { Client } from "fleetwright/client";
import { FleetLoad } from "../support/fleet-load.ts";
import { eventually, startServerProcess } from "../support/processes.ts";
import { seededRandom } from "../support/random.ts";
import { isSoak, seedsFor } from "../support/soak.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const agentsProgram = fileURLToPath(new URL("../support/agents-process.ts", import.meta.url));
const agentCount = 20;
const rounds = isSoak ? 100 : 6;
const [seed = 0] = seedsFor({ usual: 1, soak: 1 });

test(
  `a server that is killed ${rounds} times has lost and doubled nothing`,
  { timeout: isSoak ? 3_600_000 : 240_000 },
  async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder, "data");
    const random = seededRandom(seed);
    let server = await startServerProcess(dataDir);
    onTestFinished(() => server[Symbol.asyncDispose]());
    const port = Number(new URL(server.url).port);
    let agents = await startAgents(server.url, join(folder, "agents"));
    const load = new FleetLoad(await approveAll(server.client), random);
    await load.prepare(server.client);

    // They wait longer with each connection that was cut; anew, they dial at once.
    const restartAgents = async (): Promise<void> => {
      await killed(agents);
      agents = await startAgents(server.url, join(folder, "agents"));
    };
    for (let round = 0; round < rounds; round++) {
      let answersLeft = 5 + Math.floor(random() * 100);
      let killed: Promise<unknown> = Promise.resolve();
      await load.run(server.client, () => {
        if (--answersLeft === 0) killed = server.program.end("SIGKILL");
      });
      await killed;
      server = await startServerProcess(dataDir, port);
      if (round % 2 === 1) await restartAgents();
      await load.check(server.client).catch((cause: unknown) => {
        throw new Error(
          `Seed ${seed}, round ${round}: ${String(cause)} Repeat with FLEETWRIGHT_SEEDS=${seed}-${seed}.`,
          { cause },
        );
      });
    }
    await restartAgents();
    await load.settle(server.client);
    await load.check(server.client);
    const { counts } = load;
    console.log(`Killed server, seed ${seed}: ${rounds} kills, ${JSON.stringify(counts)}`);
    expect(counts.acknowledged).toBeGreaterThan(rounds * 5);
    expect(counts.operations).toBeGreaterThan(0);
  },
);

/** Starts the agents; they end with the test, or before. */
async function startAgents(url: string, folder: string): Promise<ChildProcess> {
  const agentUrl = `${url.replace(/^http/, "ws")}/agent/v1`;
  const child = spawn(process.execPath, [
    "--import",
    "tsx",
    agentsProgram,
    agentUrl,
    folder,
    String(agentCount),
  ]);
  onTestFinished(() => killed(child));
  await once(child.stdout, "data");
  return child;
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "close");
  child.kill("SIGKILL");
  await ended;
}

/** Approves the agents when all of them are known. */
async function approveAll(client: Client): Promise<string[]> {
  const known = async () => (await client.agents.list({ limit: 100 })).items.map(({ node_id }) => node_id);
  await eventually("all agents are known", async () => (await known()).length === agentCount);
  const nodeIds = (await known()).sort();
  for (const nodeId of nodeIds) await client.agents.setStatus(nodeId, { status: "approved" });
  return nodeIds;
}

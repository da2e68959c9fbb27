/** What an agent measured, while both sides are killed over and over: nothing that was taken is lost, and nothing comes twice. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FileStorage } from "fleetwright";
import {
  eventually,
  startAgentProcess,
  startFleetMember,
  startServerProcess,
  type AgentProcess,
  type ServerProcess,
} from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const kills = 8;
const everySecond = ["--metrics-interval-seconds", "1"];

/** Times of the samples that an agent keeps on its disk now; null where that changed while it was read. */
function keptBy(folder: string): number[] | null {
  const kept = join(folder, "state", "metrics");
  if (!existsSync(kept)) return [];
  try {
    return readdirSync(kept).flatMap((name) =>
      [...readFileSync(join(kept, name), "utf8").matchAll(/^\[(\d+),.*\]$/gm)].map(([, at]) => Number(at)),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

test("no sample that was taken is lost, and none comes twice, whoever is killed", async () => {
  const folder = temporaryFolder();
  const [data, machine] = [join(folder, "data"), join(folder, "machine")];
  let server: ServerProcess = await startServerProcess(data, 0, {}, everySecond);
  const port = Number(new URL(server.url).port);
  let agent: AgentProcess = await startFleetMember(machine, server);
  const { nodeId } = agent;
  const taken = new Set<number>();
  let last = 0;
  const look = (): void => keptBy(machine)?.forEach((at) => taken.add(at));
  const looking = setInterval(look, 50);
  try {
    for (let kill = 0; kill < kills; kill++) {
      const before = taken.size;
      await eventually("more was measured", () => taken.size >= before + 3);
      if (kill % 3 !== 1) {
        await server.program.end("SIGKILL");
        server = await startServerProcess(data, port, {}, everySecond);
      }
      if (kill % 3 !== 0) {
        await agent.program.end("SIGKILL");
        look();
        agent = await startAgentProcess(machine, server.url);
      }
    }
    last = Math.max(...taken);
    await eventually("all of it was acknowledged", () => keptBy(machine)?.every((at) => at > last) ?? false);
  } finally {
    clearInterval(looking);
    await agent.program.end("SIGKILL");
    await server.program.end("SIGKILL");
  }
  const stored = await storedTimes(data, nodeId);
  const lost = [...taken].filter((at) => at <= last && !stored.includes(at));
  expect({ lost, stored }).toEqual({ lost: [], stored: [...new Set(stored)].sort((a, b) => a - b) });
}, 180_000);

async function storedTimes(folder: string, nodeId: string): Promise<number[]> {
  const storage = new FileStorage({ folder });
  await storage.open({ version: 1, collections: {}, logs: {} });
  try {
    const series = await storage.series.query(nodeId, { from: 0, to: Infinity, series: ["uptime.seconds"] });
    return (series["uptime.seconds"] ?? []).map(({ at }) => at);
  } finally {
    await storage.close();
  }
}

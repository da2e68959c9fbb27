/** A threshold over real processes: an agent that measures, a server that is killed and restarted while there is an alarm. */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ApiError, type Client } from "fleetwright/client";
import {
  eventually,
  startFleetMember,
  startServerProcess,
  type AgentProcess,
  type ServerProcess,
} from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const everySecond = ["--metrics-interval-seconds", "1"];

const alarmsOf = async (client: Client) => (await client.thresholds.alarms()).items;

/** What operators were notified of alarms, oldest first. */
async function toldBy(client: Client): Promise<string[]> {
  const { items } = await client.notifications.list({ limit: 100 });
  return items
    .filter(({ event_type }) => event_type.startsWith("metric."))
    .map(({ title, count }) => `${count} ${title}`)
    .toReversed();
}

/** Resolves when so many samples more of an agent have come. */
async function measured(client: Client, { nodeId }: AgentProcess, times: number): Promise<void> {
  const seen = new Set<string>();
  await eventually("it measures", async () => {
    // None has come yet where there is none.
    const latest = await client.metrics.latest(nodeId).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === "NO_METRICS") return null;
      throw error;
    });
    if (latest) seen.add(latest.collected_at);
    return seen.size > times;
  });
}

test("an alarm is told once, is there once over a kill and a restart of the server, and ends", async () => {
  const folder = temporaryFolder();
  const [data, machine] = [join(folder, "data"), join(folder, "machine")];
  const own = join(machine, "state", "metrics.d");
  mkdirSync(own, { recursive: true, mode: 0o755 });
  const setQueue = (length: number): void => {
    // At once: a sample in between would have no length.
    writeFileSync(join(own, "next"), `queue_length ${length}\n`, { mode: 0o644 });
    renameSync(join(own, "next"), join(own, "queue.prom"));
  };
  setQueue(1);
  let server: ServerProcess = await startServerProcess(data, 0, {}, everySecond);
  const port = Number(new URL(server.url).port);
  const agent = await startFleetMember(machine, server);
  try {
    const { id } = await server.client.thresholds.create({
      name: "Mail is stuck",
      metric: "custom.queue_length",
      condition: "above",
      value: 3,
      for_seconds: 2,
      recovery_seconds: 2,
      severity: "critical",
    });
    await measured(server.client, agent, 3);
    expect(await alarmsOf(server.client)).toEqual([]);
    setQueue(5);
    await eventually("there is an alarm", async () => (await alarmsOf(server.client)).length > 0);
    const [alarm] = await alarmsOf(server.client);
    expect(alarm).toMatchObject({ threshold_id: id, agent_name: "web-1", value: 5, severity: "critical" });
    // Killed before operators were notified, which takes two seconds, and ended after it.
    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      await server.program.end(signal);
      server = await startServerProcess(data, port, {}, everySecond);
      await measured(server.client, agent, 5);
      expect(await alarmsOf(server.client)).toEqual([alarm]);
    }
    const crossed = "1 Mail is stuck: custom.queue_length of web-1 is 5, above 3";
    expect(await toldBy(server.client)).toEqual([crossed]);

    setQueue(2);
    const recovered = "1 Mail is stuck: custom.queue_length of web-1 is back at 2";
    await eventually("it is told that it is over", async () => (await toldBy(server.client)).length > 1);
    expect(await toldBy(server.client)).toEqual([crossed, recovered]);
    expect(await alarmsOf(server.client)).toEqual([]);

    setQueue(5);
    await eventually("it is told again", async () => (await toldBy(server.client)).length > 2);
    await server.client.thresholds.update(id, { value: 10 });
    const back = "1 Mail is stuck: custom.queue_length of web-1 is back at 5";
    await eventually("the change ends it", async () => (await toldBy(server.client)).length > 3);
    expect(await toldBy(server.client)).toEqual([crossed, recovered, crossed, back]);
    expect(await alarmsOf(server.client)).toEqual([]);
  } finally {
    await agent.program.end("SIGKILL");
    await server.program.end("SIGKILL");
  }
}, 180_000);

/** A real server that is told to stop and lets its agents go over some seconds: it serves until the last has gone. */
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { eventually, startFleetMember, startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function closeReasonOf(socket: WebSocket): Promise<[number, string]> {
  const [code, reason] = (await once(socket, "close")) as [number, Buffer];
  return [code, reason.toString()];
}

/** Longer than a machine that is busy takes for all that is looked at meanwhile. */
const drainSeconds = 10;
const drain = ["--drain-seconds", String(drainSeconds)];

test(
  "SIGTERM: not ready, and serving, while agents are let go; streams end with the id of the last event",
  { timeout: 120_000 },
  async () => {
    const folder = temporaryFolder();
    await using server = await startServerProcess(join(folder, "data"), 0, {}, drain);
    await using agent = await startFleetMember(join(folder, "web-1"), server);
    const { client, url, program } = server;
    const isConnected = async (): Promise<boolean> => (await client.agents.get(agent.nodeId)).connected;
    await eventually("the agent is connected", isConnected);
    const stream = await client.request<ReadableStream<Uint8Array>>("GET", "/events", { asStream: true });
    const streamed = new Response(stream).text();

    const startMs = performance.now();
    const exited = program.end("SIGTERM");
    await eventually("it is not ready", async () => (await fetch(`${url}/readyz`)).status === 503);
    expect((await client.agents.list()).items).toHaveLength(1);
    expect(await isConnected()).toBe(true);
    const late = new WebSocket(`${url.replace("http", "ws")}/agent/v1`);
    expect(await closeReasonOf(late)).toEqual([1001, "UNAVAILABLE retry=1000"]);

    await client.tags.set(agent.nodeId, { key: "is", value: "draining" });
    // Signs of life stand between the messages, and behind the last one where the drain takes longer than their interval.
    const messages = (await streamed).replaceAll(/^: .*\n\n/gm, "");
    const passedMs = performance.now() - startMs;
    expect(passedMs).toBeGreaterThan(drainSeconds * 1_000 - 100);
    expect(passedMs).toBeLessThan(drainSeconds * 1_900);
    expect(messages).toMatch(/\nid: \S+\ndata: \{.*"draining".*\}\n\n$/);
    expect(await exited).toBe(0);
    await expect(fetch(`${url}/livez`)).rejects.toThrow();
  },
);

test("a second signal ends it at once", { timeout: 120_000 }, async () => {
  const folder = temporaryFolder();
  await using server = await startServerProcess(join(folder, "data"), 0, {}, ["--drain-seconds", "3600"]);
  await using agent = await startFleetMember(join(folder, "web-1"), server);
  const { client, url, program } = server;
  await eventually("the agent is there", async () => (await client.agents.get(agent.nodeId)).connected);
  const first = program.end("SIGTERM");
  await eventually("it is not ready", async () => (await fetch(`${url}/readyz`)).status === 503);
  const startMs = performance.now();
  await program.end("SIGINT");
  await first;
  expect(performance.now() - startMs).toBeLessThan(2_000);
});

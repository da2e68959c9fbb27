/** A server that is killed while it tells its channels what happened: nothing is lost, and each channel is told in order. */
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Delivery } from "fleetwright";
import type { Client } from "fleetwright/client";
import { appendEvents, fanOutFlags, faultsOf, startFanOutReceiver, tellAddress } from "../support/fan-out.ts";
import { eventually, startServerProcess } from "../support/processes.ts";
import { startReceiver } from "../support/receiver.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const count = 300;

async function countOf(client: Client, id: string, status: Delivery["status"]): Promise<number> {
  const found = new Set<string>();
  let cursor: string | null | undefined;
  do {
    const page = await client.channels.deliveries(id, { status, limit: 500, ...(cursor && { cursor }) });
    // The first Admin was added, too.
    for (const { id: delivery, title } of page.items) if (/op-\d/.test(title)) found.add(delivery);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return found.size;
}

it(
  "each message arrives at least once and in order, wherever the server is killed; dead letters are whole, and a dead channel holds up no other",
  { timeout: 180_000 },
  async () => {
    await using one = await startFanOutReceiver();
    await using other = await startFanOutReceiver();
    const refusing = await startReceiver((response) => {
      response.statusCode = 404;
      response.end();
    });
    const dataDir = join(temporaryFolder(), "data");
    const server = await startServerProcess(dataDir, 0, {}, fanOutFlags);
    const ids = [
      await tellAddress(server.client, "one", one.url),
      await tellAddress(server.client, "other", other.url),
      await tellAddress(server.client, "refusing", refusing.url),
      // Nobody listens there.
      await tellAddress(server.client, "gone", "http://127.0.0.1:1/"),
    ] as const;
    const port = Number(new URL(server.url).port);
    await server.program.end();
    await appendEvents(dataDir, count);

    for (const until of [1, 60, 61, 150, 220]) {
      await using killed = await startServerProcess(dataDir, port, {}, fanOutFlags);
      await eventually("some have arrived", () => one.numbers.length >= until);
      await killed.program.end("SIGKILL");
    }
    await using last = await startServerProcess(dataDir, port, {}, fanOutFlags);
    const { client } = last;
    await expect
      .poll(
        () =>
          Promise.all([
            countOf(client, ids[0], "delivered"),
            countOf(client, ids[1], "delivered"),
            countOf(client, ids[2], "dead"),
          ]),
        { timeout: 120_000, interval: 500 },
      )
      .toEqual([count, count, count]);
    expect([faultsOf(one, count), faultsOf(other, count)]).toEqual([[], []]);
    // A kill repeats one message of a channel at most.
    expect(one.numbers.length).toBeLessThanOrEqual(count + 5);
    const dead = new Set(refusing.received.map(({ headers }) => headers["webhook-id"]));
    expect(dead.size).toBe(count + 1);
    expect(await countOf(client, ids[3], "pending")).toBe(count);
    const { items } = await client.notifications.list({ limit: 500 });
    expect(items.filter(({ event_type }) => event_type === "operator.added")).toHaveLength(count + 1);
    expect(items.filter(({ event_type }) => event_type === "channel.failed").length).toBeGreaterThan(0);
  },
);

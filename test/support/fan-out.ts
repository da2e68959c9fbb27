/** Many events at once, each of which is told by itself, to channels of a real server; and what their receivers got. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Client } from "fleetwright/client";
import { systemClock } from "../../lib/clock.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { eventLog } from "../../lib/feed/event-record.ts";
import { createIds } from "../../lib/ids.ts";
import { storageSchema } from "../../lib/storage-schema.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import type { Write } from "../../lib/storage/storage.ts";

/** Flags of a server whose channels may reach this machine. */
export const fanOutFlags = ["--channel-networks", "127.0.0.1"];

/** Appends events to the data of a server that is not running: `operator.added`, of `op-0` and so on. */
export async function appendEvents(dataDir: string, count: number): Promise<void> {
  const storage = new FileStorage({ folder: dataDir });
  await storage.open(storageSchema);
  const ids = createIds(systemClock, nodeCrypto);
  for (let from = 0; from < count; from += 500) {
    const writes = Array.from({ length: Math.min(500, count - from) }, (_, n): Write => {
      const at = systemClock.now();
      const value = {
        id: ids.next(),
        timestamp: new Date(at).toISOString(),
        event_type: "operator.added",
        severity: "info",
        actor: { type: "system", id: "system", name: "system" },
        target: { type: "operator", id: `id-${from + n}`, name: `op-${from + n}` },
        summary: `Operator op-${from + n} was added`,
        metadata: { role: "Viewer" },
      };
      return { kind: "append", log: eventLog, at, value };
    });
    await storage.commit(writes);
  }
  await storage.close();
}

/** A receiver that takes every message. */
export interface FanOutReceiver extends AsyncDisposable {
  url: string;
  /** The number of the event of each message, in the order in which they came. */
  numbers: number[];
  /** The ids of the messages. */
  ids: string[];
}

/** Starts one. Messages about anything else than {@link appendEvents} are taken, and not kept. */
export async function startFanOutReceiver(): Promise<FanOutReceiver> {
  const [numbers, ids]: [number[], string[]] = [[], []];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      const { data } = JSON.parse(body) as { data: { id: string; subject: { name: string } } };
      const number = /^op-(\d+)$/.exec(data.subject.name)?.[1];
      if (number !== undefined) {
        numbers.push(Number(number));
        ids.push(data.id);
      }
      response.end();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    numbers,
    ids,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Makes a channel that tells an address of added operators. Resolves with its id. */
export async function tellAddress(client: Client, name: string, url: string): Promise<string> {
  const channel = { name, type: "webhook", config: { url }, events: ["operator.added"] };
  return (await client.channels.create(channel)).id;
}

/** What is wrong with what a receiver got of so many events: each must be there, in order, and what came twice with its id of before. */
export function faultsOf({ numbers, ids }: FanOutReceiver, count: number): string[] {
  const first = new Map<number, string>();
  const faults: string[] = [];
  let newest = -1;
  for (const [at, number] of numbers.entries()) {
    const known = first.get(number);
    if (known === undefined) {
      if (number !== newest + 1) faults.push(`${number} came after ${newest}`);
      newest = number;
      first.set(number, ids[at]!);
    } else if (known !== ids[at]) faults.push(`${number} came again with another id`);
  }
  for (let number = 0; number < count; number += 1)
    if (!first.has(number)) faults.push(`${number} is missing`);
  return faults.slice(0, 10);
}

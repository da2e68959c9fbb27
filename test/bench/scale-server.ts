/**
 * One of two servers under many connections, in a process of its own: `scale-server.ts product <folder>`, or `scale-server.ts bare`, which
 * sends and gets the same messages over bare `ws`. Tells where it listens, and answers what it is asked.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import { startServer } from "../../adapters/h3/server.ts";
import { bareCommand, bareMessages } from "./scale-messages.ts";

const { FileStorage, systemCaller } = await import("fleetwright");

/** What a server is asked: what it takes so far, or to run `true` on everybody and wait for all answers. */
export type Asked = "cost" | "run";
/** What a server takes: CPU so far in milliseconds, the collections that these questions make left out, and memory in bytes after one. */
export interface Cost {
  cpuMs: number;
  heap: number;
  resident: number;
}

interface Server {
  url: string;
  run(): Promise<void>;
}

async function startProduct(folder: string): Promise<Server> {
  const storage = new FileStorage({ folder });
  const { agentUrl, orchestrator } = await startServer({ storage, listen: { port: 0 } });
  return {
    url: agentUrl,
    async run() {
      const input = { selector: "*", command: "true", wait_seconds: 300 };
      const { status, counts } = await orchestrator.runs.start(systemCaller, input);
      if (status !== "succeeded") throw new Error(`The run is ${status}: ${JSON.stringify(counts)}.`);
    },
  };
}

async function startBare(): Promise<Server> {
  const http = createServer();
  const server = new WebSocketServer({ server: http, perMessageDeflate: false });
  let left = 0;
  let tellAll = (): void => {};
  server.on("connection", (socket: WebSocket) => {
    socket.on("message", () => {
      left -= 1;
      if (left === 0) tellAll();
    });
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/`,
    async run() {
      left = server.clients.size * bareMessages;
      const all = new Promise<void>((resolve) => (tellAll = resolve));
      for (const socket of server.clients) socket.send(bareCommand);
      await all;
    },
  };
}

let collectingMs = 0;

function cost(): Cost {
  const { user, system } = process.cpuUsage();
  for (let turn = 0; turn < 3; turn += 1) globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  const cpuMs = (user + system) / 1_000 - collectingMs;
  const after = process.cpuUsage();
  collectingMs += (after.user + after.system - user - system) / 1_000;
  return { cpuMs, heap: heapUsed + external, resident: rss };
}

const [, , kind = "", folder = ""] = process.argv;
const server = kind === "product" ? await startProduct(folder) : await startBare();
process.on("message", (asked: Asked) => {
  const answer = asked === "run" ? server.run().then(() => null) : Promise.resolve(cost());
  void answer.then((told) => process.send?.(told));
});
process.on("disconnect", () => process.exit());
process.send?.(server.url);

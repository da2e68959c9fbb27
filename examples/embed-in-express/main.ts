/** An Express program with a fleet inside: its own pages at the root, REST, tRPC, the API reference and the agents' socket below `/fleet`. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { MemoryStorage, Orchestrator, SocketTransport } from "fleetwright";
import { createClient } from "fleetwright/client";
import { createOrchestratorApp } from "fleetwright/h3";

const transport = new SocketTransport();
await using orchestrator = new Orchestrator({ storage: new MemoryStorage(), transport });
await orchestrator.start();
const fleet = createOrchestratorApp({ orchestrator, transport, mountPath: "/fleet" });

const app = express();
// Before anything that reads bodies, such as express.json().
app.all("/fleet/{*path}", fleet.listener);
app.get("/", (_, response) => void response.send("My own program."));

const server = createServer(app);
server.on("upgrade", (request, socket, head) => {
  if (request.url?.startsWith("/fleet/")) fleet.sockets.upgrade(request, socket, head);
  else socket.destroy();
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

console.log(await (await fetch(url)).text());
const { status } = await createClient({ url: `${url}/fleet` }).status.get();
console.log(`The fleet is ${status}; its API reference is at /fleet/docs.`);

fleet.sockets.closeAll();
server.closeAllConnections();
server.close();

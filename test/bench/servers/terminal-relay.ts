/**
 * The least that a terminal through a server costs on Node, for comparison: bytes passed between a viewer and a shell over bare `ws`, with nothing
 * encrypted, checked or recorded. `terminal-relay.ts` passes them on and tells its address; `terminal-relay.ts <url>` has the shell.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { spawn } from "@lydell/node-pty";
import { WebSocket, WebSocketServer } from "ws";

const [, , url] = process.argv;
if (url === undefined) process.send?.(await relay());
else {
  await shell(url);
  process.send?.("started");
}
process.on("disconnect", () => process.exit());

/** Gives the address; each two who connect to it, one after the other, are passed to each other. */
async function relay(): Promise<string> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
  const ends: WebSocket[] = [];
  server.on("connection", (socket) => {
    if (ends.length === 2) ends.length = 0;
    const own = ends.push(socket) - 1;
    socket.on("message", (bytes) => ends[1 - own]?.send(bytes));
  });
  await once(server, "listening");
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function shell(address: string): Promise<void> {
  const socket = new WebSocket(address, { perMessageDeflate: false });
  await once(socket, "open");
  const program = spawn("/bin/sh", [], { encoding: null, env: { ...process.env, TERM: "xterm" } });
  // Typed as text, and bytes where no encoding is wanted.
  program.onData((bytes) => socket.send(bytes));
  socket.on("message", (bytes: Buffer) => program.write(bytes.toString("latin1")));
}

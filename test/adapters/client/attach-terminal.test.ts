/** Attaching to a terminal of a server that does not speak as ours does. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { attachTerminal, type TerminalSocket } from "fleetwright/client";

/** A server that says this to whoever attaches; its address. */
async function startServer(said: string): Promise<string> {
  const http = createServer().listen(0, "127.0.0.1");
  const sockets = new WebSocketServer({ server: http });
  sockets.on("connection", (socket) => socket.once("message", () => socket.send(said)));
  onTestFinished(() => {
    sockets.close();
    http.close();
  });
  await once(http, "listening");
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

test.each(["", "<html>", "null", "7", '"opened"', "[]", "{}"])(
  "a server that says %j is left, without an error that nobody can catch",
  async (said) => {
    const url = await startServer(said);
    const messages: unknown[] = [];
    await new Promise<void>((resolve) => {
      attachTerminal(
        url,
        { websocket_url: "/terminal", ticket: "t" },
        {
          connect: (target, protocol) => new WebSocket(target, protocol) as unknown as TerminalSocket,
          output: () => {},
          message: (message) => messages.push(message),
          ended: resolve,
        },
      );
    });
    expect(messages).toEqual([]);
  },
);

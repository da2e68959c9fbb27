/** Attaching to a terminal of a server that does not speak as ours does. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { attachTerminal, type TerminalSocket } from "fleetwright/client";
import { deferred, settle } from "../../support/deferred.ts";

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

test("the end of a terminal is told when all that came before it was shown", async () => {
  const listeners = new Map<string, ((event: { data: unknown }) => void)[]>();
  const socket: TerminalSocket = {
    binaryType: "",
    readyState: 1,
    addEventListener: (type: string, listener: (event: { data: unknown }) => void) =>
      void listeners.set(type, [...(listeners.get(type) ?? []), listener]),
    send() {},
    close() {},
  };
  const tell = (type: string, data?: unknown): void => listeners.get(type)?.forEach((each) => each({ data }));
  const shown: string[] = [];
  const screen = deferred();
  attachTerminal(
    "http://127.0.0.1:9",
    { websocket_url: "/terminal", ticket: "t" },
    {
      connect: () => socket,
      output: async (bytes) => {
        await screen.promise;
        shown.push(new TextDecoder().decode(bytes));
      },
      message: ({ type }) => shown.push(type),
      ended: () => shown.push("ended"),
    },
  );
  tell("open");
  for (const piece of ["one", "two"]) tell("message", new TextEncoder().encode(piece).buffer);
  tell("message", JSON.stringify({ type: "closed", status: "closed", reason: "exit" }));
  tell("close");
  await settle();
  expect(shown).toEqual([]);
  screen.resolve();
  await expect.poll(() => shown).toEqual(["one", "two", "closed", "ended"]);
});

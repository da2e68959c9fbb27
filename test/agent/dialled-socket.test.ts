/** A connection that was dialled, as whoever talks over it sees it. */
import { getEventListeners, once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { TLSSocket } from "node:tls";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { createAuthority, issueCertificate } from "../../adapters/cli/work/tls/authority.ts";
import { dialWebSocket, type WebSocketDialOptions } from "../../lib/agent/websocket-dial.ts";
import { tlsExporterLabel, type FrameSocket } from "../../lib/transport/socket.ts";
import { maxFrameBytes } from "../../lib/wire/limits.ts";
import { settleAll } from "../support/deferred.ts";

interface Scene {
  server: WebSocketServer;
  /** The server's end. */
  other: WebSocket;
  socket: FrameSocket;
  headers: Record<string, unknown>;
  /** What came, in order. */
  heard: unknown[];
  listen: () => void;
}

async function scene(options: WebSocketDialOptions = {}, secure?: Server): Promise<Scene> {
  const server = new WebSocketServer(secure ? { server: secure } : { port: 0, host: "127.0.0.1" });
  if (secure) secure.listen(0, "127.0.0.1");
  onTestFinished(async () => {
    for (const client of server.clients) client.terminate();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    secure?.close();
  });
  await once(secure ?? server, "listening");
  const { port } = (secure ?? server).address() as AddressInfo;
  let headers: Record<string, unknown> = {};
  const connected = once(server, "connection").then(([client, request]) => {
    headers = (request as { headers: Record<string, unknown> }).headers;
    return client as WebSocket;
  });
  const socket = await dialWebSocket(`${secure ? "wss" : "ws"}://127.0.0.1:${port}/agent/v1`, options);
  const other = await connected;
  const heard: unknown[] = [];
  const listen = (): void =>
    socket.listen({
      frame: (frame) => void heard.push(typeof frame === "string" ? frame : [...frame]),
      closed: (code, reason) => void heard.push({ code, reason }),
    });
  return { server, other, socket, headers, heard, listen };
}

const comes = (list: readonly unknown[], count: number): Promise<void> =>
  vi.waitFor(() => expect(list.length).toBeGreaterThanOrEqual(count), 30_000);

test("hands over what came before somebody listens, texts as texts and bytes as bytes", async () => {
  const { other, heard, listen, socket, headers } = await scene();
  for (const frame of ["one é", Uint8Array.of(1, 2), "", Uint8Array.of()]) other.send(frame);
  listen();
  await comes(heard, 4);
  expect(heard).toEqual(["one é", [1, 2], "", []]);
  expect([socket.remoteAddress, socket.tlsExporter]).toEqual(["127.0.0.1", null]);
  // Sealed frames can't be packed, and to try costs memory.
  expect(headers).not.toHaveProperty(["sec-websocket-extensions"]);
});

test("hands over nothing while it is paused, and all of it then", async () => {
  const { server, other, heard, listen, socket } = await scene();
  listen();
  socket.pause();
  other.send("one");
  other.send("two");
  // What is sent later than both has come by another way, there and back.
  const second = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await once(second, "open");
  await settleAll();
  second.terminate();
  expect(heard).toEqual([]);
  socket.resume();
  await comes(heard, 2);
  expect(heard).toEqual(["one", "two"]);
});

test("knows that the other end lives when it answers, each time and for all who wait", async () => {
  const { other, socket, listen } = await scene();
  let asked = 0;
  other.on("ping", () => (asked += 1));
  listen();
  await Promise.all([socket.probe(), socket.probe()]);
  expect(asked).toBeGreaterThan(0);
  const before = asked;
  await socket.probe();
  expect(asked).toBe(before + 1);
});

test("is closed once, with the code and the reason that were given first, and hears and says nothing then", async () => {
  const { other, heard, listen, socket } = await scene();
  const said: string[] = [];
  other.on("message", (data) => void said.push(String(data)));
  const closed = once(other, "close");
  listen();
  socket.pause();
  other.send("late");
  socket.send("before");
  socket.close(1000, "first");
  socket.close(1002, "second");
  socket.send("after");
  socket.pause();
  const [code, reason] = (await closed) as [number, Buffer];
  expect([code, reason.toString(), said]).toEqual([1000, "first", ["before"]]);
  await comes(heard, 1);
  expect(heard).toEqual([{ code: 1000, reason: "first" }]);
  socket.send("long after");
});

test("says why the other end closed it, and takes what is sent after that for lost", async () => {
  const { other, heard, listen, socket } = await scene();
  listen();
  other.close(1013, "come again");
  await comes(heard, 1);
  expect(heard).toEqual([{ code: 1013, reason: "come again" }]);
  expect(() => socket.send("late")).not.toThrow();
  expect(() => socket.send(Uint8Array.of(1))).not.toThrow();
  expect(() => socket.close(1000, "")).not.toThrow();
});

test("is gone at once where it is destroyed", async () => {
  const { other, heard, listen, socket } = await scene();
  const closed = once(other, "close");
  listen();
  socket.destroy();
  other.send("late");
  await closed;
  await comes(heard, 1);
  expect(heard).toEqual([{ code: 1006, reason: "" }]);
});

test("takes a frame of just as many bytes as there may be, and ends with one of more", async () => {
  const { other, heard, listen, socket } = await scene();
  let most = 0;
  socket.listen({ frame: ({ length }) => void (most = Math.max(most, length)), closed: () => {} });
  other.send(Buffer.alloc(maxFrameBytes));
  await vi.waitFor(() => expect(most).toBe(maxFrameBytes), 30_000);
  const closed = once(other, "close");
  listen();
  other.send(Buffer.alloc(maxFrameBytes + 1));
  expect((await closed)[0]).toBe(1009);
  await comes(heard, 1);
});

test("counts what is sent and still here", async () => {
  const { other, socket } = await scene();
  expect(socket.bufferedBytes).toBe(0);
  other.pause();
  for (let piece = 0; piece < 64; piece += 1) socket.send(Buffer.alloc(1024 * 1024));
  expect(socket.bufferedBytes).toBeGreaterThan(1024 * 1024);
});

test("needs the signal no more once it is there: an abort after that is not its affair", async () => {
  const abort = new AbortController();
  const { socket, listen, other, heard } = await scene({ signal: abort.signal });
  expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  listen();
  abort.abort();
  other.send("still here");
  await comes(heard, 1);
  await socket.probe();
});

test("over TLS has what both ends alone know of it, from a server that is trusted or one that need not be", async () => {
  const now = Date.now();
  const authority = await createAuthority("test", now - 86_400_000);
  const { cert, key } = await issueCertificate({ authority, names: ["127.0.0.1"], nowMs: now });
  for (const options of [{ ca: authority.cert }, { allowUntrustedCertificate: true }]) {
    const secure = createServer({ cert, key });
    const exporters: Buffer[] = [];
    secure.on("secureConnection", (tls) => {
      if (tls instanceof TLSSocket)
        exporters.push(tls.exportKeyingMaterial(32, tlsExporterLabel, Buffer.alloc(0)));
    });
    const { socket } = await scene(options, secure);
    expect(exporters).toHaveLength(1);
    expect(socket.tlsExporter).toEqual(exporters[0]);
  }
});

import { randomBytes } from "node:crypto";
import { getEventListeners, once } from "node:events";
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { WebSocketServer } from "ws";
import { dialWebSocket } from "../../lib/agent/websocket-dial.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function listen(answer: string | null): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => answer !== null && socket.end(answer));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/agent/v1`;
}

test("rejects where nobody listens", async () => {
  const url = await listen(null);
  await new Promise((resolve) => servers.splice(0)[0]?.close(resolve));
  await expect(dialWebSocket(url)).rejects.toThrow("ECONNREFUSED");
});

test("rejects where the answer is no upgrade, and follows no redirect", async () => {
  const url = await listen("HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  await expect(dialWebSocket(url)).rejects.toThrow("302");
});

test("keeps nothing of a try that failed: an agent may try for months", async () => {
  const url = await listen(null);
  await new Promise((resolve) => servers.splice(0)[0]?.close(resolve));
  const { signal } = new AbortController();
  for (let n = 0; n < 3; n++)
    await expect(dialWebSocket(url, { signal, connectTimeoutMs: 1_000 })).rejects.toThrow("ECONNREFUSED");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("rejects where no answer comes in time", async () => {
  await expect(dialWebSocket(await listen(null), { connectTimeoutMs: 50 })).rejects.toThrow("timed out");
});

test("rejects when the signal aborts, before or while it connects", async () => {
  const url = await listen(null);
  await expect(dialWebSocket(url, { signal: AbortSignal.abort() })).rejects.toThrow("abort");
  const abort = new AbortController();
  const dialled = dialWebSocket(url, { signal: abort.signal });
  abort.abort();
  await expect(dialled).rejects.toThrow("closed before");
});

test("rejects for a url that is not one of WebSocket", async () => {
  await expect(dialWebSocket("ftp://127.0.0.1/")).rejects.toThrow("protocol");
});

test("masks what is readable, and leaves sealed frames, which read as random bytes, without a mask", async () => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  await once(server, "listening");
  const raw: Buffer[] = [];
  const received: Buffer[] = [];
  server.on("connection", (socket, request) => {
    // Before ws, which takes masks off in place.
    request.socket.prependListener("data", (bytes: Buffer) => raw.push(Buffer.from(bytes)));
    socket.on("message", (data) => received.push(data as Buffer));
  });
  const socket = await dialWebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const sealed = randomBytes(40);
  const long = randomBytes(70_000);
  socket.listen({ frame: () => {}, closed: () => {} });
  for (const frame of ["readable one", sealed, "readable two", long, "readable three"]) socket.send(frame);
  await socket.probe();
  socket.close(1000, "readable four");
  await vi.waitFor(() => expect(server.clients.size).toBe(0), 30_000);
  expect(received.map(String)).toEqual(
    ["readable one", sealed, "readable two", long, "readable three"].map(String),
  );
  const wire = Buffer.concat(raw);
  expect(wire.includes("readable")).toBe(false);
  const unmasked = (length: number[], payload: Buffer): Buffer =>
    Buffer.from([0x82, 0x80 | (length[0] ?? 0), ...length.slice(1), 0, 0, 0, 0, ...payload]);
  expect(wire.includes(unmasked([40], sealed))).toBe(true);
  expect(wire.includes(unmasked([127, 0, 0, 0, 0, 0, 1, 0x11, 0x70], long))).toBe(true);
});

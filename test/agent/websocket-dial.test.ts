import { getEventListeners } from "node:events";
import { createServer, type Server } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
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

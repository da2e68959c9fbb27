/** What is refused of those who ask for a WebSocket, and how; and how long a connection is kept that asks for nothing. */
import { expect, onTestFinished, test } from "vitest";
import { createOrchestratorApp } from "fleetwright/h3";
import { createTestOrchestrator } from "fleetwright/testing";
import { listenOnLoopback } from "../../support/http.ts";
import { sendRaw } from "../../support/raw-http.ts";

async function start(): Promise<number> {
  const { orchestrator, transport, ...test } = await createTestOrchestrator();
  const server = await listenOnLoopback(createOrchestratorApp({ orchestrator, transport }));
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await test[Symbol.asyncDispose]();
  });
  return server.port;
}

const wish = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/** Asks for a socket, and gives the answer to that: its status, its headers and its body. */
async function ask(port: number, first: string, ...headers: string[]) {
  const lines = [`${first} HTTP/1.1`, `Host: 127.0.0.1:${port}`, ...wish, ...headers, "", ""];
  const { closed } = await sendRaw(port, lines.join("\r\n"));
  const [head = "", body = ""] = (await closed).split("\r\n\r\n");
  const [line = "", ...fields] = head.split("\r\n");
  const named = Object.fromEntries(
    fields.map((field) => [field.split(": ", 1)[0]!.toLowerCase(), field.replace(/^[^:]*: /, "")]),
  );
  return { line, headers: named, body };
}

const session = "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11";

test.each<[string, string, string[], string, string]>([
  ["nothing is", "GET /nothing", [], "404 Not Found", "NOT_FOUND"],
  ["a page is", "GET /docs", [], "404 Not Found", "NOT_FOUND"],
  ["a socket is, with POST", "POST /agent/v1", [], "405 Method Not Allowed", "METHOD_NOT_ALLOWED"],
  ["a socket is, with HEAD", "HEAD /agent/v1", [], "405 Method Not Allowed", "METHOD_NOT_ALLOWED"],
  [
    "a socket is, from elsewhere",
    "GET /agent/v1",
    ["Origin: http://evil.example"],
    "403 Forbidden",
    "ORIGIN_REFUSED",
  ],
  ["no terminal can be", "GET /api/v1/terminal/session/1/attach", [], "404 Not Found", "NOT_FOUND"],
  [
    "more than a terminal is",
    `GET /api/v1/terminal/session/${session}/attach/x`,
    [],
    "404 Not Found",
    "NOT_FOUND",
  ],
])("who asks for a socket where %s is refused with a problem", async (_where, first, more, line, code) => {
  const port = await start();
  const asked = await ask(port, first, "X-Request-Id: mine-1", ...more);
  expect([asked.line, JSON.parse(asked.body)]).toEqual([
    `HTTP/1.1 ${line}`,
    expect.objectContaining({ code, request_id: "mine-1", status: Number(line.slice(0, 3)) }),
  ]);
  expect(asked.headers).toMatchObject({
    "content-type": "application/problem+json",
    "content-length": String(Buffer.byteLength(asked.body)),
    "x-request-id": "mine-1",
    connection: "close",
  });
  expect(asked.headers["allow"]).toBe(code === "METHOD_NOT_ALLOWED" ? "GET" : undefined);
});

test("who is refused and brings no id, or one that could do harm, gets one, and each another", async () => {
  const port = await start();
  const ids = [];
  for (const given of [[], ["X-Request-Id: a b"], [`X-Request-Id: ${"x".repeat(65)}`]]) {
    const { headers, body } = await ask(port, "GET /nothing", ...given);
    expect((JSON.parse(body) as { request_id: string }).request_id).toBe(headers["x-request-id"]);
    ids.push(headers["x-request-id"]);
  }
  expect(new Set(ids).size).toBe(3);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}-[0-9a-z]+$/);
});

test("a connection is kept for the next request longer than proxies keep it", async () => {
  const port = await start();
  const asked = `GET /livez HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
  const connection = await sendRaw(port, asked);
  onTestFinished(() => void connection.socket.destroy());
  const [, seconds] = /\r\nkeep-alive: timeout=(\d+)\r\n/i.exec(await connection.until(/"ok"/)) ?? [];
  // Those of nginx, of HAProxy and of the load balancers of clouds keep it for a minute.
  expect(Number(seconds)).toBeGreaterThan(60);
});

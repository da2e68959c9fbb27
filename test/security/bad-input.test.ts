import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Call } from "../support/http.ts";
import { sendRaw } from "../support/raw-http.ts";
import { serve, type TestServer } from "../support/server.ts";
import { bodies, get, headers, json, nodeId, paths, strangers, values } from "./bad-input-cases.ts";

let orchestrator: TestOrchestrator;
let server: TestServer;
let token: string;

beforeAll(async () => {
  orchestrator = await createTestOrchestrator();
  server = await serve(orchestrator.orchestrator, new Map([["/agent/v1", {}]]));
  ({ token } = await orchestrator.signIn("Admin", "root"));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await orchestrator[Symbol.asyncDispose]();
});

/** A request of a signed-in Admin, unless its headers say otherwise. */
function signed(call: Call): Call {
  return { ...call, headers: { authorization: `Bearer ${token}`, ...call.headers } };
}
const pageOfSecrets = /\bat .*\.(?:ts|js):\d+|node_modules|\/lib\/|\/adapters\/|zod|TRPCError/i;

describe.each([
  ["a body", bodies],
  ["a value", values],
  ["a path or query", paths],
  ["a header", headers],
  ["a stranger", strangers],
])("%s that is refused", (_title, refused) => {
  test.each(refused)("%s", async (_name, call, status, code, pointer) => {
    const answer = await server.call(signed(call));
    expect(answer.json).toMatchObject({ status, code, request_id: answer.headers["x-request-id"] });
    expect(answer.status).toBe(status);
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(answer.headers["www-authenticate"]).toBe(status === 401 ? "Bearer" : undefined);
    expect(answer.text).not.toMatch(pageOfSecrets);
    expect(answer.text.length).toBeLessThan(8_000);
    if (pointer !== undefined) expect(answer.json).toMatchObject({ errors: [{ pointer }] });
    expect((await server.call(signed(get("/agents")))).status).toBe(200);
  });
});

describe("after all of it", () => {
  test("nothing was written and nothing unexpected was logged", async () => {
    const { orchestrator: product } = orchestrator;
    expect((await product.modules.list(systemCaller)).items).toEqual([]);
    expect((await product.assignments.list(systemCaller)).items).toEqual([]);
    expect((await product.operators.list(systemCaller)).items.map(({ username }) => username)).toEqual([
      "root",
    ]);
    expect(server.logger.of("error")).toEqual([]);
    expect(orchestrator.loggedErrors).toEqual([]);
    expect(({} as Record<string, unknown>)["role"]).toBeUndefined();
  });
});

describe("a method that a path does not have", () => {
  const wrong: [method: string, path: string, allow: string][] = [
    ["DELETE", "/status", "GET, HEAD, OPTIONS"],
    ["GET", "/auth/challenge", "OPTIONS, POST"],
    ["PATCH", "/agents", "GET, HEAD, OPTIONS"],
    ["PUT", `/agents/${nodeId}`, "DELETE, GET, HEAD, OPTIONS, POST"],
    ["POST", `/agents/${nodeId}/tags/env`, "DELETE, OPTIONS, PUT"],
    ["PROPFIND", "/agents", "GET, HEAD, OPTIONS"],
  ];
  test.each(wrong)("%s %s is told which it has", async (method, path, allow) => {
    const answer = await server.call(signed({ method, path: `/api/v1${path}` }));
    expect(answer.json).toMatchObject({ status: 405, code: "METHOD_NOT_ALLOWED" });
    expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
  });
});

test("a token in the URL is not a token", async () => {
  for (const name of ["token", "access_token", "authorization"]) {
    const answer = await server.call(get(`/agents?${name}=${token}`));
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain(token);
  }
});

test("a cursor of one list or filter is refused by another", async () => {
  for (const name of ["one", "two"]) {
    const content = `name: ${name}\nresources:\n  - { type: directory, path: /etc/${name} }\n`;
    await orchestrator.orchestrator.modules.upload(systemCaller, { content });
  }
  const page = await server.call(signed(get("/modules?limit=1")));
  const { next_cursor } = page.json as { next_cursor: string };
  expect((await server.call(signed(get(`/modules?limit=1&cursor=${next_cursor}`)))).status).toBe(200);
  const other = await server.call(signed(get(`/assignments?cursor=${next_cursor}`)));
  expect(other.json).toMatchObject({ status: 400, code: "CURSOR_INVALID" });
});

describe("tRPC", () => {
  const trpc = (path: string, body?: unknown): Call =>
    signed({
      path: `/trpc/${path}`,
      headers: json,
      ...(body !== undefined && {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    });
  const many = (count: number): string => Array.from({ length: count }, () => "status.get").join(",");
  const refusals: [name: string, call: Call, status: number, code: string][] = [
    ["a procedure that is not there", trpc("nope.nope"), 404, "NOT_FOUND"],
    ["the name of a prototype's member", trpc("__proto__.constructor"), 404, "NOT_FOUND"],
    ["input that is no JSON", trpc("agents.list?input=%7B"), 400, "VALIDATION_FAILED"],
    ["an unknown field", trpc("agents.list?input=%7B%22x%22%3A1%7D"), 400, "VALIDATION_FAILED"],
    ["a text for a number", trpc("agents.list?input=%7B%22limit%22%3A%221%22%7D"), 400, "VALIDATION_FAILED"],
    ["a query as a change", trpc("agents.list", {}), 405, "METHOD_NOT_ALLOWED"],
    [
      "a change as a query",
      trpc("modules.remove?input=%7B%22name%22%3A%22a%22%7D"),
      405,
      "METHOD_NOT_ALLOWED",
    ],
    ["a body that is no JSON", trpc("modules.upload", "{"), 400, "VALIDATION_FAILED"],
    [
      "a body that is too large",
      trpc("modules.upload", { content: "x".repeat(1 << 20) }),
      413,
      "PAYLOAD_TOO_LARGE",
    ],
    ["a batch of 21", trpc(`${many(21)}?batch=1&input=%7B%7D`), 400, "VALIDATION_FAILED"],
  ];
  test.each(refusals)("%s is refused", async (_name, call, status, code) => {
    const answer = await server.call(call);
    expect(answer.status, answer.text).toBe(status);
    expect(answer.text).toContain(`"code":"${code}"`);
    expect(answer.text).not.toMatch(pageOfSecrets);
    expect((await server.call(trpc("status.get"))).status).toBe(200);
  });

  test("a batch is answered one by one, the faulty with their own problem", async () => {
    const input = encodeURIComponent(JSON.stringify({ 1: { limit: 0 }, 2: { node_id: nodeId } }));
    const answer = await server.call(trpc(`status.get,agents.list,agents.get?batch=1&input=${input}`));
    const problem = (code: string) => ({ error: { data: { problem: { code } } } });
    expect(answer.json).toMatchObject([
      { result: { data: { status: "ok" } } },
      problem("VALIDATION_FAILED"),
      problem("NOT_FOUND"),
    ]);
    expect((await server.call(trpc(`${many(20)}?batch=1&input=%7B%7D`))).status).toBe(200);
  });
});

describe("an upgrade", () => {
  const key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
  const upgrades: [name: string, path: string, headers: string, answer: string][] = [
    ["without an Origin is let in", "/agent/v1", "Host: a", "101"],
    ["of our own page is let in", "/agent/v1", "Host: a\r\nOrigin: http://a", "101"],
    ["of another page is refused", "/agent/v1", "Host: a\r\nOrigin: http://b", "403"],
    ["of a page without a site is refused", "/agent/v1", "Host: a\r\nOrigin: null", "403"],
    ["with an Origin that is none is refused", "/agent/v1", "Host: a\r\nOrigin: b", "403"],
    ["with a malformed Host is refused", "/agent/v1", "Host: a b", "400"],
    ["to where no socket is is refused", "/api/v1/status", "Host: a", "404"],
    ["to a path that leaves is refused", "/agent/../agent/v2", "Host: a", "404"],
  ];
  test.each(upgrades)("%s", async (_name, path, headers, status) => {
    const upgrade = `Connection: Upgrade\r\nUpgrade: websocket\r\n${key}`;
    const raw = await sendRaw(server.port, `GET ${path} HTTP/1.1\r\n${headers}\r\n${upgrade}\r\n\r\n`);
    expect((await raw.until(/\r\n/)).split(" ")[1]).toBe(status);
    raw.socket.destroy();
    expect((await server.call(signed(get("/agents")))).status).toBe(200);
  });
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { Call } from "../support/http.ts";
import { textOf } from "../support/open-terminal.ts";
import { sendRaw } from "../support/raw-http.ts";
import { serve, type TestServer } from "../support/server.ts";
import { startViewerScene } from "../support/viewer-scene.ts";
import { features } from "./bad-feature-cases.ts";
import { headers, strangers } from "./bad-header-cases.ts";
import { bodies, get, json, nodeId, paths, values } from "./bad-input-cases.ts";
import { operatorSide } from "./bad-operator-cases.ts";
import { viewers } from "./bad-viewer-cases.ts";

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
let total = 0;
function counted<Case>(cases: Case[]): Case[] {
  total += cases.length;
  return cases;
}
const pageOfSecrets = /\bat .*\.(?:ts|js):\d+|node_modules|\/lib\/|\/adapters\/|zod|TRPCError/i;

describe.each([
  ["a body", bodies],
  ["a value", values],
  ["a feature's input", features],
  ["an input of the operators' side", operatorSide],
  ["a path or query", paths],
  ["a header", headers],
  ["a stranger", strangers],
])("%s that is refused", (_title, refused) => {
  test.each(counted(refused))("%s", async (_name, call, status, code, pointer) => {
    const answer = await server.call(signed(call));
    expect(answer.json).toMatchObject({ status, code, request_id: answer.headers["x-request-id"] });
    expect(answer.status).toBe(status);
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.headers["cache-control"]).toBe("no-store");
    // RFC 6750, 3: a token that was told to be one and is none is told apart from none at all.
    const isOver = (answer.json as { details?: { reason?: string } }).details?.reason === "invalid_token";
    const asked = isOver ? 'Bearer error="invalid_token"' : "Bearer";
    expect(answer.headers["www-authenticate"]).toBe(status === 401 ? asked : undefined);
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

describe("a viewer of a terminal", () => {
  test.each(counted(viewers))(
    "%s is refused, and costs the terminal nothing",
    async (_name, act, refused) => {
      await using scene = await startViewerScene();
      const { code, closed, status } = await act(scene);
      if (typeof refused === "number") expect(status).toBe(refused);
      else expect([code, closed]).toEqual([refused, refused === "FORBIDDEN" ? 1005 : 1008]);
      const { opened, terminals } = scene.terminal;
      const { session_id } = opened;
      expect(await terminals.get(systemCaller, { session_id })).toMatchObject({ status: "active", cols: 80 });
      const text = await textOf(await terminals.transcript(systemCaller, { session_id, format: "text" }));
      expect(text).not.toMatch(/id\n|intruder|xxx/);
      expect(scene.server.logger.of("error")).toEqual([]);
    },
  );
});

describe("a method that a path does not have", () => {
  const wrong: [method: string, path: string, allow: string][] = [
    ["DELETE", "/status", "GET, HEAD, OPTIONS"],
    ["GET", "/auth/challenge", "OPTIONS, POST"],
    ["PATCH", "/agents", "GET, HEAD, OPTIONS"],
    ["PUT", `/agents/${nodeId}`, "DELETE, GET, HEAD, OPTIONS, POST"],
    ["POST", `/agents/${nodeId}/tags/env`, "DELETE, OPTIONS, PUT"],
    ["PROPFIND", "/agents", "GET, HEAD, OPTIONS"],
    ["TRACE", "/agents", "GET, HEAD, OPTIONS"],
    ["POST", "/audit", "DELETE, GET, HEAD, OPTIONS"],
    ["POST", "/openapi.json", "GET, HEAD, OPTIONS"],
    ["HEAD", "/auth/verify", "OPTIONS, POST"],
  ];
  test.each(counted(wrong))("%s %s is told which it has", async (method, path, allow) => {
    const answer = await server.call(signed({ method, path: `/api/v1${path}` }));
    if (method !== "HEAD") expect(answer.json).toMatchObject({ status: 405, code: "METHOD_NOT_ALLOWED" });
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

test("a query in which every filter is wrong names each of them", async () => {
  const wrong = {
    category: "nope",
    from: "yesterday",
    to: "2026-02-30T00:00:00Z",
    from_sequence: "0",
    search: "",
    order: "up",
    limit: "0",
  };
  const { status, json: answer } = await server.call(signed(get(`/audit?${new URLSearchParams(wrong)}`)));
  expect(status).toBe(400);
  const { errors } = answer as { errors: { pointer: string }[] };
  expect(errors.map(({ pointer }) => pointer).toSorted()).toEqual(
    Object.keys(wrong)
      .map((name) => `/${name}`)
      .toSorted(),
  );
});

describe("tRPC", () => {
  const trpc = (path: string, body?: unknown): Call => ({
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
      "If-None-Match with a change",
      { ...trpc("audit.setRetention", { retention_days: 9 }), headers: { ...json, "if-none-match": "*" } },
      412,
      "PRECONDITION_FAILED",
    ],
    [
      "a body that is too large",
      trpc("modules.upload", { content: "x".repeat(1 << 20) }),
      413,
      "PAYLOAD_TOO_LARGE",
    ],
    [
      "input that nests 1,000 deep",
      trpc(`agents.list?input=${"%5B".repeat(1_000)}${"%5D".repeat(1_000)}`),
      400,
      "VALIDATION_FAILED",
    ],
    [
      "a body that nests 20,000 deep",
      trpc("modules.upload", `${"[".repeat(20_000)}${"]".repeat(20_000)}`),
      400,
      "VALIDATION_FAILED",
    ],
    ["a list for an input", trpc("modules.upload", []), 400, "VALIDATION_FAILED"],
    [
      "__proto__ in a body",
      trpc("operators.add", '{"username":"a","__proto__":{"role":"Admin"}}'),
      400,
      "VALIDATION_FAILED",
    ],
    ["two names with a slash", trpc("/status.get"), 404, "NOT_FOUND"],
    ["a name in upper case", trpc("Status.get"), 404, "NOT_FOUND"],
    ["a stream among other calls", trpc("events.stream,status.get?batch=1"), 400, "VALIDATION_FAILED"],
    ["a batch whose inputs are a list", trpc("agents.list?batch=1&input=%5B%5D"), 400, "VALIDATION_FAILED"],
    ["a batch of 21", trpc(`${many(21)}?batch=1&input=%7B%7D`), 400, "VALIDATION_FAILED"],
  ];
  test.each(counted(refusals))("%s is refused", async (_name, call, status, code) => {
    const answer = await server.call(signed(call));
    expect(answer.status, answer.text).toBe(status);
    expect(answer.text).toContain(`"code":"${code}"`);
    expect(answer.text).not.toMatch(pageOfSecrets);
    expect((await server.call(signed(trpc("status.get")))).status).toBe(200);
  });

  test.each(["agents.list?input=%7B%22x%22%3A1%7D", "agents.list", "agents.get?input=%7B%7D"])(
    "a stranger is sent to sign in before the input of %s is looked at",
    async (path) => {
      const answer = await server.call({ path: `/trpc/${path}` });
      expect(answer.json).toMatchObject({ error: { data: { problem: { code: "UNAUTHENTICATED" } } } });
      expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    },
  );

  test("a batch is answered one by one, the faulty with their own problem", async () => {
    const input = encodeURIComponent(JSON.stringify({ 1: { limit: 0 }, 2: { node_id: nodeId } }));
    const batch = trpc(`status.get,agents.list,agents.get?batch=1&input=${input}`);
    const answer = await server.call(signed(batch));
    const problem = (code: string) => ({ error: { data: { problem: { code } } } });
    expect(answer.json).toMatchObject([
      { result: { data: { status: "ok" } } },
      problem("VALIDATION_FAILED"),
      problem("NOT_FOUND"),
    ]);
    expect((await server.call(signed(trpc(`${many(20)}?batch=1&input=%7B%7D`)))).status).toBe(200);
  });
});

describe("an upgrade", () => {
  const key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
  const upgrades: [name: string, line: string, headers: string, status: string, code?: string][] = [
    ["without an Origin is let in", "GET /agent/v1", "Host: a", "101"],
    ["of our own page is let in", "GET /agent/v1", "Host: a\r\nOrigin: http://a", "101"],
    ["of another page is refused", "GET /agent/v1", "Host: a\r\nOrigin: http://b", "403", "ORIGIN_REFUSED"],
    ["of another port is refused", "GET /agent/v1", "Host: a\r\nOrigin: http://a:1", "403", "ORIGIN_REFUSED"],
    [
      "of a page without a site is refused",
      "GET /agent/v1",
      "Host: a\r\nOrigin: null",
      "403",
      "ORIGIN_REFUSED",
    ],
    [
      "with an Origin that is none is refused",
      "GET /agent/v1",
      "Host: a\r\nOrigin: b",
      "403",
      "ORIGIN_REFUSED",
    ],
    ["with an empty Origin is refused", "GET /agent/v1", "Host: a\r\nOrigin:", "403", "ORIGIN_REFUSED"],
    ["with a malformed Host is refused", "GET /agent/v1", "Host: a b", "400", "VALIDATION_FAILED"],
    ["to where no socket is is refused", "GET /api/v1/status", "Host: a", "404", "NOT_FOUND"],
    ["to a path that leaves is refused", "GET /agent/../agent/v2", "Host: a", "404", "NOT_FOUND"],
    ["to a path that leaves and comes back is refused", "GET /x/../agent/v1", "Host: a", "404", "NOT_FOUND"],
    ["in upper case is refused", "GET /Agent/v1", "Host: a", "404", "NOT_FOUND"],
    ["that posts is refused", "POST /agent/v1", "Host: a", "405", "METHOD_NOT_ALLOWED"],
  ];
  test.each(counted(upgrades))("%s", async (_name, line, headers, status, code) => {
    const upgrade = `X-Request-Id: u-1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}`;
    const raw = await sendRaw(server.port, `${line} HTTP/1.1\r\n${headers}\r\n${upgrade}\r\n\r\n`);
    expect((await raw.until(/\r\n\r\n/)).split(" ")[1]).toBe(status);
    if (code === undefined) raw.socket.destroy();
    else {
      const [head = "", body = ""] = (await raw.closed).split("\r\n\r\n");
      expect(head).toContain("content-type: application/problem+json");
      expect(JSON.parse(body)).toMatchObject({ status: Number(status), code, request_id: "u-1" });
    }
    expect((await server.call(signed(get("/agents")))).status).toBe(200);
  });
});

describe("what is not even HTTP is cut off, and others are served", () => {
  const host = "Host: a\r\n";
  const broken: [name: string, bytes: string, status: string][] = [
    ["bytes", "\u0000\u0001\u0002\r\n\r\n", "400"],
    ["no Host", "GET /api/v1/status HTTP/1.1\r\n\r\n", "400"],
    [
      "a length and pieces at once",
      `POST /api/v1/modules HTTP/1.1\r\n${host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      "400",
    ],
    [
      "two lengths",
      `POST /api/v1/modules HTTP/1.1\r\n${host}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc`,
      "400",
    ],
    ["a length below nothing", `POST /api/v1/modules HTTP/1.1\r\n${host}Content-Length: -1\r\n\r\n`, "400"],
    ["a header on two lines", `GET /api/v1/status HTTP/1.1\r\n${host}X: a\r\n b\r\n\r\n`, "400"],
    ["line ends without a return", "GET /api/v1/status HTTP/1.1\nHost: a\n\n", "400"],
    [
      "pieces without a size",
      `POST /api/v1/auth/challenge HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      "400",
    ],
    ["headers of 20 kB", `GET /api/v1/status HTTP/1.1\r\n${host}X: ${"a".repeat(20_000)}\r\n\r\n`, "431"],
    ["3,000 headers", `GET /api/v1/status HTTP/1.1\r\n${host}${"X-Long: abcd\r\n".repeat(3_000)}\r\n`, "431"],
    ["an address of 20 kB", `GET /${"a".repeat(20_000)} HTTP/1.1\r\n${host}\r\n`, "414"],
  ];
  test.each(counted(broken))("%s", async (_name, bytes, status) => {
    const raw = await sendRaw(server.port, bytes);
    const answer = await raw.closed;
    expect(answer.split(" ")[1]).toBe(status);
    expect(answer).toMatch(/content-type: application\/problem\+json\r\n/i);
    expect(answer).not.toMatch(pageOfSecrets);
    expect((await server.call(signed(get("/agents")))).status).toBe(200);
  });
});

test("the tables are as long as they were", () => {
  console.info(`bad input: ${total} requests`);
  expect(total).toBeGreaterThanOrEqual(334);
});

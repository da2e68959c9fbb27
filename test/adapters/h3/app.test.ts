import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { errorGuide, errorTable, moduleJsonSchema, OrchestratorError } from "fleetwright";
import { createAgentSocket } from "../../../adapters/h3/agent-socket.ts";
import type { Call } from "../../support/http.ts";
import { startToy } from "../rest/server.ts";

let server: Awaited<ReturnType<typeof startToy>>;
let ready: boolean | Error = true;
const echo = {
  message: (peer: { send(data: string): unknown }, message: { text(): string }) =>
    void peer.send(message.text()),
};

beforeAll(async () => {
  server = await startToy({
    isReady() {
      if (ready instanceof Error) throw ready;
      return ready;
    },
    sockets: new Map([["/agent/v1", echo]]),
    maxMessageBytes: 1000,
    trustedProxies: ["127.0.0.1"],
  });
  server.app.h3.get("/bug", () => {
    throw new Error("password is hunter2");
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const json = { "content-type": "application/json" };
const form = { "content-type": "application/x-www-form-urlencoded" };

describe("tRPC", () => {
  test("answers with the procedure's output and the caller's request id", async () => {
    const input = encodeURIComponent('{"name":"web-1"}');
    const answer = await server.call({
      path: `/trpc/machines.get?input=${input}`,
      headers: { "x-request-id": "t-1" },
    });
    expect(answer.json).toEqual({ result: { data: { name: "web-1", level: 3, revision: 1 } } });
    expect(answer.headers).toMatchObject({ "x-request-id": "t-1", "cache-control": "no-store" });
  });

  test("carries the same problem as REST", async () => {
    const body = '{"how":"module"}';
    const call = { method: "POST", body, headers: { ...json, "x-request-id": "same" } };
    const rest = await server.call({ ...call, path: "/api/v1/fail" });
    const trpc = await server.call({ ...call, path: "/trpc/fail" });
    expect(trpc.status).toBe(rest.status);
    expect(trpc.json).toMatchObject({ error: { data: { problem: rest.json } } });
  });

  test("keeps the text of a bug to itself", async () => {
    const answer = await server.call({
      method: "POST",
      path: "/trpc/fail",
      body: '{"how":"bug"}',
      headers: json,
    });
    expect(answer.json).toMatchObject({
      error: { message: "Something went wrong inside.", data: { problem: { code: "INTERNAL" } } },
    });
    expect(answer.text).not.toContain("hunter2");
    expect(server.logger.errors.at(-1)).toMatchObject({
      fields: { path: "fail", error: { message: "password is hunter2" } },
    });
  });

  test("an unknown procedure is a problem, too", async () => {
    const answer = await server.call({ path: "/trpc/nothing" });
    expect(answer.json).toMatchObject({ error: { data: { problem: { code: "NOT_FOUND", status: 404 } } } });
  });

  test("a batch of 20 is answered, of 21 refused", async () => {
    const batch = (size: number) =>
      `/trpc/${Array.from({ length: size }, () => "me").join(",")}?batch=1&input=%7B%7D`;
    expect((await server.call({ path: batch(20) })).status).toBe(200);
    expect((await server.call({ path: batch(21) })).status).toBe(400);
  });

  test("a body over the limit is refused", async () => {
    const body = JSON.stringify({ name: "x".repeat(1 << 20), level: 1 });
    const answer = await server.call({ method: "POST", path: "/trpc/machines.create", body, headers: json });
    expect(answer.json).toMatchObject({ code: "PAYLOAD_TOO_LARGE", status: 413 });
  });

  test("so is one over the limit whose length was not announced", async () => {
    const body = JSON.stringify({ name: "x".repeat(1 << 20), level: 1 });
    const call = { method: "POST", path: "/trpc/machines.create", body, headers: json, chunked: true };
    const { status, text } = await server.call(call);
    expect(status).toBe(413);
    expect(text).toContain("PAYLOAD_TOO_LARGE");
    expect(server.toy.machines.size).toBe(1);
  });

  const early: [name: string, call: Call, status: number, code: string][] = [
    [
      "without a media type",
      { method: "POST", path: "/trpc/machines.create", body: "{}" },
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    [
      "of a form",
      { method: "POST", path: "/trpc/me", headers: form, body: "a=b" },
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    ["with input that is no JSON", { path: "/trpc/machines.get?input=%7B" }, 400, "VALIDATION_FAILED"],
    ["of nobody", { path: "/trpc/me", headers: { authorization: "Bearer none" } }, 401, "UNAUTHENTICATED"],
  ];
  test.each(early)("a request %s is a problem with its request's id", async (_name, call, status, code) => {
    const answer = await server.call({ ...call, headers: { ...call.headers, "x-request-id": "e-1" } });
    expect(answer.headers).toMatchObject({ "content-type": "application/json", "x-request-id": "e-1" });
    expect(answer.headers["www-authenticate"]).toBe(status === 401 ? "Bearer" : undefined);
    const problem = { status, code, request_id: "e-1" };
    expect(answer.json).toMatchObject({ error: { data: { httpStatus: status, problem } } });
    expect(answer.status).toBe(status);
  });

  test("a method that is not of tRPC is told which are", async () => {
    for (const method of ["PUT", "DELETE", "OPTIONS"]) {
      const answer = await server.call({ method, path: "/trpc/me" });
      expect([answer.status, answer.headers.allow]).toEqual([
        method === "OPTIONS" ? 204 : 405,
        "GET, HEAD, OPTIONS, POST",
      ]);
    }
  });

  test("a call that answers with a stream is refused before anything is done, alone and in a batch", async () => {
    const before = server.toy.linesSent;
    for (const path of [
      "machines.transcript?input={%22name%22:%22web-1%22}",
      "me,machines.transcript?batch=1",
    ]) {
      const answer = await server.call({ path: `/trpc/${path}` });
      expect(answer.status).toBe(405);
      expect(answer.text).toContain("METHOD_NOT_ALLOWED");
      expect(answer.text).toContain("call it over REST");
    }
    expect(server.toy.linesSent).toBe(before);
  });
});

describe("what stands beside", () => {
  test("health is open to everyone and tells when requests can't be served", async () => {
    const stranger = { authorization: "" };
    expect((await server.call({ path: "/livez", headers: stranger })).json).toEqual({ status: "ok" });
    expect((await server.call({ path: "/readyz", headers: stranger })).status).toBe(200);
    ready = false;
    const answer = await server.call({ path: "/readyz", headers: stranger });
    ready = true;
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
    expect(answer.json).toMatchObject({ code: "UNAVAILABLE" });
  });

  test.each([
    ["an error of a storage of one's own", new Error("connect ECONNREFUSED db"), 503, "UNAVAILABLE"],
    ["the reason that is told", new OrchestratorError("STORAGE_CLOSED"), 503, "STORAGE_CLOSED"],
  ])("is not ready for %s, which is told to nobody but by its code", async (_what, error, status, code) => {
    ready = error;
    const answer = await server.call({ path: "/readyz", headers: { authorization: "" } });
    ready = true;
    expect([answer.status, answer.json]).toEqual([status, expect.objectContaining({ code })]);
    expect(JSON.stringify(answer.json)).not.toContain("ECONNREFUSED");
    // Who runs the server is told what is wrong.
    if (code === "UNAVAILABLE")
      expect(server.logger.errors.at(-1)).toMatchObject({
        message: "The service is not ready.",
        fields: { error },
      });
  });

  test("the OpenAPI description is open to everyone, for reading only", async () => {
    const path = "/api/v1/openapi.json";
    const answer = await server.call({ path, headers: { authorization: "" } });
    expect(answer.json).toMatchObject({ openapi: "3.1.0" });
    const refused = await server.call({ method: "POST", path });
    expect([refused.status, refused.headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
    const asked = await server.call({ path: `${path}?format=yaml` });
    expect([asked.status, asked.json]).toEqual([400, expect.objectContaining({ code: "VALIDATION_FAILED" })]);
  });

  test("the format of modules is open to every editor", async () => {
    const answer = await server.call({ path: "/schemas/module.json" });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      "content-type": "application/schema+json",
      "access-control-allow-origin": "*",
      "cache-control": "public, max-age=3600",
    });
    expect(JSON.parse(answer.text)).toEqual(moduleJsonSchema());
  });

  test("a problem's type leads to a page, for people and programs", async () => {
    const { json: problem } = await server.call({ path: "/api/v1/machines/none" });
    const { type } = problem as { type: string };
    const page = await server.call({ path: type });
    expect(page.headers["content-type"]).toMatch("text/html");
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(page.text).toContain("NOT_FOUND");
    const explained = errorGuide.NOT_FOUND;
    for (const text of [explained.cause, explained.advice]) expect(page.text).toContain(text);
    const data = await server.call({ path: type, headers: { accept: "application/json" } });
    expect(data.json).toMatchObject({ code: "NOT_FOUND", status: 404, retryable: false, ...explained });
    const plain = await server.call({ path: type, headers: { accept: "text/plain" } });
    expect(plain.headers).toMatchObject({
      "content-type": "text/plain; charset=utf-8",
      vary: "accept, accept-encoding",
    });
    expect(plain.text).toContain(`What to do: ${explained.advice}`);
    expect((await server.call({ path: "/problems" })).text).toContain('href="/problems/not-found"');
    expect((await server.call({ path: "/problems/no-such" })).status).toBe(404);
  });

  const pages = [
    "/livez",
    "/readyz",
    "/docs",
    "/docs/style.css",
    "/problems",
    "/problems/not-found",
    "/schemas/module.json",
  ];
  test.each(pages)("%s is for reading only, and says so", async (path) => {
    const [got, head] = [await server.call({ path }), await server.call({ method: "HEAD", path })];
    expect([got.status, head.status, head.text]).toEqual([200, 200, ""]);
    expect(head.headers["content-type"]).toBe(got.headers["content-type"]);
    const options = await server.call({ method: "OPTIONS", path });
    expect([options.status, options.headers.allow]).toEqual([204, "GET, HEAD, OPTIONS"]);
    const refused = await server.call({ method: "POST", path, headers: { "x-request-id": "p-1" } });
    expect([refused.status, refused.headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect(refused.json).toMatchObject({ code: "METHOD_NOT_ALLOWED", request_id: "p-1" });
  });

  test("every code has a page that explains it, and none says less than a sentence of each", async () => {
    for (const code of Object.keys(errorTable) as (keyof typeof errorTable)[]) {
      const path = `/problems/${code.toLowerCase().replaceAll("_", "-")}`;
      const { status, text } = await server.call({ path, headers: { accept: "text/plain" } });
      const { meaning, cause, advice } = errorGuide[code];
      expect(status, code).toBe(200);
      for (const each of [meaning, cause, advice]) {
        expect(text).toContain(each);
        expect(each, code).toMatch(/^\S.{9,}\.$/);
      }
    }
    expect((await server.call({ path: "/problems" })).text.match(/href="\/problems\/[a-z-]+"/g)).toHaveLength(
      Object.keys(errorTable).length,
    );
  });

  test("an error of a route of one's own is a problem without its text", async () => {
    const answer = await server.call({ path: "/bug", headers: { "x-request-id": "own-1" } });
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.json).toMatchObject({ status: 500, code: "INTERNAL", request_id: "own-1" });
    expect(answer.text).not.toContain("hunter2");
  });

  test("a trusted proxy's word about the client is taken, over REST and tRPC", async () => {
    const headers = { "x-forwarded-for": "198.51.100.7" };
    expect((await server.call({ path: "/api/v1/me", headers })).json).toMatchObject({
      source_address: "198.51.100.7",
    });
    const trpc = await server.call({ path: "/trpc/me", headers });
    expect(trpc.json).toMatchObject({ result: { data: { source_address: "198.51.100.7" } } });
  });
});

describe("sockets", () => {
  /** Opens a socket; resolves with what came first: open, a refusal's status, or the close code. */
  const open = (path: string, headers: Record<string, string> = {}) =>
    new Promise<{ socket: WebSocket; status: number }>((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${server.port}${path}`, { headers });
      socket.on("open", () => resolve({ socket, status: 101 }));
      socket.on("unexpected-response", (request, response) => {
        request.destroy();
        resolve({ socket, status: response.statusCode ?? 0 });
      });
      socket.on("error", reject);
    });

  test("a path with a socket is served", async () => {
    const { socket, status } = await open("/agent/v1");
    expect(status).toBe(101);
    socket.send("hello");
    const said = await new Promise((resolve) =>
      socket.once("message", (data: Buffer) => resolve(data.toString())),
    );
    expect(said).toBe("hello");
    socket.close();
  });

  test.each(["/nothing", "/livez", "/api/v1/machines", "/agent/v1/"])("no socket at %s", async (path) => {
    expect((await open(path)).status).toBe(404);
  });

  test("a page of another site is refused, one of this site is served", async () => {
    expect((await open("/agent/v1", { origin: "https://evil.example" })).status).toBe(403);
    expect((await open("/agent/v1", { origin: "null" })).status).toBe(403);
    const { socket, status } = await open("/agent/v1", { origin: `http://127.0.0.1:${server.port}` });
    expect(status).toBe(101);
    socket.close();
  });

  test("a message over the limit ends the connection", async () => {
    const { socket } = await open("/agent/v1");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.send("x".repeat(1001));
    expect(await closed).toBe(1009);
  });
});

test("silent peers are pinged, but those whose protocol finds them by itself", async () => {
  const sockets = new Map([
    ["/pinged", {}],
    ["/agent/v1", createAgentSocket({ accept() {} })],
  ]);
  await using own = await startToy({ sockets, idleTimeoutSeconds: 0.05 });
  const [pinged, agent] = ["/pinged", "/agent/v1"].map((path) => {
    return new WebSocket(`ws://127.0.0.1:${own.port}${path}`);
  });
  let agentPings = 0;
  agent!.on("ping", () => (agentPings += 1));
  await once(agent!, "open");
  for (let pings = 0; pings < 3; pings += 1) await once(pinged!, "ping");
  expect(agentPings).toBe(0);
  for (const socket of [pinged!, agent!]) socket.terminate();
});

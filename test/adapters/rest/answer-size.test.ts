/** Nobody gets more back than he sent, and who needs no session may send little. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOrchestratorApp } from "fleetwright/h3";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { listenOnLoopback, send, type AppOnSocket } from "../../support/http.ts";

let test: TestOrchestrator;
let server: AppOnSocket;
let authorization: string;
beforeAll(async () => {
  test = await createTestOrchestrator();
  const { orchestrator, transport } = test;
  server = await listenOnLoopback(createOrchestratorApp({ orchestrator, transport }));
  authorization = `Bearer ${(await test.signIn("Admin")).token}`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await test[Symbol.asyncDispose]();
});

const json = { "content-type": "application/json" };
const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  send(server.port, { method: "POST", path, body, headers: { ...json, ...headers } });
const surfaces = [
  ["REST", "/api/v1/auth/challenge", "/api/v1/modules"],
  ["tRPC", "/trpc/auth.challenge", "/trpc/modules.upload"],
] as const;

describe.each(surfaces)("over %s", (_name, open, closed) => {
  it.each([
    [
      "very many unknown fields",
      JSON.stringify(Object.fromEntries(Array.from({ length: 80_000 }, (_, n) => [`f${n}`, 0]))),
    ],
    ["a field with a very long name", JSON.stringify({ ["x".repeat(1_000_000)]: 0 })],
    ["a value that is very long and of the wrong type", JSON.stringify({ content: ["x".repeat(1_000_000)] })],
  ])("an answer to %s is short", async (_what, body) => {
    const answer = await post(closed, body, { authorization });
    expect(answer.status).toBe(400);
    expect(answer.text.length).toBeLessThan(32_000);
    expect(answer.text).toContain('"pointer":"');
  });

  it("an answer names a hundred faults and how many more there are", async () => {
    const fields = Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`f${n}`, 0]));
    const { text } = await post(closed, JSON.stringify({ content: "x", ...fields }), { authorization });
    expect(text).toContain('{"pointer":"/f99","message":"There is no such field."}');
    expect(text).not.toContain('"/f100"');
    expect(text).toContain('{"pointer":"","message":"There are 50 more."}');
  });

  it("who needs no session may send 16 KiB, with a token or without", async () => {
    const body = (bytes: number): string => JSON.stringify({ public_key: "x".repeat(bytes - 17) });
    expect(body(16_384)).toHaveLength(16_384);
    for (const headers of [{}, { authorization }]) {
      expect((await post(open, body(16_384), headers)).status).toBe(400);
      expect((await post(open, body(16_385), headers)).status).toBe(413);
    }
    // For those who signed in it is 1 MiB.
    const module = JSON.stringify({ content: `name: a\nresources: []\n#${"x".repeat(20_000)}` });
    expect((await post(closed, module, { authorization })).status).toBeLessThan(300);
  });

  it("a stranger's body to what needs a session is not read", async () => {
    expect((await post(closed, "x".repeat(900_000))).status).toBe(401);
    expect((await post(closed, '{"a":1,"a":2}')).status).toBe(401);
  });
});

it("a stranger's batch over tRPC is read no further, whatever else it names", async () => {
  const body = JSON.stringify({ 0: { public_key: "x".repeat(900_000) } });
  for (const names of [
    "auth.challenge,nope",
    "auth.challenge,modules.upload",
    "modules.upload,auth.challenge",
  ])
    expect((await post(`/trpc/${names}?batch=1`, body)).status).toBe(413);
});

it("over tRPC, what is no UTF-8 or says that it is something else is refused as over REST", async () => {
  const bytes = Buffer.concat([
    Buffer.from('{"content":"name: u\\ndescription: '),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('\\nresources: []"}'),
  ]);
  for (const path of ["/trpc/modules.upload", "/api/v1/modules"]) {
    const wrong = { method: "POST", path, body: bytes, headers: { ...json, authorization } };
    expect((await send(server.port, wrong)).status).toBe(400);
    const headers = { authorization, "content-type": "application/json; charset=utf-16" };
    expect((await send(server.port, { ...wrong, body: "{}", headers })).status).toBe(415);
  }
});

it("who may not make a call is told so before the form of its input is", async () => {
  const viewer = `Bearer ${(await test.signIn("Viewer", "v")).token}`;
  const denied = () => test.events.filter(({ event_type }) => event_type === "access.denied").length;
  const path = "/trpc/operations.output?input=%7B%22a%22%3A1%2C%22a%22%3A2%7D";
  const before = denied();
  expect((await send(server.port, { path, headers: { authorization: viewer } })).status).toBe(403);
  expect(denied()).toBe(before + 1);
  expect((await send(server.port, { path })).status).toBe(401);
  for (const wrong of [
    path,
    "/trpc/agents.list?input=%7B%7D&input=%7B%7D",
    "/trpc/agents.list?batch=1&batch=1",
    "/trpc/agents.list?batch=&batch=1&input=%7B%7D",
  ]) {
    const { status, text } = await send(server.port, { path: wrong, headers: { authorization } });
    expect([status, text]).toEqual([400, expect.stringContaining(" twice.")]);
  }
});

it("a batch over tRPC with a call that needs a session may be as large as for others", async () => {
  const body = JSON.stringify({ 0: { content: `name: b\nresources: []\n#${"x".repeat(20_000)}` } });
  const answer = await post("/trpc/modules.upload?batch=1", body, { authorization });
  expect(answer.status).toBe(200);
});

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

it("a batch over tRPC with a call that needs a session may be as large as for others", async () => {
  const body = JSON.stringify({ 0: { content: `name: b\nresources: []\n#${"x".repeat(20_000)}` } });
  const answer = await post("/trpc/modules.upload?batch=1", body, { authorization });
  expect(answer.status).toBe(200);
});

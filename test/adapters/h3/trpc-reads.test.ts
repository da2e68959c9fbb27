import { initTRPC } from "@trpc/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestOrchestrator } from "fleetwright/testing";
import { appRouter, createContextFactory } from "fleetwright/trpc";
import { createApp } from "../../../adapters/h3/app.ts";
import { listenOnLoopback, send, type Call } from "../../support/http.ts";
import { startToy } from "../rest/server.ts";

let server: Awaited<ReturnType<typeof startToy>>;
beforeAll(async () => {
  server = await startToy({ trustedProxies: ["127.0.0.1"] });
});
afterAll(() => server[Symbol.asyncDispose]());

const input = (value: unknown): string => encodeURIComponent(JSON.stringify(value));
const signedIn = { authorization: "Bearer fw_good", "x-request-id": "r-1" };

/** The answer as it is on the listener, which answers reads itself. */
async function overListener({ path, headers }: Call): Promise<object> {
  const {
    status,
    headers: got,
    text,
  } = await send(server.port, { path, headers: { ...signedIn, ...headers } });
  const {
    date: _,
    connection: _1,
    "keep-alive": _2,
    "content-length": _3,
    "transfer-encoding": _4,
    ...rest
  } = got;
  return { status, headers: rest, text };
}

/** The answer of tRPC's own machinery. */
async function overFetch({ path, headers = {} }: Call): Promise<object> {
  const given = Object.entries({ ...signedIn, ...headers }).filter(([, value]) => value !== "");
  const request = new Request(`http://127.0.0.1:${server.port}${path}`, {
    headers: Object.fromEntries(given),
  });
  const response = await server.app.fetch(request, "127.0.0.1");
  const { "content-length": _, ...rest } = Object.fromEntries(response.headers);
  return { status: response.status, headers: rest, text: await response.text() };
}

const one = input({ name: "web-1" });
const calls: [string, Call][] = [
  ["a query", { path: `/trpc/machines.get?input=${one}` }],
  ["without input", { path: "/trpc/machines.latest" }],
  ["an input that is null", { path: "/trpc/machines.get?input=null" }],
  ["an empty input", { path: "/trpc/machines.get?input=" }],
  ["an input that is no JSON", { path: "/trpc/machines.get?input=%7B" }],
  ["who calls", { path: "/trpc/me" }],
  ["who calls by a proxy", { path: "/trpc/me", headers: { "x-forwarded-for": "203.0.113.9" } }],
  ["a stranger", { path: "/trpc/me", headers: { authorization: "" } }],
  ["a session that is gone", { path: "/trpc/me", headers: { authorization: "Bearer fw_bad" } }],
  ["a header that is no bearer token", { path: "/trpc/me", headers: { authorization: "Basic x" } }],
  ["nothing found", { path: `/trpc/machines.get?input=${input({ name: "none" })}` }],
  ["faults of the input", { path: `/trpc/machines.list?input=${input({ nope: 1, limit: "x" })}` }],
  ["a fault of the program, an output that would leak", { path: "/trpc/leak" }],
  ["a batch of one", { path: `/trpc/machines.get?batch=1&input=${input({ 0: { name: "web-1" } })}` }],
  [
    "a batch of several",
    { path: `/trpc/machines.get,me,machines.latest?batch=1&input=${input({ 0: { name: "web-1" } })}` },
  ],
  [
    "a batch in which some fail",
    { path: `/trpc/machines.get,me,leak?batch=1&input=${input({ 0: { name: "none" } })}` },
  ],
  [
    "a batch in which all fail alike",
    {
      path: `/trpc/machines.get,machines.get?batch=1&input=${input({ 0: { name: "a" }, 1: { name: "b" } })}`,
    },
  ],
  ["a batch without input", { path: "/trpc/me,machines.latest?batch=1" }],
  [
    "a batch whose input is a list",
    { path: `/trpc/machines.get?batch=1&input=${input([{ name: "web-1" }])}` },
  ],
  ["a batch whose input is null", { path: "/trpc/machines.get?batch=1&input=null" }],
  [
    "a batch that is too large",
    { path: `/trpc/${Array.from({ length: 21 }, () => "me").join(",")}?batch=1` },
  ],
  ["several names that are no batch", { path: "/trpc/me,me" }],
  ["a batch that is said in no word", { path: "/trpc/me?batch=" }],
  ["a batch that is said in another word", { path: "/trpc/me?batch=true" }],
  ["a name in percent-encoding", { path: "/trpc/machines%2Elatest" }],
  ["no such procedure", { path: "/trpc/machines.nope" }],
  ["no name", { path: "/trpc/" }],
  ["a mutation", { path: `/trpc/machines.remove?input=${one}` }],
  ["a parameter of its own", { path: `/trpc/me?connectionParams=${input({ a: "b" })}` }],
  ["an idempotency key", { path: "/trpc/me,me?batch=1", headers: { "idempotency-key": "k-12345678" } }],
  ["a media type of JSON", { path: "/trpc/me", headers: { "content-type": "application/json" } }],
  ["a media type of a form", { path: "/trpc/me", headers: { "content-type": "multipart/form-data" } }],
];

describe("a read over tRPC is answered as tRPC itself answers", () => {
  test.each(calls)("%s", async (_name, call) => {
    expect(await overListener(call)).toEqual(await overFetch(call));
  });

  test("with what a client must know of problems", async () => {
    const { json } = await server.call({ path: `/trpc/machines.get?input=${input({ name: "none" })}` });
    expect(json).toMatchObject({ error: { data: { httpStatus: 404, problem: { code: "NOT_FOUND" } } } });
  });

  test("and what nobody expected is logged with the request's id", async () => {
    server.logger.errors.length = 0;
    await overListener({ path: "/trpc/leak" });
    expect(server.logger.errors).toMatchObject([
      { message: "A call failed unexpectedly", fields: { request_id: "r-1", path: "leak" } },
    ]);
  });
});

test("strangers are told to sign in before their input is looked at, but for what is open to them", async () => {
  await using test = await createTestOrchestrator();
  const createContext = createContextFactory(test.orchestrator);
  const app = createApp({ router: appRouter, createContext, isReady: () => true });
  await using listening = await listenOnLoopback(app);
  for (const [path, status] of [
    [`/trpc/agents.get?input=${input({ nope: 1 })}`, 401],
    [`/trpc/agents.list,status.get?batch=1&input=${input({ 0: { limit: "x" } })}`, 207],
    ["/trpc/status.get", 200],
  ] as const) {
    const { status: got, text } = await send(listening.port, { path });
    const withoutIds = (answer: string): string => answer.replaceAll(/"request_id":"[^"]*"/g, "");
    const own = await app.fetch(new Request(`http://127.0.0.1:${listening.port}${path}`), "127.0.0.1");
    expect([got, withoutIds(text)]).toEqual([status, withoutIds(await own.text())]);
    if (status !== 200) expect(text).toContain("UNAUTHENTICATED");
    expect(text).not.toContain("VALIDATION_FAILED");
  }
});

test("a router with a transformer is left to tRPC", async () => {
  const wrap = {
    serialize: (value: unknown) => ({ wrapped: value }),
    deserialize: (value: unknown) => value,
  };
  const t = initTRPC.create({ transformer: { input: wrap, output: wrap } });
  const router = t.router({ one: t.procedure.query(() => 1) });
  const app = createApp({ router, createContext: () => ({}) as never, isReady: () => true });
  await using listening = await listenOnLoopback(app);
  const { json } = await send(listening.port, { path: "/trpc/one" });
  expect(json).toEqual({ result: { data: { wrapped: 1 } } });
});

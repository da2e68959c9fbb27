/** Every header that REST answers with is named by the OpenAPI description. All tests hold their calls against it (`serve`). */
import { afterAll, beforeAll, expect, test } from "vitest";
import { FileStorage } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { undescribedHeaders } from "../support/described-headers.ts";
import { playExampleCalls } from "../support/example-calls.ts";
import { serve, type TestServer } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let product: TestOrchestrator;
let server: TestServer;
let authorization: string;
beforeAll(async () => {
  product = await createTestOrchestrator();
  server = await serve(product.orchestrator);
  authorization = `Bearer ${(await product.signIn("Admin")).token}`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await product[Symbol.asyncDispose]();
});

test("of one call of each procedure", async () => {
  expect((await playExampleCalls()).length).toBeGreaterThan(50);
});

test.each([
  ["a body that is known", "GET", "/audit/retention", { "if-none-match": "*" }, 304],
  ["a head alone", "HEAD", "/agents", {}, 200],
  ["the methods of a path", "OPTIONS", "/agents", {}, 204],
  ["a path without that method", "PATCH", "/agents", {}, 405],
  ["a path where nothing is", "GET", "/nothing", {}, 404],
  ["no token", "GET", "/agents", { authorization: "" }, 401],
  ["a token that is none", "GET", "/agents", { authorization: "Bearer x" }, 401],
  ["an address that is too long", "GET", `/agents?x=${"x".repeat(9_000)}`, {}, 414],
  ["headers that are too large", "GET", "/agents", { "x-a": "x".repeat(17_000) }, 431],
  ["another media type", "POST", "/modules", { "content-type": "text/plain" }, 415],
])("of the answer to %s", async (_what, method, path, headers, status) => {
  const body = method === "POST" ? "x" : undefined;
  const answer = await server.call({
    method,
    path: `/api/v1${path}`,
    headers: { authorization, ...headers },
    ...(body !== undefined && { body }),
  });
  expect(answer.status).toBe(status);
  expect(answer.headers["x-request-id"]).toBeDefined();
});

test("of a backup, which a storage in memory has not", async () => {
  const storage = new FileStorage({ folder: temporaryFolder() });
  await using stored = await createTestOrchestrator({ storage });
  await using served = await serve(stored.orchestrator);
  const { token } = await stored.signIn("Admin");
  const answer = await served.rest("GET", "/backup", { token });
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/octet-stream"]);
});

test("and one that it does not name would be found", () => {
  const call = { method: "GET", path: "/agents", status: 200 };
  expect(undescribedHeaders({ ...call, headers: { date: "x", "x-request-id": "x" } })).toEqual([]);
  expect(undescribedHeaders({ ...call, headers: { location: "x", "x-new": "x" } })).toEqual([
    "location",
    "x-new",
  ]);
});

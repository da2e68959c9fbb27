/** The conventions of the REST surface that hold for every row, on rows of the product. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nodeCrypto, schemas, systemCaller } from "fleetwright";
import { createTestOrchestrator, type SignedIn, type TestOrchestrator } from "fleetwright/testing";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import type { Answer } from "../support/http.ts";
import { serve, type TestServer } from "../support/server.ts";

let product: TestOrchestrator;
let server: TestServer;
let admin: SignedIn;
let agent: { nodeId: string };

beforeAll(async () => {
  product = await createTestOrchestrator();
  server = await serve(product.orchestrator);
  admin = await product.signIn("Admin");
  agent = await approvedAgent();
  const content = "name: web\nresources:\n  - { type: directory, path: /etc/web }\n";
  await product.orchestrator.modules.upload(systemCaller, { content });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await product[Symbol.asyncDispose]();
});

/** An agent that is connected and does nothing. */
async function approvedAgent(): Promise<TestAgent> {
  const seed = nodeCrypto.randomBytes(32);
  const joined = new TestAgent(product.transport.connect(), { crypto: nodeCrypto, seed, hostname: "web" });
  await joined.join();
  await product.orchestrator.agents.setStatus(systemCaller, { node_id: joined.nodeId, status: "approved" });
  return joined;
}

/** A call of the Admin. */
function ask(
  method: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  return server.call({
    method,
    path: path.startsWith("/trpc") ? path : `/api/v1${path}`,
    headers: {
      authorization: `Bearer ${admin.token}`,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}
const assignment = (name: string) => ({ name, selector: "*", modules: ["web"] });

describe("an ETag", () => {
  const updatable: [read: string, method: string, path: string, body: unknown][] = [
    ["/agents/:node_id", "PUT", "/agents/:node_id/tags", { tags: { a: "1" } }],
    ["/agents/:node_id", "PUT", "/agents/:node_id/tags/b", { value: "2" }],
    ["/agents/:node_id", "DELETE", "/agents/:node_id/tags/b", undefined],
    ["/agents/:node_id", "POST", "/agents/:node_id", { status: "rejected" }],
    ["/agents/:node_id", "DELETE", "/agents/:node_id", undefined],
    ["/assignments/tagged", "PUT", "/assignments/tagged", { description: "x" }],
    ["/assignments/tagged", "DELETE", "/assignments/tagged", undefined],
    ["/operators/:operator_id", "PATCH", "/operators/:operator_id", { role: "Viewer" }],
    ["/operators/:operator_id", "DELETE", "/operators/:operator_id", undefined],
    ["/audit/retention", "PUT", "/audit/retention", { retention_days: 30 }],
    ["/modules/tagged", "DELETE", "/modules/tagged", undefined],
  ];

  test("of what was read lets exactly one change through, and a stale one is refused", async () => {
    const content = "name: tagged\nresources:\n  - { type: directory, path: /etc/tagged }\n";
    await product.orchestrator.modules.upload(systemCaller, { content });
    await product.orchestrator.assignments.create(systemCaller, assignment("tagged"));
    const { operator_id } = await product.signIn("Operator", "other");
    const target = await approvedAgent();
    const fill = (path: string): string =>
      path.replace(":node_id", target.nodeId).replace(":operator_id", operator_id);
    for (const [read, method, path, body] of updatable) {
      const { etag = "none" } = (await ask("GET", fill(read))).headers;
      const changes = [`"999-x"`, `W/${etag}`, "nonsense", `"999", "998"`];
      for (const wrong of changes) {
        const refused = await ask(method, fill(path), { body, headers: { "if-match": wrong } });
        expect(refused.json, `${method} ${path}`).toMatchObject({ status: 412, code: "PRECONDITION_FAILED" });
      }
      const done = await ask(method, fill(path), { body, headers: { "if-match": `"999", ${etag}` } });
      expect(done.status, `${method} ${path} ${done.text}`).toBeLessThan(300);
      const late = await ask(method, fill(path), { body, headers: { "if-match": etag } });
      expect(late.status, `${method} ${path}`).toBe(late.status === 404 ? 404 : 412);
    }
  });

  test("is compared in the same step as the write: of twenty at once one wins", async () => {
    const { etag = "" } = (await ask("GET", `/agents/${agent.nodeId}`)).headers;
    const all = Array.from({ length: 20 }, (_, n) =>
      ask("PUT", `/agents/${agent.nodeId}/tags/n`, {
        body: { value: `${n}` },
        headers: { "if-match": etag },
      }),
    );
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
  });

  test("that is still good makes a read 304, without a body", async () => {
    const path = `/agents/${agent.nodeId}`;
    const { headers } = await ask("GET", path);
    const unchanged = await ask("GET", path, { headers: { "if-none-match": `"x", W/${headers.etag}` } });
    expect([unchanged.status, unchanged.text, unchanged.headers.etag]).toEqual([304, "", headers.etag]);
    await ask("PUT", `${path}/tags/fresh`, { body: { value: "1" } });
    expect((await ask("GET", path, { headers: { "if-none-match": headers.etag! } })).status).toBe(200);
  });

  test("changes with what is shown and not stored, such as a connection, and is good for a change all the same", async () => {
    const target = await approvedAgent();
    const path = `/agents/${target.nodeId}`;
    const before = (await ask("GET", path)).headers.etag!;
    await product.transport.disconnect(target.nodeId, "closed");
    const after = (await ask("GET", path)).headers.etag!;
    expect(after).not.toBe(before);
    const set = await ask("PUT", `${path}/tags/a`, { body: { value: "1" }, headers: { "if-match": before } });
    expect(set.status).toBe(after.split("-")[0] === before.split("-")[0] ? 200 : 412);
  });
});

describe("an Idempotency-Key", () => {
  test("stands for one call with its If-Match: with another one it is refused, and nothing is changed", async () => {
    const target = await approvedAgent();
    const path = `/agents/${target.nodeId}`;
    const reject = (etag: string): ReturnType<typeof ask> =>
      ask("POST", path, {
        body: { status: "rejected" },
        headers: { "idempotency-key": "reject-1", "if-match": etag },
      });
    const { etag = "" } = (await ask("GET", path)).headers;
    const first = await reject(etag);
    expect(first.status).toBe(200);
    expect((await reject(etag)).json).toEqual(first.json);
    const now = (await ask("GET", path)).headers.etag!;
    expect(now).not.toBe(etag);
    expect((await reject(now)).json).toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
    expect((await ask("GET", path)).headers.etag).toBe(now);
  });

  test("has a repeated POST answer as the first did: status, headers and body", async () => {
    const headers = { "idempotency-key": "create-1" };
    const first = await ask("POST", "/assignments", { body: assignment("once"), headers });
    const second = await ask("POST", "/assignments", { body: assignment("once"), headers });
    expect(first.status).toBe(201);
    expect([second.status, second.headers.location, second.text]).toEqual([
      first.status,
      first.headers.location,
      first.text,
    ]);
    const withoutKey = await ask("POST", "/assignments", { body: assignment("once") });
    expect(withoutKey.json).toMatchObject({ status: 409, code: "ALREADY_EXISTS" });
  });

  test("is refused with another body", async () => {
    const headers = { "idempotency-key": "create-2" };
    await ask("POST", "/assignments", { body: assignment("two"), headers });
    const reused = await ask("POST", "/assignments", { body: assignment("three"), headers });
    expect(reused.status).toBe(422);
    expect(reused.json).toMatchObject({ status: 422, code: "IDEMPOTENCY_KEY_REUSED" });
  });

  test("repeats a refusal, as the problem it was", async () => {
    const headers = { "idempotency-key": "create-3" };
    const body = { ...assignment("four"), modules: ["not-there"] };
    const first = await ask("POST", "/assignments", { body, headers });
    const content = "name: not-there\nresources:\n  - { type: directory, path: /etc/there }\n";
    await product.orchestrator.modules.upload(systemCaller, { content });
    const second = await ask("POST", "/assignments", { body, headers });
    const { request_id: _, ...problem } = first.json as { request_id: string };
    expect([first.status, second.json]).toMatchObject([404, problem]);
  });

  test("works the same over tRPC, and one surface repeats what the other did", async () => {
    const headers = { "idempotency-key": "create-5" };
    const first = await ask("POST", "/assignments", { body: assignment("five"), headers });
    const second = await ask("POST", "/trpc/assignments.create", { body: assignment("five"), headers });
    expect(second.json).toEqual({ result: { data: first.json } });
    const reused = await ask("POST", "/trpc/assignments.create", { body: assignment("six"), headers });
    expect(reused.json).toMatchObject({ error: { data: { problem: { code: "IDEMPOTENCY_KEY_REUSED" } } } });
    expect(reused.status).toBe(422);
  });

  test.each([
    ["POST /trpc/assignments.create", "POST /assignments"],
    ["POST /assignments", "POST /trpc/assignments.create"],
    ["POST /trpc/assignments.create", "POST /trpc/assignments.create"],
  ])("repeats at %s what was refused, and so does %s", async (...places) => {
    const name = places.join().replaceAll(/\W/g, "").toLowerCase();
    const headers = { "idempotency-key": name };
    const missing = `not-there-${name}`;
    const body = { ...assignment(`refused-${name}`), modules: [missing] };
    const refused = async (place: string): Promise<unknown> => {
      const [method = "", path = ""] = place.split(" ");
      const { status, json } = await ask(method, path, { body, headers });
      expect(status).toBe(404);
      const { error } = json as { error?: { data: { problem: unknown } } };
      const { request_id: _, ...problem } = (error?.data.problem ?? json) as { request_id: string };
      return problem;
    };
    const first = await refused(places[0]!);
    expect(first).toMatchObject({ code: "NOT_FOUND" });
    const content = `name: ${missing}\nresources:\n  - { type: directory, path: /etc/there }\n`;
    await product.orchestrator.modules.upload(systemCaller, { content });
    expect(await refused(places[1]!)).toEqual(first);
  });

  test("is for one call: with a batch it is refused", async () => {
    const body = { 0: assignment("seven"), 1: assignment("eight") };
    const batch = await ask("POST", "/trpc/assignments.create,assignments.create?batch=1", {
      body,
      headers: { "idempotency-key": "create-6" },
    });
    const problem = { error: { data: { problem: { code: "VALIDATION_FAILED" } } } };
    expect(batch.json).toMatchObject([problem, problem]);
  });

  test("that can't be one is refused, and on a GET it means nothing", async () => {
    const headers = { "idempotency-key": "a b" };
    const refused = await ask("POST", "/assignments", { body: assignment("nine"), headers });
    expect(refused.json).toMatchObject({ status: 400, code: "VALIDATION_FAILED" });
    expect((await ask("GET", "/agents", { headers })).status).toBe(200);
  });
});

describe("Prefer", () => {
  const queued = { modules: ["web"], when_offline: "queue" };
  let offline: string;
  beforeAll(async () => {
    offline = (await approvedAgent()).nodeId;
    await product.transport.disconnect(offline, "closed");
  });

  test.each([
    ["respond-async", "respond-async"],
    ["wait=0", "wait=0"],
    ["foo, Wait = 0 ; x=y, respond-async", "respond-async, wait=0"],
  ])("%s answers at once with 202 and the place of the operation", async (prefer, applied) => {
    const started = await ask("POST", `/agents/${offline}/plan`, { body: queued, headers: { prefer } });
    expect(started.status, started.text).toBe(202);
    expect(started.headers["preference-applied"]).toBe(applied);
    expect(started.headers.location).toMatch(/^\/api\/v1\/state\/operations\//);
  });

  test("is said to be applied under an Idempotency-Key, too, each time", async () => {
    const headers = { prefer: "respond-async", "idempotency-key": "prefer-1" };
    for (let times = 0; times < 2; times += 1) {
      const started = await ask("POST", `/agents/${offline}/plan`, { body: queued, headers });
      expect([started.status, started.headers["preference-applied"]]).toEqual([202, "respond-async"]);
    }
  });

  test("says less than the body", async () => {
    const body = { ...queued, wait_seconds: 0 };
    const started = await ask("POST", `/agents/${offline}/plan`, { body, headers: { prefer: "wait=300" } });
    expect([started.status, started.headers["preference-applied"]]).toEqual([202, undefined]);
  });

  test("is passed over where nothing waits, or where it can't be read", async () => {
    const read = await ask("GET", "/agents", { headers: { prefer: "respond-async" } });
    expect([read.status, read.headers["preference-applied"]]).toEqual([200, undefined]);
    const body = { ...queued, wait_seconds: 0 };
    const odd = await ask("POST", `/agents/${offline}/plan`, { body, headers: { prefer: "wait=soon" } });
    expect([odd.status, odd.headers["preference-applied"]]).toEqual([202, undefined]);
  });
});

describe("texts of paths and queries", () => {
  test("become numbers and booleans for REST alone: the schema of the verb still refuses them", async () => {
    expect((await ask("GET", "/agents?limit=1&connected=true")).status).toBe(200);
    expect(schemas.listAgentsInput.safeParse({ limit: "1" }).success).toBe(false);
    expect(schemas.listAgentsInput.safeParse({ connected: "true" }).success).toBe(false);
    const input = encodeURIComponent(JSON.stringify({ limit: "1" }));
    expect((await ask("GET", `/trpc/agents.list?input=${input}`)).status).toBe(400);
  });

  test("are decoded once: the key of a tag may hold a slash", async () => {
    const path = `/agents/${agent.nodeId}/tags/team%2Fowner`;
    const set = await ask("PUT", path, { body: { value: "platform" } });
    expect(set.json).toMatchObject({ tags: { "team/owner": "platform" } });
    expect((await ask("PUT", `/agents/${agent.nodeId}/tags/a%252Fb`, { body: { value: "" } })).status).toBe(
      400,
    );
    expect((await ask("DELETE", path)).status).toBe(204);
  });
});

describe("tokens", () => {
  test("that are old are in nobody's way who signs in anew", async () => {
    const headers = { authorization: `Bearer fw_${"x".repeat(43)}`, "content-type": "application/json" };
    const body = JSON.stringify({ public_key: "11".repeat(32) });
    const answer = await server.call({ method: "POST", path: "/api/v1/auth/challenge", headers, body });
    expect(answer.status, answer.text).toBe(200);
  });
});

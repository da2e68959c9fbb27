import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { querySchema, toyRouter } from "../toy.ts";
import { startToy } from "./server.ts";
import type { Call } from "./server.ts";

let server: Awaited<ReturnType<typeof startToy>>;
beforeAll(async () => {
  server = await startToy();
});
afterAll(() => server[Symbol.asyncDispose]());

const json = { "content-type": "application/json" };
const post = (path: string, body: unknown, headers: Record<string, string> = json): Call => ({
  method: "POST",
  path: `/api/v1${path}`,
  headers,
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const get = (path: string, headers: Record<string, string> = {}): Call => ({
  path: `/api/v1${path}`,
  headers,
});

describe("answers", () => {
  test("a query comes typed as its schema says", async () => {
    const query =
      "limit=3&ratio=0.5&online=false&status=approved&since=2026-01-01T00:00:00%2B02:00&tags=a&tags=b%20c&levels=1&search=a+b";
    const answer = await server.call(get(`/machines?${query}`));
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      query: {
        limit: 3,
        ratio: 0.5,
        online: false,
        status: "approved",
        since: "2026-01-01T00:00:00+02:00",
        tags: ["a", "b c"],
        levels: [1],
        search: "a b",
      },
    });
  });

  test.each(["&limit=3&ratio=0.5", "limit=3&&ratio=0.5", "limit=3&ratio=0.5&"])(
    "an empty part of a query, as in %s, says nothing",
    async (query) => {
      const answer = await server.call(get(`/machines?${query}`));
      expect([answer.status, answer.json]).toEqual([200, { query: { limit: 3, ratio: 0.5 } }]);
    },
  );

  test.each([
    ["/machines?limit=600&limit=5", ["/limit"]],
    ["/machines?limit=600&limit=5&ratio=x", ["/limit", "/ratio"]],
  ])("what is wrong with %s is told once for each field", async (path, pointers) => {
    const { json } = await server.call(get(path));
    const { errors } = json as { errors: { pointer: string }[] };
    expect(errors.map(({ pointer }) => pointer)).toEqual(pointers);
  });

  test("an absent query parameter gets the schema's default", async () => {
    expect((await server.call(get("/machines"))).json).toEqual({ query: { limit: 50 } });
  });

  test("a path parameter of a numeric field is a number", async () => {
    expect((await server.call(get("/slots/12"))).json).toEqual({ slot: 12 });
  });

  test("a path parameter is decoded, an encoded slash included", async () => {
    const answer = await server.call({
      method: "PUT",
      path: "/api/v1/machines/h%C3%A9/tags/a%2Fb%20c",
      headers: json,
      body: '{"value":"v"}',
    });
    expect(answer.json).toEqual({ name: "hé", key: "a/b c", value: "v" });
  });

  test("a literal path wins over a parameter", async () => {
    expect((await server.call(get("/machines/latest"))).json).toMatchObject({ name: "latest" });
  });

  test("what was made is 201 with its place", async () => {
    const answer = await server.call(post("/machines", { name: "db 1", level: 2 }));
    expect(answer.status).toBe(201);
    expect(answer.headers.location).toBe("/api/v1/machines/db%201");
    expect(answer.json).toEqual({ name: "db 1", level: 2, revision: 1 });
  });

  test("what is still running is 202 with its place, what is done is 200 without", async () => {
    const running = await server.call(post("/machines/web-1/run", {}));
    expect([running.status, running.headers.location]).toEqual([202, "/api/v1/jobs/7"]);
    const done = await server.call(post("/machines/web-1/run", { wait: true }));
    expect([done.status, done.headers.location]).toEqual([200, undefined]);
  });

  test("a procedure that returns nothing is 204 without a body", async () => {
    await server.call(post("/machines", { name: "gone", level: 1 }));
    const answer = await server.call({ method: "DELETE", path: "/api/v1/machines/gone?force=true" });
    expect([answer.status, answer.text]).toEqual([204, ""]);
  });

  test("a POST needs neither body nor content type", async () => {
    expect((await server.call({ method: "POST", path: "/api/v1/machines/web-1/ping" })).status).toBe(204);
    expect(
      (await server.call({ method: "POST", path: "/api/v1/machines/web-1/ping", headers: json })).status,
    ).toBe(204);
  });

  test.each(["application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"])(
    "a body of type %s is read",
    async (type) => {
      const answer = await server.call(
        post("/machines", { name: "typed", level: 1 }, { "content-type": type }),
      );
      expect(answer.status).toBe(201);
    },
  );

  test("HEAD is GET without the body", async () => {
    const full = await server.call(get("/machines/web-1"));
    const head = await server.call({ ...get("/machines/web-1"), method: "HEAD" });
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers["content-length"]).toBe(full.headers["content-length"]);
  });

  test("OPTIONS names the methods of the path, to strangers too", async () => {
    const answer = await server.call({ ...get("/machines/web-1", { authorization: "" }), method: "OPTIONS" });
    expect([answer.status, answer.headers.allow]).toEqual([204, "DELETE, GET, HEAD, OPTIONS, PUT"]);
  });

  test("no answer may be cached or sniffed", async () => {
    for (const path of ["/machines/web-1", "/nothing"]) {
      const { headers } = await server.call(get(path));
      expect([headers["cache-control"], headers["x-content-type-options"]]).toEqual(["no-store", "nosniff"]);
    }
  });

  test("a request id is taken over where it is harmless, else made", async () => {
    const given = await server.call(get("/me", { "x-request-id": "abc-1" }));
    expect([given.headers["x-request-id"], given.json]).toEqual([
      "abc-1",
      expect.objectContaining({ request_id: "abc-1" }),
    ]);
    const long = await server.call(get("/me", { "x-request-id": "x".repeat(65) }));
    expect(long.headers["x-request-id"]).toMatch(/^[0-9a-f]{16}-[0-9a-z]+$/);
  });

  test("the output schema keeps back what it does not name", async () => {
    const answer = await server.call(get("/leak"));
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain("hunter2");
  });
});

describe("streams", () => {
  test("a Response of the procedure's own is streamed as it is", async () => {
    const answer = await server.call(get("/machines/web-1/transcript"));
    expect([answer.status, answer.headers["content-type"], answer.text]).toEqual([
      200,
      "text/plain",
      "line 1\nline 2\n",
    ]);
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  test("a Response that says itself how long it may be kept is not contradicted", async () => {
    const { headers } = await server.call(get("/machines/kept/transcript"));
    expect(headers).toMatchObject({ "cache-control": "max-age=60", "x-content-type-options": "nosniff" });
  });

  test("HEAD of a stream ends it unread", async () => {
    const answer = await server.call({ ...get("/machines/endless/transcript"), method: "HEAD" });
    expect([answer.status, answer.text]).toEqual([200, ""]);
    expect(answer.headers["content-type"]).toBe("text/plain");
    expect(answer.headers).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-request-id": expect.any(String) as string,
    });
  });

  test("a stream that breaks off is a broken connection, not a short success", async () => {
    await expect(server.call(get("/machines/broken/transcript"))).rejects.toThrow();
  });

  test("a client that goes away cancels its stream", async () => {
    const cancelled = new Promise<void>((resolve) => (server.toy.streamCancelled = resolve));
    const request = httpRequest(`${server.url}/api/v1/machines/endless/transcript`, {
      headers: { authorization: "Bearer fw_good" },
      agent: false,
    });
    request.on("error", () => {}).end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    await once(response, "data");
    request.destroy();
    await expect(cancelled).resolves.toBeUndefined();
  });
});

describe("callers", () => {
  test("a stranger is sent to sign in before anything is read", async () => {
    const answer = await server.call(post("/machines", "not json", { authorization: "" }));
    expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    expect(answer.json).toMatchObject({ code: "UNAUTHENTICATED" });
  });

  test.each(["Bearer fw_wrong", "Basic YTpi", "Bearer", "Bearer a b", `Bearer ${"x".repeat(2000)}`])(
    "the authorization %s is refused",
    async (authorization) => {
      expect((await server.call(get("/me", { authorization }))).status).toBe(401);
    },
  );

  test("the caller is who the token says", async () => {
    expect((await server.call(get("/me"))).json).toMatchObject({ name: "ada", source_address: "127.0.0.1" });
  });
});

describe("conditions", () => {
  test("an unchanged resource is 304", async () => {
    const { headers } = await server.call(get("/machines/web-1"));
    const again = await server.call(
      get("/machines/web-1", { "if-none-match": `"x", W/${headers.etag ?? ""}` }),
    );
    expect([again.status, again.text, again.headers.etag]).toEqual([304, "", headers.etag]);
  });

  test("an update of another version is 412, of this version is done", async () => {
    await server.call(post("/machines", { name: "versioned", level: 1 }));
    const put = (etag: string): Call => ({
      ...post("/machines/versioned", { level: 2 }, { ...json, "if-match": etag }),
      method: "PUT",
    });
    expect((await server.call(put('"9"'))).status).toBe(412);
    expect((await server.call(put('"1"'))).status).toBe(200);
  });

  test("If-Match is refused where it would not be honoured", async () => {
    const answer = await server.call({
      method: "DELETE",
      path: "/api/v1/machines/web-1",
      headers: { "if-match": '"1"' },
    });
    expect(answer.json).toMatchObject({ code: "PRECONDITION_FAILED", status: 412 });
    expect(server.toy.machines.has("web-1")).toBe(true);
  });
});

test("REST leaves the schemas as they were: a text is still no number", async () => {
  await server.call(get("/machines?limit=3&online=true&levels=1"));
  expect(querySchema.safeParse({ limit: "3" }).success).toBe(false);
  expect(querySchema.safeParse({ online: "false" }).success).toBe(false);
  const caller = toyRouter.createCaller({} as never);
  await expect(caller.machines.list({ limit: "3" as unknown as number })).rejects.toMatchObject({
    code: "BAD_REQUEST",
  });
});

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

const deep = `{"name":"a","level":1,"labels":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
const machine = { name: "bad", level: 1 };

describe("refusals", () => {
  const refused: [name: string, call: Call, status: number, code: string, pointer?: string][] = [
    ["malformed JSON", post("/machines", '{"name":'), 400, "VALIDATION_FAILED"],
    [
      "bytes that are not UTF-8",
      { ...post("/machines", ""), body: Buffer.from([0x7b, 0xff, 0x7d]) },
      400,
      "VALIDATION_FAILED",
    ],
    ["a list for a body", post("/machines", []), 400, "VALIDATION_FAILED"],
    ["null for a body", post("/machines", null), 400, "VALIDATION_FAILED"],
    [
      "a text for a number",
      post("/machines", { name: "bad", level: "1" }),
      400,
      "VALIDATION_FAILED",
      "/level",
    ],
    [
      '"false" for a boolean',
      post("/machines", { ...machine, dry: "false" }),
      400,
      "VALIDATION_FAILED",
      "/dry",
    ],
    [
      "a fault deep inside",
      post("/machines", { ...machine, config: { depth: { on: 1 } } }),
      400,
      "VALIDATION_FAILED",
      "/config/depth/on",
    ],
    ["a missing field", post("/machines", { name: "bad" }), 400, "VALIDATION_FAILED", "/level"],
    ["an unknown field", post("/machines", { ...machine, "a/b": 1 }), 400, "VALIDATION_FAILED", "/a~1b"],
    [
      "__proto__",
      post("/machines", '{"name":"bad","level":1,"__proto__":{"admin":true}}'),
      400,
      "VALIDATION_FAILED",
    ],
    [
      "__proto__ deep and escaped",
      post("/machines", '{"name":"bad","level":1,"labels":{"a":[{"__pr\\u006fto__":1}]}}'),
      400,
      "VALIDATION_FAILED",
    ],
    ["JSON of 20,000 levels", post("/machines", deep), 400, "VALIDATION_FAILED"],
    [
      "a path parameter in the body",
      { ...post("/machines/web-1", { name: "x", level: 1 }), method: "PUT" },
      400,
      "VALIDATION_FAILED",
      "/name",
    ],
    ["a query on a POST", post("/machines?dry=true", machine), 400, "VALIDATION_FAILED", "/dry"],
    ["an unknown query parameter", get("/machines?nope=1"), 400, "VALIDATION_FAILED", "/nope"],
    ["__proto__ in the query", get("/machines?__proto__=1"), 400, "VALIDATION_FAILED", "/__proto__"],
    ["a parameter given twice", get("/machines?limit=1&limit=2"), 400, "VALIDATION_FAILED", "/limit"],
    ["an empty number", get("/machines?limit="), 400, "VALIDATION_FAILED", "/limit"],
    ["a number like 1e3", get("/machines?limit=1e2"), 400, "VALIDATION_FAILED", "/limit"],
    ["a number out of range", get("/machines?limit=501"), 400, "VALIDATION_FAILED", "/limit"],
    ["a boolean like 1", get("/machines?online=1"), 400, "VALIDATION_FAILED", "/online"],
    ["a text for an enum", get("/machines?status=Approved"), 400, "VALIDATION_FAILED", "/status"],
    [
      "broken percent-encoding in the query",
      get("/machines?search=%zz"),
      400,
      "VALIDATION_FAILED",
      "/search",
    ],
    ["broken percent-encoding in the path", get("/machines/%zz"), 400, "VALIDATION_FAILED", "/name"],
    ["a query where nothing is taken", get("/me?x=1"), 400, "VALIDATION_FAILED", "/x"],
    ["NUL in the path", get("/machines/a%00b"), 400, "VALIDATION_FAILED", "/name"],
    ["a body on GET", { ...get("/machines/web-1", json), body: "{}" }, 400, "VALIDATION_FAILED"],
    [
      "another media type",
      post("/machines", "a=b", { "content-type": "application/x-www-form-urlencoded" }),
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    ["no media type", post("/machines", machine, {}), 415, "UNSUPPORTED_MEDIA_TYPE"],
    [
      "another charset",
      post("/machines", machine, { "content-type": "application/json; charset=latin1" }),
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    ["an unknown path", get("/nothing"), 404, "NOT_FOUND"],
    ["the base path alone", get(""), 404, "NOT_FOUND"],
    ["a base path with more letters", get("x/machines"), 404, "NOT_FOUND"],
    ["a trailing slash", get("/machines/web-1/"), 404, "NOT_FOUND"],
    ["an empty segment", get("//machines"), 404, "NOT_FOUND"],
    ["two slashes in front", { path: "//api/v1/machines" }, 404, "NOT_FOUND"],
    ["other case", get("/Machines"), 404, "NOT_FOUND"],
    ["other case of the base path", { path: "/API/v1/machines" }, 404, "NOT_FOUND"],
    ["what is not there", get("/machines/none"), 404, "NOT_FOUND"],
    ["a busy procedure", post("/fail", { how: "busy" }), 429, "RATE_LIMITED"],
    ["a full disk", post("/fail", { how: "full" }), 503, "STORAGE_FULL"],
    ["an absent agent", post("/fail", { how: "late" }), 409, "AGENT_OFFLINE"],
    ["a bug", post("/fail", { how: "bug" }), 500, "INTERNAL"],
    [
      "a body announced far too large",
      { ...post("/machines", "{}"), headers: { ...json, "content-length": "99999999" } },
      413,
      "PAYLOAD_TOO_LARGE",
    ],
    [
      "a large body of known length",
      post("/machines", `{"name":"${"x".repeat(1 << 20)}"}`),
      413,
      "PAYLOAD_TOO_LARGE",
    ],
    [
      "a large body of unknown length",
      { ...post("/machines", `{"name":"${"x".repeat(1 << 20)}"}`), chunked: true },
      413,
      "PAYLOAD_TOO_LARGE",
    ],
  ];

  test.each(refused)("%s", async (_name, call, status, code, pointer) => {
    const answer = await server.call(call);
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.json).toMatchObject({ status, code, request_id: answer.headers["x-request-id"] });
    expect(answer.status).toBe(status);
    if (pointer !== undefined) expect(answer.json).toMatchObject({ errors: [{ pointer }] });
    expect(server.toy.machines.has("bad")).toBe(false);
  });

  test("a method that the path does not have is 405 with those that it has", async () => {
    for (const method of ["PATCH", "POST", "TRACE", "PROPFIND"]) {
      const answer = await server.call({ ...get("/machines/web-1"), method });
      expect([answer.status, answer.headers.allow]).toEqual([405, "DELETE, GET, HEAD, OPTIONS, PUT"]);
    }
  });

  test("a refusal that passes says when to come back", async () => {
    expect((await server.call(post("/fail", { how: "busy" }))).headers["retry-after"]).toBe("7");
    expect((await server.call(post("/fail", { how: "full" }))).headers["retry-after"]).toBe("5");
  });

  test("a fault in an uploaded text has its line and column", async () => {
    const answer = await server.call(post("/fail", { how: "module" }));
    expect(answer.json).toMatchObject({
      errors: [{ pointer: "/content/0", message: "unknown type", line: 3, column: 7 }],
    });
  });

  test("an unexpected error says nothing of itself and is logged with the request id", async () => {
    const answer = await server.call({
      ...post("/fail", { how: "bug" }),
      headers: { ...json, "x-request-id": "bug-1" },
    });
    expect(answer.text).not.toContain("hunter2");
    const fields = {
      request_id: "bug-1",
      error: expect.objectContaining({ message: "password is hunter2" }),
    };
    expect(server.logger.errors).toContainEqual({
      message: expect.any(String),
      fields: expect.objectContaining(fields),
    });
  });

  test("the connection goes on after a refused body", async () => {
    const { port } = server;
    const answers = await pipelined(port, [
      `POST /api/v1/machines HTTP/1.1\r\nhost: x\r\nauthorization: Bearer fw_good\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\nnope`,
      `GET /api/v1/machines/web-1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer fw_good\r\nconnection: close\r\n\r\n`,
    ]);
    expect(answers).toMatch(/^HTTP\/1\.1 400 [\s\S]*HTTP\/1\.1 200 [\s\S]*"name":"web-1"/);
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

async function pipelined(port: number, requests: string[]): Promise<string> {
  const { connect } = await import("node:net");
  const socket = connect(port, "127.0.0.1");
  socket.write(requests.join(""));
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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

  test.each<[name: string, call: Call, pointers: string[]]>([
    [
      "a path parameter in the body",
      { ...post("/machines/web-1", { name: "x", level: "high", nope: 1, never: 2 }), method: "PUT" },
      ["/name", "/level", "/nope", "/never"],
    ],
    [
      "an unknown query parameter",
      get("/machines?nope=1&limit=501&never=2&online=1"),
      ["/nope", "/never", "/limit", "/online"],
    ],
    ["a parameter given twice", get("/machines?limit=1&limit=2&nope=1"), ["/limit", "/nope"]],
    ["a query on a POST", post("/machines?dry=true", { name: "bad" }), ["/dry", "/level"]],
    ["broken percent-encoding", get("/machines?search=%zz&nope=1"), ["/search", "/nope"]],
  ])("%s hides no other fault", async (_name, call, pointers) => {
    const { status, json: problem } = await server.call(call);
    expect(status).toBe(400);
    const told = (problem as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer);
    expect(told.toSorted()).toEqual(pointers.toSorted());
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

  test("a client that goes away in the middle of its body harms nobody", async () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.write(`${postHead}content-length: 100\r\n\r\n{"name":`);
    await once(socket, "ready");
    socket.resetAndDestroy();
    expect((await server.call(get("/machines/web-1"))).status).toBe(200);
  });

  test("a body without end is cut, and only so much of it is read", async () => {
    const socket = connect(server.port, "127.0.0.1");
    const closed = new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
    socket.write(`${postHead}transfer-encoding: chunked\r\n\r\n`);
    const piece = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    const write = () => new Promise((resolve) => socket.write(piece, resolve));
    let written = 0;
    while (written < 1000 && !((await write()) instanceof Error)) written += 1;
    await closed;
    // 4 MiB are read at most; the rest is what the two sockets' buffers held.
    expect(written).toBeLessThan(500);
  });
});

const postHead =
  "POST /api/v1/machines HTTP/1.1\r\nhost: x\r\nauthorization: Bearer fw_good\r\ncontent-type: application/json\r\n";

async function pipelined(port: number, requests: string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(requests.join(""));
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

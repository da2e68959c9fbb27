/** Requests that two parts of a way may read differently, written byte by byte: each is refused, and the connection goes on. */
import { once } from "node:events";
import { request } from "node:https";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listenApp } from "../../../adapters/h3/serve.ts";
import { createCertificate } from "../../support/certificate.ts";
import { startToy } from "../rest/server.ts";

let server: Awaited<ReturnType<typeof startToy>>;
const echo = { message: (): void => {} };
beforeAll(async () => {
  server = await startToy({ sockets: new Map([["/agent/v1", echo]]) });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Sends a text as it stands, `\n` as line ends, and gives the status and the whole answer. */
async function raw(text: string): Promise<{ status: number; answer: string }> {
  const socket = connect(server.port, "127.0.0.1");
  socket.write(text.replaceAll("\n", "\r\n"));
  let answer = "";
  socket.on("data", (data) => (answer += String(data)));
  socket.on("error", () => {});
  await once(socket, "close");
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]), answer };
}

const end = "Connection: close\n\n";
const own = "Host: 127.0.0.1\n";
const bearer = "Authorization: Bearer fw_good\n";
const get = (path: string, headers = ""): string => `GET ${path} HTTP/1.1\n${own}${bearer}${headers}${end}`;
const me = "/api/v1/me";

describe("a request", () => {
  it("that is well formed is answered", async () => {
    expect((await raw(get(me))).status).toBe(200);
    for (const own of [
      "http://127.0.0.1",
      "http://127.0.0.1:80",
      "https://127.0.0.1:443",
      "HTTP://127.0.0.1",
    ])
      expect((await raw(get(`${own}/api/v1/me`))).status).toBe(200);
  });

  it.each([
    ["two hosts", get(me, "Host: 127.0.0.1\n"), 400, "VALIDATION_FAILED"],
    ["two hosts, one of them in capitals", get(me, "HOST: evil.example\n"), 400, "VALIDATION_FAILED"],
    ["two tokens", get(me, "authorization: Bearer fw_bad\n"), 400, "VALIDATION_FAILED"],
    [
      "two media types",
      get(me, "Content-Type: application/json\nContent-Type: text/plain\n"),
      400,
      "VALIDATION_FAILED",
    ],
    ["another server's address", get("http://evil.example/api/v1/me"), 421, "MISDIRECTED"],
    ["another port's address", get("http://127.0.0.1:1/api/v1/me"), 421, "MISDIRECTED"],
    ["an address that is none", get("ftp://127.0.0.1/api/v1/me"), 400, "VALIDATION_FAILED"],
    ["an address that is too long", get(`${me}?x=${"a".repeat(8_200)}`), 414, "URL_TOO_LONG"],
    ["a body that is compressed", get(me, "Content-Encoding: gzip\n"), 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["a way up", get("/docs/../api/v1/me"), 404, "NOT_FOUND"],
    ["a way up that is encoded", get("/docs/%2e%2E/api/v1/me"), 404, "NOT_FOUND"],
    ["a way up at its end", get("/api/v1/me/.."), 404, "NOT_FOUND"],
    ["a way that stays", get("/api/./v1/me"), 404, "NOT_FOUND"],
    ["a backslash", get("/docs\\..\\api/v1/me"), 404, "NOT_FOUND"],
    ["a way up within tRPC", get("/trpc/../api/v1/me"), 404, "NOT_FOUND"],
    ["the path of a socket, plainly", get("/agent/v1"), 426, "UPGRADE_REQUIRED"],
    [
      "the path of a socket, with a body",
      `POST /agent/v1 HTTP/1.1\n${own}Content-Length: 0\n${end}`,
      426,
      "UPGRADE_REQUIRED",
    ],
  ])("with %s is refused", async (_name, request, status, code) => {
    const { status: answered, answer } = await raw(request);
    expect([answered, answer]).toEqual([status, expect.stringContaining(`"code":"${code}"`)]);
    if (status === 426) expect(answer).toMatch(/\r\nupgrade: websocket\r\n/i);
  });

  it.each([
    ["a way up", get("/docs/../api/v1/me"), "Nothing is at a path with segments that lead elsewhere"],
    ["a body that is compressed", get(me, "Content-Encoding: gzip\n"), "without Content-Encoding"],
  ])("with %s is told what is wrong with it", async (_name, request, told) => {
    expect((await raw(request)).answer).toContain(told);
  });

  it.each([
    [
      "two hosts",
      `GET /agent/v1 HTTP/1.1\n${own}Host: evil.example\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n\n`,
      400,
    ],
  ])("that opens a socket with %s is refused", async (_name, request, status) => {
    expect((await raw(request)).status).toBe(status);
  });

  it.each([
    [199, 200],
    [200, 200],
    [201, 431],
  ])("with %i header fields is answered with %i", async (count, status) => {
    const written = get(me).split("\n").length - 3;
    const more = Array.from({ length: count - written }, (_, at) => `X-${at}: a\n`).join("");
    expect((await raw(get(me, more))).status).toBe(status);
  });

  it("that comes through fetch is looked at, too", async () => {
    const headers = { authorization: "Bearer fw_good" };
    const ask = async (path: string, more: Record<string, string> = {}): Promise<number> =>
      (await server.app.fetch(new Request(`http://127.0.0.1${path}`, { headers: { ...headers, ...more } })))
        .status;
    expect(await ask(me)).toBe(200);
    expect(await ask(me, { "content-encoding": "gzip" })).toBe(415);
    expect(await ask(`${me}?x=${"a".repeat(20_000)}`)).toBe(414);
  });

  it("whose path only looks as if it led elsewhere is answered", async () => {
    for (const path of [`${me}?x=/../`, "/..api", "/api/v1/...", "/api/v1/%2e%2e%2e", "/a.b/c..d"])
      expect((await raw(get(path))).answer).not.toContain("lead elsewhere");
  });
});

describe("over tRPC", () => {
  const post = (body: string, path = "/trpc/fail"): string =>
    `POST ${path} HTTP/1.1\n${own}${bearer}Content-Type: application/json\nContent-Length: ${Buffer.byteLength(body)}\n${end}${body}`;

  it.each([
    ["a field twice", post('{"name":"a","name":"b"}')],
    ["a field twice within", post('{"name":"a","tags":{"x":"1","x":"2"}}')],
    ["a call of a batch twice", post('{"0":{"name":"a"},"0":{"name":"b"}}', "/trpc/fail?batch=1")],
    ["a way into a prototype", post('{"name":"a","__proto__":{"admin":true}}')],
    ["very many levels", post(`{"name":${"[".repeat(100)}${"]".repeat(100)}}`)],
  ])("%s is refused as over REST", async (_name, request) => {
    const { status, answer } = await raw(request);
    expect([status, answer]).toEqual([400, expect.stringContaining('"code":"VALIDATION_FAILED"')]);
    expect(answer).toMatch(/twice|__proto__|nests deeper/);
  });
});

it("HEAD of what is made while it is sent makes nothing", async () => {
  server.toy.linesSent = 0;
  const { status, answer } = await raw(
    `HEAD /api/v1/machines/endless/transcript HTTP/1.1\n${own}${bearer}${end}`,
  );
  expect([status, answer]).toEqual([200, expect.stringMatching(/content-type: text\/plain/)]);
  expect(server.toy.linesSent).toBe(0);
});

it("over TLS has browsers come back over TLS", async () => {
  await using secure = await listenApp(server.app, { port: 0, tls: await createCertificate() });
  const ask = (host: string): Promise<Record<string, unknown>> =>
    new Promise((resolve, reject) => {
      const options = {
        port: secure.port,
        host: "127.0.0.1",
        path: "/livez",
        headers: { host },
        rejectUnauthorized: false,
      };
      request(options, (response) => (response.resume(), resolve(response.headers)))
        .on("error", reject)
        .end();
    });
  expect((await ask("127.0.0.1"))["strict-transport-security"]).toBe("max-age=31536000");
  for (const host of ["localhost.example", "localhosts"])
    expect((await ask(host))["strict-transport-security"], host).toBe("max-age=31536000");
  for (const host of ["localhost", "LOCALHOST:8443"])
    expect((await ask(host))["strict-transport-security"], host).toBeUndefined();
  expect((await raw(get(me))).answer).not.toMatch(/strict-transport/i);
});

/** Bytes of which no request can be made, sent as they are: each is answered with a problem, as everything that is refused. */
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp } from "../../../adapters/h3/app.ts";
import { listenApp, type ListenAppOptions, type ListeningApp } from "../../../adapters/h3/serve.ts";
import { createCertificate } from "../../support/certificate.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { sendRaw } from "../../support/raw-http.ts";
import { Toy, toyContexts, toyRouter } from "../toy.ts";

async function listen(options: Partial<ListenAppOptions> = {}): Promise<{ server: ListeningApp; toy: Toy }> {
  const toy = new Toy();
  const app = createApp({ router: toyRouter, createContext: toyContexts(toy), isReady: () => true });
  return { toy, server: await listenApp(app, { port: 0, graceMs: 0, ...options }) };
}

let server: ListeningApp;
let toy: Toy;
beforeAll(async () => {
  ({ server, toy } = await listen());
});
afterAll(() => server.close());

/** An answer that ends its connection, read as closely as a client would. */
function read(text: string): { status: number; headers: Record<string, string>; problem: object } {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [line = "", ...lines] = head.split("\r\n");
  const pairs = lines.map((each) => each.split(": ", 2) as [string, string]);
  const headers = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]));
  const body = rest.join("\r\n\r\n");
  expect(body).toHaveLength(Number(headers["content-length"]));
  return { status: Number(line.split(" ")[1]), headers, problem: JSON.parse(body) as object };
}

function expectProblem(text: string, status: number, code: string): void {
  const answer = read(text);
  expect(answer).toMatchObject({
    status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
    problem: { status, code, request_id: answer.headers["x-request-id"] },
  });
  expect(answer.headers["x-request-id"]).toMatch(/^\S+$/);
}

const own = "Host: a\r\nAuthorization: Bearer fw_good\r\n";
const end = "Connection: close\r\n\r\n";
const get = (path: string, headers = ""): string => `GET ${path} HTTP/1.1\r\n${own}${headers}${end}`;
const long = (bytes: number): string => "a".repeat(bytes);

describe("a head that is too large", () => {
  it.each([
    ["an address of 9 KiB", get(`/?x=${long(9 << 10)}`), 414, "URL_TOO_LONG"],
    ["an address of 20 KiB", get(`/?x=${long(20 << 10)}`), 414, "URL_TOO_LONG"],
    ["an address of 100 KiB", get(`/?x=${long(100 << 10)}`), 414, "URL_TOO_LONG"],
    ["an address of 2 MiB", get(`/?x=${long(2 << 20)}`), 414, "URL_TOO_LONG"],
    ["an address of 100 KiB that never ends", `GET /${long(100 << 10)}`, 414, "URL_TOO_LONG"],
    ["a header of 17 KiB", get("/", `X-A: ${long(17 << 10)}\r\n`), 431, "HEADERS_TOO_LARGE"],
    ["a header of 100 KiB", get("/", `X-A: ${long(100 << 10)}\r\n`), 431, "HEADERS_TOO_LARGE"],
    ["a header of 2 MiB", get("/", `X-A: ${long(2 << 20)}\r\n`), 431, "HEADERS_TOO_LARGE"],
    ["a name of 20 KiB", get("/", `${long(20 << 10)}: a\r\n`), 431, "HEADERS_TOO_LARGE"],
    ["300 headers", get("/", "X-A: b\r\n".repeat(300)), 431, "HEADERS_TOO_LARGE"],
    ["5,000 headers", get("/", "X-A: b\r\n".repeat(5_000)), 431, "HEADERS_TOO_LARGE"],
    ["a token of 20 KiB", get("/", `Cookie: ${long(20 << 10)}\r\n`), 431, "HEADERS_TOO_LARGE"],
  ])("%s is refused", async (_name, request, status, code) => {
    expectProblem(await (await sendRaw(server.port, request)).closed, status, code);
  });

  it("is refused so in pieces, too", async () => {
    const raw = await sendRaw(server.port, `GET /?x=`);
    for (let piece = 0; piece < 10; piece += 1) raw.socket.write(long(6_000));
    raw.socket.write(` HTTP/1.1\r\n${own}${end}`);
    expectProblem(await raw.closed, 414, "URL_TOO_LONG");
  });

  it("holds nobody up, whatever stands in the piece in which it ends", async () => {
    const raw = await sendRaw(server.port, `GET / HTTP/1.1\r\n${own}X-A: a`);
    // In a piece of its own.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const before = cpuMs();
    raw.socket.write(`${"%".repeat(60_000)}\t`);
    expectProblem(await raw.closed, 431, "HEADERS_TOO_LARGE");
    expect(cpuMs() - before).toBeLessThan(500);
  });

  it("is answered within the limits", async () => {
    const raw = await sendRaw(server.port, get(`/api/v1/me?${long(0)}`, `X-A: ${long(16_000)}\r\n`));
    expect(await raw.closed).toMatch(/^HTTP\/1.1 200 /);
  });

  // Three of its own beside them.
  it.each([
    [97, 200],
    [98, 200],
    [197, 200],
    [198, 431],
  ])("may have 200 headers: with %i more it is answered with %i", async (more, status) => {
    const raw = await sendRaw(server.port, get("/api/v1/me", "X-A: b\r\n".repeat(more)));
    expect(await raw.closed).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it("is refused behind the answer to the request before", async () => {
    const raw = await sendRaw(
      server.port,
      `GET /api/v1/me HTTP/1.1\r\n${own}\r\n${get("/", `X-A: ${long(100 << 10)}\r\n`)}`,
    );
    const text = await raw.closed;
    expect(text).toMatch(/^HTTP\/1.1 200 OK[^]*"ada"/);
    expectProblem(text.slice(text.lastIndexOf("HTTP/1.1 4")), 431, "HEADERS_TOO_LARGE");
  });

  it("is refused over TLS", async () => {
    const tls = await createCertificate();
    const { server: own } = await listen({ tls });
    const socket = connectTls({ port: own.port, host: "127.0.0.1", ca: tls.cert });
    let text = "";
    socket.on("data", (piece) => (text += String(piece))).on("error", () => {});
    socket.write(get("/", `X-A: ${long(100 << 10)}\r\n`));
    await new Promise((resolve) => socket.once("close", resolve));
    expectProblem(text, 431, "HEADERS_TOO_LARGE");
    await own.close();
  });
});

describe("what is no request", () => {
  const post = `POST /api/v1/machines HTTP/1.1\r\n${own}Content-Type: application/json\r\n`;
  it.each([
    ["a word", "HELLO\r\n\r\n"],
    ["a handshake of TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a version that is none", `GET / HTTP/3.7\r\n${own}\r\n`],
    ["no host", "GET /api/v1/me HTTP/1.1\r\nAuthorization: Bearer fw_good\r\nConnection: close\r\n\r\n"],
    ["a header without a name", `GET / HTTP/1.1\r\n${own}: a\r\n\r\n`],
    ["a length and pieces", `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`],
    ["two lengths", `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ["a piece without a length", `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
  ])("%s is refused", async (_name, bytes) => {
    const before = toy.machines.size;
    expectProblem(await (await sendRaw(server.port, bytes)).closed, 400, "VALIDATION_FAILED");
    expect(toy.machines.size).toBe(before);
  });

  it("an expectation that nobody knows is passed over", async () => {
    const raw = await sendRaw(server.port, get("/api/v1/me", "Expect: a-miracle\r\n"));
    expect(await raw.closed).toMatch(/^HTTP\/1.1 200 /);
  });

  it("leaves the requests before it their answers", async () => {
    const one = `GET /api/v1/me HTTP/1.1\r\n${own}\r\n`;
    const raw = await sendRaw(server.port, `${one}${one}HELLO\r\n\r\n`);
    const text = await raw.closed;
    expect(text.match(/HTTP\/1.1 200 OK/g)).toHaveLength(2);
    expectProblem(text.slice(text.lastIndexOf("HTTP/1.1 4")), 400, "VALIDATION_FAILED");
  });

  it("behind a request that ends the connection is not carried out, nor does it cost the answer", async () => {
    const create = (name: string, headers = ""): string => {
      const body = JSON.stringify({ name, level: 1 });
      return `${post}${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
    };
    const raw = await sendRaw(server.port, create("one", "Connection: close\r\n") + create("two"));
    expect((await raw.closed).match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 201"]);
    expect(toy.machines.has("one")).toBe(true);
    expect(toy.machines.has("two")).toBe(false);
  });
});

describe("a request that does not come to its end", () => {
  it.each([
    ["in its head", "GET /api/v1/me HTTP/1.1\r\nHost: a\r\nX-Slow: "],
    [
      "in its body",
      `POST /api/v1/machines HTTP/1.1\r\n${own}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"na`,
    ],
    ["before its first byte", ""],
  ])("%s is told so", async (_name, beginning) => {
    const { server: hasty } = await listen({ headersMs: 300, requestMs: 300 });
    const raw = await sendRaw(hasty.port, beginning);
    expectProblem(await raw.closed, 408, "REQUEST_TIMEOUT");
    await hasty.close();
  });

  it("is told so behind the answers before it", async () => {
    const { server: hasty } = await listen({ headersMs: 300, requestMs: 300 });
    const one = `GET /api/v1/me HTTP/1.1\r\n${own}\r\n`;
    const raw = await sendRaw(
      hasty.port,
      `${one}POST /api/v1/machines HTTP/1.1\r\n${own}Content-Length: 9\r\n\r\n`,
    );
    const text = await raw.closed;
    expect(text).toMatch(/^HTTP\/1.1 200 OK/);
    expectProblem(text.slice(text.lastIndexOf("HTTP/1.1 4")), 408, "REQUEST_TIMEOUT");
    await hasty.close();
  });
});

import { once } from "node:events";
import { get } from "node:http";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { createApp, type AppOptions } from "../../../adapters/h3/app.ts";
import { listenApp, type ListenAppOptions } from "../../../adapters/h3/serve.ts";
import type { RequestContext } from "../../../adapters/trpc/context.ts";
import { createCertificate } from "../../support/certificate.ts";
import { deferred } from "../../support/deferred.ts";
import { OwnTime } from "../../support/own-time.ts";
import { sendRaw } from "../../support/raw-http.ts";
import { Toy, toyContexts, toyRouter } from "../toy.ts";

async function listenToy(
  listen: Partial<ListenAppOptions> = {},
  extra: Partial<AppOptions<RequestContext>> = {},
) {
  const toy = new Toy();
  const app = createApp({
    router: toyRouter,
    createContext: toyContexts(toy),
    isReady: () => true,
    sockets: new Map([["/agent/v1", {}]]),
    ...extra,
  });
  const server = await listenApp(app, { port: 0, ...listen });
  return { toy, server, port: server.port, [Symbol.asyncDispose]: () => server.close() };
}

/** Has whoever calls from now on wait until `finish` is called; `begun` resolves when the first one does. */
function holdCalls(toy: Toy, onCall = (): void => {}): { begun: Promise<void>; finish: () => void } {
  const [first, gate] = [deferred(), deferred()];
  toy.access.authenticate = async () => {
    onCall();
    first.resolve();
    await gate.promise;
    return { name: "ada" };
  };
  return { begun: first.promise, finish: gate.resolve };
}

const head = (line: string, ...headers: string[]): string =>
  `${[`${line} HTTP/1.1`, "Authorization: Bearer fw_good", ...headers].join("\r\n")}\r\n\r\n`;
const webSocket = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
const handshake = [...webSocket, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];

describe("a body of which the rest is given up", () => {
  const piece = `10000\r\n${"a".repeat(0x10000)}\r\n`;
  test.each([
    ["tRPC", "POST /trpc/machines.create", "Content-Type: application/json"],
    ["REST by its whole URL", "POST http://a/api/v1/machines", "Content-Type: application/json"],
    ["no path", "POST /nothing", "Content-Type: text/plain"],
  ])("leaves the server alone when it goes to %s", async (_where, line, type) => {
    await using listening = await listenToy();
    const raw = await sendRaw(
      listening.port,
      head(line, "Host: a", type, "Transfer-Encoding: chunked") + piece.repeat(200),
    );
    await raw.until(/^HTTP\/1.1 4\d\d /);
    raw.socket.destroy();
    const next = await sendRaw(listening.port, head("GET /livez", "Host: a", "Connection: close"));
    expect(await next.closed).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe("a request that asks for another protocol", () => {
  test.each([
    ["h2c", ["Connection: Upgrade", "Upgrade: h2c"]],
    ["a WebSocket at a path that has none", handshake],
  ])("is not carried out behind an answer that is not out: %s", async (_what, asking) => {
    await using listening = await listenToy();
    let calls = 0;
    const { begun, finish } = holdCalls(listening.toy, () => void (calls += 1));
    const raw = await sendRaw(
      listening.port,
      head("GET /api/v1/me", "Host: a") + head("GET /api/v1/me/none", "Host: a", ...asking),
    );
    await begun;
    await pause(50);
    // Its refusal came in the place of the answer to the first, or it was carried out and never answered.
    expect(raw.text()).toBe("");
    finish();
    const all = await raw.closed;
    expect(all).toMatch(/^HTTP\/1.1 200 /);
    expect(all.match(/HTTP\/1.1 /g)).toHaveLength(1);
    expect(calls).toBe(1);
  });

  test("is answered as if it had not, with its body, as the last on its connection", async () => {
    await using listening = await listenToy();
    const body = '{"name":"new","level":1}';
    const raw = await sendRaw(
      listening.port,
      head(
        "POST /api/v1/machines",
        "Host: a",
        "Connection: Upgrade, HTTP2-Settings, keep-alive",
        "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
      ) + body,
    );
    expect(await raw.until(/"level":1/)).toMatch(/^HTTP\/1.1 201 Created/);
    await once(raw.socket, "close");
  });

  test("costs nothing that lasts, however many come at once", async () => {
    await using listening = await listenToy();
    const many = head("GET /api/v1/machines/web-1", "Host: a", "Upgrade: h2c", "Connection: upgrade").repeat(
      500,
    );
    const raw = await sendRaw(listening.port, many);
    expect((await raw.closed).match(/HTTP\/1.1 /g)).toHaveLength(1);
  });

  test("is answered so over TLS, too", async () => {
    const tls = await createCertificate();
    await using listening = await listenToy({ tls });
    const socket = connectTls({ port: listening.port, host: "127.0.0.1", ca: tls.cert });
    await once(socket, "secureConnect");
    socket.write(head("GET /api/v1/machines/web-1", "Host: a", "Upgrade: h2c", "Connection: upgrade"));
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1.1 200 OK/);
    socket.destroy();
  });
});

describe("requests that are sent ahead of the answers", () => {
  const one = head("GET /api/v1/machines/web-1", "Host: a");

  test("are answered in order while they are few", async () => {
    await using listening = await listenToy();
    const last = head("GET /api/v1/machines/web-1", "Host: a", "Connection: close");
    const raw = await sendRaw(listening.port, one.repeat(60) + last);
    expect((await raw.closed).match(/HTTP\/1.1 200 OK/g)).toHaveLength(61);
  });

  test("are carried out one after the other, the next when the answer was taken", async () => {
    await using listening = await listenToy();
    const finish: (() => void)[] = [];
    listening.toy.access.authenticate = async () => {
      await new Promise<void>((resolve) => finish.push(resolve));
      return { name: `caller-${finish.length}` };
    };
    const raw = await sendRaw(listening.port, head("GET /api/v1/me", "Host: a").repeat(3));
    for (const count of [1, 2, 3]) {
      await expect.poll(() => finish.length, { timeout: 30_000 }).toBe(count);
      await pause(50);
      expect(finish).toHaveLength(count);
      finish.at(-1)?.();
      await raw.until(new RegExp(`"caller-${count}"`));
    }
    raw.socket.destroy();
  });

  test("are answered to the last when the server is told to stop, and later ones are not", async () => {
    const { server, port, toy } = await listenToy({ graceMs: 60_000 });
    const { begun, finish } = holdCalls(toy);
    const raw = await sendRaw(port, head("GET /api/v1/me", "Host: a").repeat(20));
    await begun;
    const closing = server.close();
    const late = await sendRaw(port, head("GET /api/v1/me", "Host: a"));
    expect(await late.closed).toMatch(/^HTTP\/1.1 503 /);
    finish();
    await closing;
    expect((await raw.closed).match(/HTTP\/1.1 200 OK/g)).toHaveLength(20);
  });

  test("may be 64 that wait, and with one more the connection is cut", async () => {
    await using listening = await listenToy();
    const { begun, finish } = holdCalls(listening.toy);
    const me = head("GET /api/v1/me", "Host: a");
    const raw = await sendRaw(listening.port, me.repeat(65));
    await begun;
    const over = await sendRaw(listening.port, me.repeat(66));
    expect(await over.closed).toBe("");
    finish();
    await expect
      .poll(() => raw.text().match(/HTTP\/1.1 200 OK/g) ?? [], { timeout: 60_000 })
      .toHaveLength(65);
    raw.socket.destroy();
  });

  test("without end have the connection cut, and no other", async () => {
    await using listening = await listenToy();
    const raw = await sendRaw(listening.port, one.repeat(400));
    expect((await raw.closed).match(/HTTP\/1.1 200 OK/g) ?? []).not.toHaveLength(400);
    const next = await sendRaw(listening.port, head("GET /livez", "Host: a", "Connection: close"));
    expect(await next.closed).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe("hosts and web pages", () => {
  const cases: [name: string, headers: string[], status: number][] = [
    ["no page", ["Host: 127.0.0.1"], 200],
    ["a page of ours", ["Host: fleet.test", "Origin: https://fleet.test"], 200],
    ["a page of another site", ["Host: fleet.test", "Origin: https://evil.test"], 403],
    ["a page of another port", ["Host: fleet.test", "Origin: https://fleet.test:8443"], 403],
    ["a page without a site", ["Host: fleet.test", "Origin: null"], 403],
    ["a host with a space", ["Host: fleet .test"], 400],
    ["a host that is a URL", ["Host: http://fleet.test/x"], 400],
    ["a host with a port that is none", ["Host: fleet.test:http"], 400],
    ["a host that is a broken address", ["Host: [::1"], 400],
  ];
  test.each(cases)("%s is answered over REST and at a socket alike", async (_name, headers, status) => {
    await using listening = await listenToy();
    const rest = await sendRaw(listening.port, head("GET /api/v1/machines/web-1", ...headers));
    expect(await rest.until(/\r\n\r\n/)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    if (status !== 200) expect(rest.text()).toContain("application/problem+json");
    rest.socket.destroy();
    const trpc = await sendRaw(listening.port, head("GET /trpc/me", ...headers));
    expect(await trpc.until(/\r\n\r\n/)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    trpc.socket.destroy();
    const socket = await sendRaw(listening.port, head("GET /agent/v1", ...headers, ...handshake));
    expect(await socket.until(/\r\n\r\n/)).toMatch(new RegExp(`^HTTP/1.1 ${status === 200 ? 101 : status} `));
    socket.socket.destroy();
  });

  test.each([
    ["fleet.test", 200],
    ["FLEET.test:4748", 200],
    ["localhost:4748", 200],
    ["127.0.0.1:4748", 200],
    ["[::1]:4748", 200],
    ["evil.test", 403],
    ["fleet.test.evil.test", 403],
  ])("with a list of hosts, %s is answered with %i", async (host, status) => {
    await using listening = await listenToy({}, { allowedHosts: ["Fleet.test"] });
    for (const [path, extra] of [
      ["/api/v1/machines/web-1", []],
      ["/livez", []],
      ["/agent/v1", handshake],
    ] as const) {
      const raw = await sendRaw(listening.port, head(`GET ${path}`, `Host: ${host}`, ...extra));
      const expected = status === 200 && extra.length > 0 ? 101 : status;
      expect(await raw.until(/\r\n\r\n/)).toMatch(new RegExp(`^HTTP/1.1 ${expected} `));
      raw.socket.destroy();
    }
  });

  test("behind a proxy that changes the host, pages of an allowed host may call", async () => {
    await using listening = await listenToy({}, { allowedHosts: ["fleet.test"] });
    const headers = ["Host: 127.0.0.1:4748", "Origin: https://fleet.test"];
    const raw = await sendRaw(listening.port, head("GET /api/v1/machines/web-1", ...headers));
    expect(await raw.until(/\r\n\r\n/)).toMatch(/^HTTP\/1.1 200 /);
    raw.socket.destroy();
  });
});

test("a message in very many parts ends its WebSocket", async () => {
  await using listening = await listenToy();
  const socket = new WebSocket(`ws://127.0.0.1:${listening.port}/agent/v1`);
  await once(socket, "open");
  const closed = once(socket, "close");
  for (let part = 0; part < 300; part += 1) socket.send("x", { fin: false });
  expect((await closed)[0]).toBe(1008);
});

describe("closing", () => {
  test("does not wait for requests that are half sent, nor for idle connections", async () => {
    const { server, port } = await listenToy({ graceMs: 60_000 });
    const halves = [
      await sendRaw(port, "GET /api/v1/machines/web-1 HTTP/1.1\r\nHost: a\r\nX-Slow: "),
      await sendRaw(
        port,
        head("POST /api/v1/machines", "Host: a", "Content-Type: application/json", "Content-Length: 9") + "{",
      ),
      await sendRaw(port, ""),
    ];
    const idle = await sendRaw(port, head("GET /api/v1/machines/web-1", "Host: a"));
    await idle.until(/web-1/);
    using time = new OwnTime();
    await server.close();
    expect(time.ms).toBeLessThan(5_000);
    await Promise.all([...halves, idle].map(({ closed }) => closed));
  });

  test("does not wait for a handshake of TLS that never ends", async () => {
    const { server, port } = await listenToy({ graceMs: 60_000, tls: await createCertificate() });
    const silent = connect(port, "127.0.0.1");
    await once(silent, "connect");
    const ended = once(silent, "close");
    await server.close();
    await expect(ended).resolves.toBeDefined();
  });

  test("lets an answer in progress come to its end", async () => {
    const { server, port, toy } = await listenToy({ graceMs: 60_000 });
    const { begun, finish } = holdCalls(toy);
    const raw = await sendRaw(port, head("GET /api/v1/me", "Host: a"));
    await begun;
    const closing = server.close();
    // Past the time that a half-sent request gets.
    setTimeout(finish, 1_300);
    await closing;
    expect(await raw.closed).toMatch(/^HTTP\/1.1 200 OK[^]*"ada"/);
  });
});

describe("a client that never comes to the end of its request", () => {
  const post = (...headers: string[]): string =>
    head("POST /api/v1/machines", "Host: a", "Content-Type: application/json", ...headers);

  test.each([
    ["sends no byte", ""],
    ["never ends its headers", "GET /api/v1/me HTTP/1.1\r\nHost: a\r\nX-Slow: "],
    ["never ends its body", `${post("Content-Length: 1000")}{"name": "`],
    ["never ends its body of pieces", `${post("Transfer-Encoding: chunked")}1\r\n{\r\n`],
  ])("is cut when it %s, however busy it is, and others are served", async (_name, beginning) => {
    await using listening = await listenToy({ headersMs: 1_000, requestMs: 1_000 });
    const raw = await sendRaw(listening.port, beginning);
    const drip = beginning === "" ? null : setInterval(() => raw.socket.write("1"), 20);
    const answer = get(`${listening.server.url}/api/v1/me`, { headers: { authorization: "Bearer fw_good" } });
    const [response] = (await once(answer, "response")) as [{ statusCode: number; resume(): void }];
    response.resume();
    expect(response.statusCode).toBe(200);
    expect(await raw.closed).not.toMatch(/ 200 OK/);
    if (drip !== null) clearInterval(drip);
    expect(listening.toy.machines.size).toBe(1);
  });

  test("is cut so on a connection that was used before, too", async () => {
    await using listening = await listenToy({ headersMs: 1_000, requestMs: 1_000 });
    const raw = await sendRaw(listening.port, head("GET /api/v1/me", "Host: a"));
    await raw.until(/200 OK[^]*"ada"/);
    raw.socket.write("GET /api/v1/me HTTP/1.1\r\nX-Slow: ");
    expect(await raw.closed).toMatch(/408 Request Timeout/);
  });
});

describe("a client that does not read", () => {
  test("is cut after a while, and the stream is told", async () => {
    const listening = await listenToy({ stallMs: 200 });
    await using _ = listening;
    const cancelled = new Promise<void>((resolve) => (listening.toy.streamCancelled = resolve));
    const raw = await sendRaw(listening.port, head("GET /api/v1/machines/endless/transcript", "Host: a"));
    await raw.until(/200 OK/);
    raw.socket.pause();
    await cancelled;
    // Nothing was kept for it but what buffers hold.
    expect(listening.toy.linesSent * 10).toBeLessThan(16 << 20);
    raw.socket.destroy();
  });

  test("is told from one whose answer is still being made", async () => {
    const listening = await listenToy({ stallMs: 100 });
    await using _ = listening;
    const { finish } = holdCalls(listening.toy);
    const answer = get(`${listening.server.url}/api/v1/me`, { headers: { authorization: "Bearer fw_good" } });
    setTimeout(finish, 400);
    const [response] = (await once(answer, "response")) as [{ statusCode: number; resume(): void }];
    response.resume();
    expect(response.statusCode).toBe(200);
  });
});

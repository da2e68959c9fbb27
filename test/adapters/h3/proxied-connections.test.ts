/** Connections that begin with a header of the PROXY protocol, on a real listener: whose they are, and what becomes of the others. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import type { FrameSocket } from "fleetwright";
import { createAgentSocket } from "../../../adapters/h3/agent-socket.ts";
import { listenApp, type ListenAppOptions } from "../../../adapters/h3/serve.ts";
import { startServer } from "../../../adapters/h3/server.ts";
import { createSourceAddress } from "../../../adapters/h3/source-address.ts";
import { MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { createCertificate } from "../../support/certificate.ts";
import { settle } from "../../support/deferred.ts";
import { OwnTime } from "../../support/own-time.ts";
import { waitFor } from "../../support/wait-for.ts";
import { startToy } from "../rest/server.ts";

const client = "PROXY TCP4 203.0.113.7 10.0.0.1 56324 443\r\n";
const binary = Buffer.concat([
  Buffer.from("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c", "latin1"),
  Buffer.of(203, 0, 113, 8, 10, 0, 0, 1, 0xdc, 0x04, 0x01, 0xbb),
]);

/** A listener that tells where a request (`/address`) and an agent (`seen`) come from. */
async function listen(options: Partial<ListenAppOptions> = {}, trusted: string[] = ["127.0.0.1"]) {
  const seen: (string | null)[] = [];
  const accept = (socket: FrameSocket): void =>
    void (seen.push(socket.remoteAddress), socket.close(1000, ""));
  const sockets = new Map([["/agent/v1", createAgentSocket({ accept }, createSourceAddress(trusted))]]);
  const toy = await startToy({ sockets });
  onTestFinished(() => toy[Symbol.asyncDispose]());
  toy.app.h3.get("/address", ({ req }) => String((req as { ip?: string }).ip));
  const listening = await listenApp(toy.app, {
    port: 0,
    graceMs: 0,
    proxyProtocolFrom: ["127.0.0.0/8"],
    ...options,
  });
  onTestFinished(() => listening.close());
  const dial = async (...first: (string | Buffer)[]): Promise<Socket> => {
    const socket = connect(listening.port, "127.0.0.1").on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    // In packets of their own.
    socket.setNoDelay();
    for (const piece of first) await new Promise((resolve) => void socket.write(piece, resolve));
    return socket;
  };
  return { seen, listening, dial };
}

const ask = "GET /address HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const bodyOf = async (socket: Socket): Promise<string> => (await text(socket)).split("\r\n\r\n")[1] ?? "";

test.each<[string, (string | Buffer)[], string]>([
  ["version 1, apart from the request", [client, ask], "203.0.113.7"],
  ["version 1, together with it", [client + ask], "203.0.113.7"],
  ["version 2", [binary, ask], "203.0.113.8"],
  [
    "version 2, in pieces",
    [binary.subarray(0, 5), binary.subarray(5, 20), binary.subarray(20), ask],
    "203.0.113.8",
  ],
  ["a check of the proxy itself", ["PROXY UNKNOWN\r\n", ask], "127.0.0.1"],
])("a request comes from where the header says: %s", async (_, pieces, address) => {
  const { dial } = await listen();
  expect(await bodyOf(await dial(...pieces))).toBe(address);
});

test("an agent comes from where the header says, and a header of its own request changes nothing", async () => {
  const { seen, listening, dial } = await listen();
  const path = await dial(client);
  const socket = new WebSocket(`ws://127.0.0.1:${listening.port}/agent/v1`, {
    headers: { "x-forwarded-for": "198.51.100.1" },
    createConnection: () => path,
  });
  await once(socket, "close");
  expect(seen).toEqual(["203.0.113.7"]);
});

test("with TLS a connection from the same port of the proxy is not taken for the one before it", async () => {
  const tls = await createCertificate();
  const { listening } = await listen({ tls });
  const dialFrom = async (localPort: number, header: string): Promise<Socket> => {
    const socket = connect({ port: listening.port, host: "127.0.0.1", localPort }).on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    await new Promise((resolve) => void socket.write(header, resolve));
    return socket;
  };
  const answerOf = async (socket: Socket): Promise<string> => {
    const asking = connectTls({ socket, ca: tls.cert, host: "127.0.0.1" }).on("error", () => {});
    asking.write(ask);
    return bodyOf(asking);
  };
  const first = await dialFrom(0, client);
  const { localPort = 0 } = first;
  expect(await answerOf(first)).toBe("203.0.113.7");
  // Reset, so that the port is free at once.
  first.resetAndDestroy();
  await waitFor(async () => {
    const again = await dialFrom(localPort, "PROXY UNKNOWN\r\n");
    expect(await answerOf(again)).toBe("127.0.0.1");
  });
});

test.each([false, true])(
  "a server that closes ends both of two connections whose proxies say the same of them (TLS: %s)",
  async (isSecure) => {
    const tls = isSecure ? await createCertificate() : null;
    const { listening, dial } = await listen(tls ? { tls } : {});
    const halfAsking = async (): Promise<Socket> => {
      const socket = await dial(client);
      const path = tls
        ? connectTls({ socket, ca: tls.cert, host: "127.0.0.1" }).on("error", () => {})
        : socket;
      if (tls) await once(path, "secureConnect");
      path.write("GET /address HTTP/1.1\r\n");
      return socket;
    };
    const both = [await halfAsking(), await halfAsking()];
    const closed = both.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    for (const socket of both) socket.resume();
    await listening.close();
    await Promise.all(closed);
    expect(both.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  },
);

test("so it is with TLS, whose first bytes stand behind the header", async () => {
  const tls = await createCertificate();
  const { seen, listening, dial } = await listen({ tls });
  const secure = async () => connectTls({ socket: await dial(client), ca: tls.cert, host: "127.0.0.1" });
  const asking = await secure();
  asking.write(ask);
  expect(await bodyOf(asking)).toBe("203.0.113.7");
  const path = await secure();
  await once(path, "secureConnect");
  const socket = new WebSocket(`wss://127.0.0.1:${listening.port}/agent/v1`, {
    createConnection: () => path,
  });
  await once(socket, "close");
  expect(seen).toEqual(["203.0.113.7"]);
});

test("requests that follow on one connection, and one that asks for another protocol, come from there, too", async () => {
  const { dial } = await listen();
  const kept = ask.replace("Connection: close\r\n", "");
  const socket = await dial(client, kept);
  let answers = "";
  socket.setEncoding("utf8").on("data", (piece: string) => (answers += piece));
  await waitFor(() => expect(answers).toMatch(/203\.0\.113\.7$/));
  socket.write(ask.replace("close", "upgrade, http2-settings\r\nUpgrade: h2c"));
  await once(socket, "end");
  expect(answers.match(/203\.0\.113\.7/g)).toHaveLength(2);
});

test.each([
  ["no header", ask],
  ["one that is none", "PROXY TCP4 203.0.113.7\r\n"],
])("a connection of a proxy with %s is ended without an answer", async (_, bytes) => {
  const { dial } = await listen();
  expect(await text(await dial(bytes))).toBe("");
});

test("a connection of a proxy that says nothing is ended in the time that headers have", async () => {
  const { dial } = await listen({ headersMs: 50 });
  expect(await text(await dial("PROXY TCP4"))).toBe("");
});

test("one that is not trusted and lies is answered as what it is: no HTTP", async () => {
  const { dial } = await listen({ proxyProtocolFrom: ["192.0.2.1"] }, ["192.0.2.1"]);
  expect(await text(await dial(client, ask))).toMatch(/^HTTP\/1\.1 400 /);
  expect(await bodyOf(await dial(ask))).toBe("127.0.0.1");
});

test("a listener that closes waits for no header", async () => {
  const { listening, dial } = await listen({ graceMs: 10_000 });
  const waiting = await dial("PROXY ");
  using time = new OwnTime();
  await listening.close();
  expect(time.ms).toBeLessThan(2_000);
  await waitFor(() => expect(waiting.closed).toBe(true));
});

test.each([
  ["through a proxy", ["127.0.0.0/8"], client],
  ["from anybody", ["192.0.2.1"], ""],
])("a listener that closes answers a request of which the half has come %s", async (_, proxies, header) => {
  const { listening, dial } = await listen({ graceMs: 60_000, proxyProtocolFrom: proxies });
  const first = ask.slice(0, -2);
  // One that is answered in between tells that the half was taken, too.
  const [half, whole] = await Promise.all([dial(header + first), dial(header + ask)]);
  expect(await text(whole)).toMatch(/^HTTP\/1\.1 200 /);
  const closing = listening.close();
  for (let turn = 0; turn < 5; turn += 1) await settle();
  half.write("\r\n");
  expect(await text(half)).toMatch(/^HTTP\/1\.1 503 /);
  await closing;
});

test("the server believes its trusted proxies alone, and refuses to believe nobody", async () => {
  const make = (trustedProxies: string[]) =>
    startServer({
      storage: new MemoryStorage(),
      trustedProxies,
      proxyProtocol: true,
      listen: { port: 0, graceMs: 0 },
    });
  await expect(make([])).rejects.toMatchObject({ code: "OPTIONS_INVALID" });
  const server = await make(["127.0.0.1"]);
  onTestFinished(() => server.close());
  await expect(fetch(`${server.url}/livez`)).rejects.toThrow();
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.write(`${client}GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /);
});

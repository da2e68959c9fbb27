import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import {
  CheckedOutbound,
  type CheckedOutboundOptions,
} from "../../../lib/notifications/outbound/checked-outbound.ts";
import { createCertificate } from "../../support/certificate.ts";
import { OwnTime } from "../../support/own-time.ts";
import { startReceiver, startSocketServer } from "../../support/receiver.ts";
import { waitFor } from "../../support/wait-for.ts";

/** What nothing waits for that is answered, on a machine that is busy as well. */
const long = { connectTimeoutMs: 30_000, requestTimeoutMs: 30_000 };
const local = (options: CheckedOutboundOptions = {}): CheckedOutbound =>
  new CheckedOutbound({ allow: ["127.0.0.0/8"], ...long, ...options });

/** Asks a server that speaks for itself once the request came. */
async function ask(serve: (socket: Socket) => void, outbound = local()) {
  const sockets: Socket[] = [];
  const { port } = await startSocketServer((socket) => {
    sockets.push(socket);
    socket.once("data", () => serve(socket));
  });
  const startedAt = performance.now();
  using time = new OwnTime();
  const answer = await outbound.request(`http://127.0.0.1:${port}/`, { method: "POST", body: "{}" });
  return { answer, ms: performance.now() - startedAt, ownMs: time.ms, socket: sockets[0] };
}

const late = { ok: false, error: "there was no answer in time", permanent: false };
const broken = { ok: false, error: "the other side broke the connection off", permanent: false };
const noHttp = { ok: false, error: "the answer is not HTTP", permanent: false };

describe("a server that", () => {
  it("never answers is given up at the deadline", async () => {
    const { answer, ms, ownMs, socket } = await ask(() => {}, local({ requestTimeoutMs: 500 }));
    expect(answer).toEqual(late);
    expect(ms).toBeGreaterThan(450);
    expect(ownMs).toBeLessThan(2000);
    await waitFor(() => expect(socket?.destroyed).toBe(true));
  });

  it("sends its head a byte at a time is given up at the deadline", async () => {
    const { answer, ownMs } = await ask(
      (socket) => {
        const timer = setInterval(() => socket.write("H"), 20);
        socket.once("close", () => clearInterval(timer));
        socket.write("HTTP/1.1 200 OK\r\nx-");
      },
      local({ requestTimeoutMs: 500 }),
    );
    expect(answer).toEqual(late);
    expect(ownMs).toBeLessThan(2000);
  });

  it("asks to wait for ever is given up at the deadline", async () => {
    const { answer, ownMs } = await ask(
      (socket) => {
        const timer = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 20);
        socket.once("close", () => clearInterval(timer));
      },
      local({ requestTimeoutMs: 500 }),
    );
    expect(answer).toEqual(late);
    expect(ownMs).toBeLessThan(2000);
  });

  it("answers endlessly is cut off once 64 KiB came, long before the deadline", async () => {
    let sent = 0;
    const { answer, ownMs, socket } = await ask((socket) => {
      const more = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(16_384, "a"))) sent += 16_384;
      };
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.on("drain", more);
      more();
    }, local());
    expect(answer).toEqual({ ok: true, status: 200 });
    expect(ownMs).toBeLessThan(5000);
    expect(sent).toBeGreaterThan(64 * 1024);
    await waitFor(() => expect(socket?.destroyed).toBe(true));
  });

  it("answers slowly after its status has answered, and is cut off at the deadline", async () => {
    const { answer, ms, ownMs } = await ask(
      (socket) => {
        const timer = setInterval(() => socket.write("a"), 20);
        socket.once("close", () => clearInterval(timer));
        socket.write("HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 100000\r\n\r\n");
      },
      // Its status has to come before, on a machine that is busy as well.
      local({ requestTimeoutMs: 1500 }),
    );
    expect(answer).toEqual({ ok: true, status: 503, retryAfter: "7" });
    expect(ms).toBeGreaterThan(1450);
    expect(ownMs).toBeLessThan(3000);
  });

  it.each([
    ["promises more than it sends", "HTTP/1.1 204 OK\r\ncontent-length: 1000\r\n\r\nab", 204],
    ["sends more than it promises", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nabcdef", 200],
    ["breaks its chunks", "HTTP/1.1 202 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 202],
  ])("%s has answered all the same", async (_what, text, status) => {
    const { answer } = await ask((socket) => socket.end(text));
    expect(answer).toEqual({ ok: true, status });
  });

  it.each([
    ["hangs up", (socket: Socket) => socket.end(), broken],
    ["resets the connection", (socket: Socket) => socket.resetAndDestroy(), broken],
    ["speaks another protocol", (socket: Socket) => socket.end("220 mail.example ESMTP\r\n"), noHttp],
    [
      "has too long a head",
      (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${"a".repeat(100_000)}\r\n\r\n`),
      noHttp,
    ],
    [
      "sends both a length and chunks",
      (socket: Socket) =>
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
      noHttp,
    ],
    [
      "changes the protocol unasked",
      (socket: Socket) => socket.end("HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
      broken,
    ],
  ])("%s has not answered, and may be asked again", async (_what, serve, expected) => {
    const { answer } = await ask((socket) => void serve(socket));
    expect(answer).toEqual(expected);
  });

  it("takes no connection is told so", async () => {
    const { port } = await startSocketServer(() => {});
    const answer = await local().request(`http://127.0.0.2:${port}/`, { method: "GET" });
    expect(answer).toEqual({ ok: false, error: "the connection was refused", permanent: false });
  });

  it.each([301, 302, 303, 307, 308])("redirects (%d) is not followed", async (status) => {
    const target = await startReceiver((response) => response.end());
    const { url } = await startReceiver((response) =>
      response.writeHead(status, { location: `${target.url}/inside` }).end(),
    );
    expect(await local().request(url, { method: "POST" })).toEqual({ ok: true, status });
    expect(target.received).toEqual([]);
  });
});

describe("a request", () => {
  it("that is stopped ends at once", async () => {
    const stop = new AbortController();
    const { port } = await startSocketServer((socket) => socket.once("data", () => stop.abort()));
    const url = `http://127.0.0.1:${port}/`;
    const answer = await local({ requestTimeoutMs: 60_000 }).request(url, {
      method: "GET",
      signal: stop.signal,
    });
    expect(answer).toEqual({ ok: false, error: "the attempt was stopped", permanent: false });
    const again = await local().request(url, { method: "GET", signal: stop.signal });
    expect(again).toEqual(answer);
  });

  it("waits for a name no longer than for a connection", async () => {
    const resolve = (): Promise<string[]> => new Promise(() => {});
    const outbound = local({ resolve, connectTimeoutMs: 250, requestTimeoutMs: 60_000 });
    const answer = await outbound.request("http://slow.example/", { method: "GET" });
    expect(answer).toEqual({ ok: false, error: "no connection could be made in time", permanent: false });
  });

  it.each([
    ["a line end in a value", { "x-note": "a\r\nhost: inside" }],
    ["a lone line feed in a value", { "x-note": "a\nb" }],
    ["a line end in a name", { "x\r\nhost": "a" }],
    ["a space in a name", { "x note": "a" }],
    ["no name", { "": "a" }],
    ["what only bytes can say", { "x-note": "Zoë" }],
    ["another host", { Host: "inside.example" }],
    ["another length", { "Content-Length": "3" }],
    ["another framing", { "transfer-encoding": "chunked" }],
    ["an upgrade", { upgrade: "websocket" }],
    ["a word to proxies", { "Proxy-Authorization": "Basic eA==" }],
  ])("is not made with %s among its headers", async (_what, headers) => {
    const { url, received } = await startReceiver((response) => response.end());
    const answer = await local().request(url, { method: "POST", headers });
    expect(answer).toEqual({ ok: false, error: "a header can't be sent", permanent: true });
    expect(received).toEqual([]);
  });
});

describe("TLS", () => {
  const secured = async (name: string) => {
    const tls = await createCertificate(name);
    const receiver = await startReceiver((response) => response.end(), { tls });
    return { ...receiver, cert: tls.cert };
  };
  const resolve = (): Promise<string[]> => Promise.resolve(["127.0.0.1"]);

  it("checks the certificate for the name, not for the address that was connected to", async () => {
    const { port, cert, received } = await secured("DNS:hooks.example");
    const outbound = local({
      resolve,
      certificateAuthorities: [cert],
    });
    const to = (host: string) => outbound.request(`https://${host}:${port}/`, { method: "POST" });
    expect(await to("hooks.example")).toEqual({ ok: true, status: 200 });
    expect(await to("hooks.example.")).toEqual({ ok: true, status: 200 });
    const wrong = { ok: false, error: "the certificate is of another host", permanent: false };
    expect(await to("other.example")).toEqual(wrong);
    expect(await to("127.0.0.1")).toEqual(wrong);
    expect(received).toHaveLength(2);
  });

  it("names the host to the server, without a dot at its end, and an address not at all", async () => {
    const { cert, key } = await createCertificate("DNS:hooks.example,IP:127.0.0.1");
    const named: unknown[] = [];
    const tls = { cert, key };
    const { port } = await startSocketServer(
      (socket) => {
        named.push((socket as TLSSocket).servername);
        socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\n\r\n"));
      },
      { tls },
    );
    const outbound = local({
      resolve,
      certificateAuthorities: [cert],
    });
    for (const host of ["hooks.example", "HOOKS.example.", "127.0.0.1"])
      expect(await outbound.request(`https://${host}:${port}/`, { method: "POST" })).toMatchObject({
        ok: true,
      });
    expect(named).toEqual(["hooks.example", "hooks.example", false]);
  });

  it("takes the certificate of an address where the host is one", async () => {
    const { url, cert } = await secured("IP:127.0.0.1");
    const outbound = local({
      certificateAuthorities: [cert],
    });
    expect(await outbound.request(url, { method: "POST" })).toEqual({ ok: true, status: 200 });
  });

  it("refuses a certificate that nobody vouches for", async () => {
    const { url, received } = await secured("IP:127.0.0.1");
    const answer = await local().request(url, { method: "POST" });
    expect(answer).toEqual({ ok: false, error: "the certificate is not trusted", permanent: false });
    expect(received).toEqual([]);
  });

  it("is given up with a server that does not speak it, or does not answer", async () => {
    const { port } = await startSocketServer((socket) =>
      socket.once("data", () => socket.end("220 hello\r\n")),
    );
    const plain = await local().connect("127.0.0.1", port, { tls: true });
    expect(plain).toEqual({ ok: false, error: "TLS could not be agreed", permanent: false });
    const silent = await startSocketServer(() => {});
    using time = new OwnTime();
    const late = await local({ connectTimeoutMs: 250 }).connect("127.0.0.1", silent.port, { tls: true });
    expect(late).toEqual({ ok: false, error: "no connection could be made in time", permanent: false });
    expect(time.ms).toBeLessThan(2000);
  });

  it("carries a connection", async () => {
    const { cert, key } = await createCertificate();
    const heard: string[] = [];
    const { port } = await startSocketServer(
      (socket) => socket.on("data", (data) => heard.push(data.toString())),
      {
        tls: { cert, key },
      },
    );
    const connected = await local({ certificateAuthorities: [cert] }).connect("127.0.0.1", port, {
      tls: true,
    });
    if (!connected.ok) throw new Error(connected.error);
    connected.socket.end("hello");
    await waitFor(() => expect(heard.join("")).toBe("hello"));
    connected.socket.destroy();
  });
});

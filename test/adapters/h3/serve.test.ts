import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { request } from "node:https";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { createApp } from "../../../adapters/h3/app.ts";
import { listenApp } from "../../../adapters/h3/serve.ts";
import { createCertificate } from "../../support/certificate.ts";
import { Toy, toyContexts, toyRouter } from "../toy.ts";

const toyApp = (toy = new Toy()) =>
  createApp({
    router: toyRouter,
    createContext: toyContexts(toy),
    isReady: () => true,
    sockets: new Map([["/agent/v1", {}]]),
  });

describe("listening", () => {
  test("takes a free port and says where it is reached", async () => {
    await using server = await listenApp(toyApp(), { port: 0 });
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
  });

  test.each([
    ["localhost", "localhost", /^(?:127\.0\.0\.1|::1)$/],
    ["127.0.0.2", "127.0.0.2", /^127\.0\.0\.2$/],
    ["::1", "[::1]", /^::1$/],
  ])("at %s needs no TLS, and says how that stands in an address", async (host, shown, address) => {
    await using server = await listenApp(toyApp(), { port: 0, host });
    expect([server.url, server.address]).toEqual([
      `http://${shown}:${server.port}`,
      expect.stringMatching(address),
    ]);
    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
  });

  test.each(["127.0.0.1.example.net", "localhost.example.net", "1127.0.0.1", "::11", "128.0.0.1"])(
    "at %s, which only looks like this machine, it needs TLS",
    async (host) => {
      await expect(listenApp(toyApp(), { port: 0, host })).rejects.toMatchObject({
        code: "CONFIGURATION_INVALID",
        message: expect.stringContaining("needs TLS") as string,
      });
    },
  );

  test("a busy port is an error, never another port", async () => {
    await using first = await listenApp(toyApp(), { port: 0 });
    await expect(listenApp(toyApp(), { port: first.port })).rejects.toMatchObject({ code: "ADDRESS_IN_USE" });
  });

  test("a port that browsers refuse is an error, never another port", async () => {
    await expect(listenApp(toyApp(), { port: 6667 })).rejects.toMatchObject({ code: "ADDRESS_IN_USE" });
  });

  test.each(["0.0.0.0", "::", "192.0.2.1", "example.net", ""])("at %j it needs TLS", async (host) => {
    await expect(listenApp(toyApp(), { port: 0, host })).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
    });
  });

  test("an address of another machine is named, not taken for a busy port", async () => {
    const elsewhere = { port: 0, host: "192.0.2.1", allowInsecure: true };
    await expect(listenApp(toyApp(), elsewhere)).rejects.toMatchObject({
      code: "CONFIGURATION_INVALID",
      message: "192.0.2.1 is no address of this machine to listen at.",
    });
  });

  test("a certificate that can't be used is named, not taken for a busy port", async () => {
    const [tls, other] = [await createCertificate(), await createCertificate()];
    for (const broken of [
      { ...tls, key: other.key },
      { ...tls, cert: "nonsense" },
    ]) {
      await expect(listenApp(toyApp(), { port: 0, tls: broken })).rejects.toMatchObject({
        code: "CONFIGURATION_INVALID",
        message: expect.stringMatching(/^The certificate and its private key can't be used: /),
      });
    }
  });

  test("serves TLS with the certificate it is given", async () => {
    const tls = await createCertificate();
    await using server = await listenApp(toyApp(), { port: 0, tls });
    expect(server.url).toMatch(/^https:/);
    const call = request(`${server.url}/livez`, { ca: tls.cert, agent: false }).end();
    const [response] = (await once(call, "response")) as [{ statusCode: number; resume(): void }];
    response.resume();
    expect(response.statusCode).toBe(200);
  });

  test("shows another certificate to who connects from then on, and leaves open connections alone", async () => {
    const [tls, next, other] = [
      await createCertificate(),
      await createCertificate(),
      await createCertificate(),
    ];
    await using server = await listenApp(toyApp(), { port: 0, tls });
    const kept = connectTls({ port: server.port, host: "127.0.0.1", ca: tls.cert });
    await once(kept, "secureConnect");
    for (const broken of [{ key: other.key }, { cert: "" }, { key: "" }, { cert: "", key: "" }])
      expect(() => server.renewCertificate({ ...next, ...broken })).toThrow(/can't be used/);
    expect(await certificateOf(server.port, tls.cert)).toBe(fingerprintOf(tls.cert));
    server.renewCertificate(next);
    expect(await certificateOf(server.port, next.cert)).toBe(fingerprintOf(next.cert));
    await expect(certificateOf(server.port, tls.cert)).rejects.toThrow();
    kept.write("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n");
    const [answer] = (await once(kept, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 200/);
    kept.destroy();
  });

  test("without TLS shows no certificate", async () => {
    await using server = await listenApp(toyApp(), { port: 0 });
    const tls = await createCertificate();
    expect(() => server.renewCertificate(tls)).toThrow(/without TLS/);
  });
});

const fingerprintOf = (cert: string): string => new X509Certificate(cert).fingerprint256;

/** The certificate that a new connection is shown, by its fingerprint; rejects where the client does not trust it. */
async function certificateOf(port: number, ca: string): Promise<string> {
  const socket = connectTls({ port, host: "127.0.0.1", ca });
  try {
    await once(socket, "secureConnect");
    return socket.getPeerX509Certificate()?.fingerprint256 ?? "";
  } finally {
    socket.destroy();
  }
}

describe("closing", () => {
  test("tells sockets that the server goes away", async () => {
    const server = await listenApp(toyApp(), { port: 0 });
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/agent/v1`);
    await once(socket, "open");
    const closed = once(socket, "close");
    await server.close();
    expect((await closed)[0]).toBe(1001);
  });

  test("may be called twice, and nobody is served after", async () => {
    const server = await listenApp(toyApp(), { port: 0 });
    await Promise.all([server.close(), server.close()]);
    await expect(fetch(`${server.url}/livez`)).rejects.toThrow();
  });

  test("cuts what is still going on when the grace is over", async () => {
    const toy = new Toy();
    const cancelled = new Promise<void>((resolve) => (toy.streamCancelled = resolve));
    const server = await listenApp(toyApp(toy), { port: 0, graceMs: 20 });
    const endless = await fetch(`${server.url}/api/v1/machines/endless/transcript`, {
      headers: { authorization: "Bearer fw_good" },
    });
    expect(endless.status).toBe(200);
    await server.close();
    await expect(cancelled).resolves.toBeUndefined();
    await expect(endless.text()).rejects.toThrow();
  });
});

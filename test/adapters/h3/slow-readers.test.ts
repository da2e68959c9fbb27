/** Clients that read slowly, or hold a connection by hardly reading: told apart by what they take over time. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { createApp } from "../../../adapters/h3/app.ts";
import { listenApp, type ListenAppOptions } from "../../../adapters/h3/serve.ts";
import { Patience } from "../../../adapters/h3/slow-readers.ts";
import { createCertificate } from "../../support/certificate.ts";
import { Toy, toyContexts, toyRouter } from "../toy.ts";

describe("the patience with a client", () => {
  const kib = 1024;
  /** How many looks of 5 s it lasts, of 400, where a client takes so much at each. */
  const looks = (take: (look: number) => number): number => {
    const patience = new Patience(60_000);
    let taken = 0;
    for (let look = 1; look <= 400; look += 1) {
      taken += take(look);
      if (!patience.lasts(5_000, { taken, isWaiting: true })) return look;
    }
    return Infinity;
  };

  it.each([
    ["takes nothing", () => 0, 12],
    ["took 100 KiB at once", (look: number) => (look === 1 ? 100 * kib : 0), 15],
    ["took 10 MiB at once", (look: number) => (look === 1 ? 10 * kib * kib : 0), 61],
    ["takes a byte every 20 s", (look: number) => (look % 4 === 0 ? 1 : 0), 13],
    ["takes 4 KiB a second", () => 20 * kib, 24],
    ["takes 8 KiB a second", () => 40 * kib, Infinity],
    [
      "takes 8 KiB a second, seen in steps of 1.5 MiB",
      (look: number) => (look === 1 ? 4096 * kib : look % 38 === 0 ? 1536 * kib : 0),
      Infinity,
    ],
  ])("lasts with one that %s", (_name, take, expected) => {
    expect(looks(take)).toBe(expected);
  });

  it("is whole again when all was taken", () => {
    const patience = new Patience(60_000);
    for (let round = 0; round < 10; round += 1) {
      expect(patience.lasts(50_000, { taken: 10, isWaiting: true })).toBe(true);
      expect(patience.lasts(50_000, { taken: 10, isWaiting: false })).toBe(true);
    }
  });
});

/** Longer than all that buffers of the network hold. */
const answerBytes = 16 << 20;

/** Serves an answer that is large, and asks for it. */
async function ask(path: string, options: Partial<ListenAppOptions>): Promise<Socket> {
  const toy = new Toy();
  toy.access.authenticate = async () => ({ name: "x".repeat(answerBytes) });
  const app = createApp({ router: toyRouter, createContext: toyContexts(toy), isReady: () => true });
  const server = await listenApp(app, { port: 0, graceMs: 0, ...options });
  const socket =
    options.tls === undefined
      ? connect(server.port, "127.0.0.1")
      : connectTls({ port: server.port, host: "127.0.0.1", ca: options.tls.cert });
  onTestFinished(async () => {
    socket.destroy();
    await server.close();
  });
  socket.pause();
  await once(socket, options.tls === undefined ? "connect" : "secureConnect");
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer fw_good\r\n\r\n`);
  return socket;
}

/** Reads so many bytes a second for some time, then the rest; rejects where the connection ends before. */
function readSlowly(socket: Socket, { rate, forMs }: { rate: number; forMs: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    let received = 0;
    const take = (piece: Buffer | null): void => {
      received += piece?.length ?? 0;
      if (received >= answerBytes) resolve(received);
    };
    const begunAt = performance.now();
    const timer = setInterval(() => {
      const elapsedMs = performance.now() - begunAt;
      if (received < (elapsedMs / 1000) * rate) take(socket.read() as Buffer | null);
      if (elapsedMs < forMs) return;
      clearInterval(timer);
      socket.on("data", take).resume();
    }, 25);
    socket
      .on("error", () => {})
      .on("close", () => {
        clearInterval(timer);
        reject(new Error(`It ended after ${received} bytes.`));
      });
  });
}

const surfaces = [
  ["REST", "/api/v1/me", false],
  ["tRPC", "/trpc/me", false],
  ["REST over TLS", "/api/v1/me", true],
] as const;

describe.each(surfaces)("over %s, a client", (_name, path, isTls) => {
  it("that reads slowly and steadily gets everything", async () => {
    const tls = isTls ? { tls: await createCertificate() } : {};
    const socket = await ask(path, { stallMs: 1_000, ...tls });
    // The network takes a megabyte and more at once: of this reader it takes none for over two seconds.
    expect(await readSlowly(socket, { rate: 600_000, forMs: 6_000 })).toBeGreaterThanOrEqual(answerBytes);
  });

  it.each([
    ["reads nothing", 0],
    ["reads a byte now and then", 1],
  ])("that %s is cut, whatever it sends", async (_what, bytes) => {
    const tls = isTls ? { tls: await createCertificate() } : {};
    const socket = await ask(path, { stallMs: 300, ...tls });
    const ended = new Promise<void>((resolve) =>
      socket.on("error", () => resolve()).on("close", () => resolve()),
    );
    const timer = setInterval(() => {
      if (bytes > 0) socket.read(bytes);
      // Who sends to a connection that was cut learns of it.
      socket.write("\r\n");
    }, 50);
    await expect(ended).resolves.toBeUndefined();
    clearInterval(timer);
  });
});

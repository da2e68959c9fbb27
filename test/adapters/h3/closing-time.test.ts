/** How long a server takes to close: its grace in all, of which answers in progress have what they need. */
import { expect, onTestFinished, test, vi } from "vitest";
import { createApp } from "../../../adapters/h3/app.ts";
import { listenApp } from "../../../adapters/h3/serve.ts";
import { settle } from "../../support/deferred.ts";
import { sendRaw } from "../../support/raw-http.ts";
import { Toy, toyContexts, toyRouter } from "../toy.ts";

const bearer = "Host: x\r\nAuthorization: Bearer fw_good\r\n";

/** Closes a server on which something goes on, and gives the milliseconds that it took by a clock that stands still between. */
async function timeToClose(graceMs: number, request: string, until: RegExp | null): Promise<number> {
  const toy = new Toy();
  const app = createApp({ router: toyRouter, createContext: toyContexts(toy), isReady: () => true });
  const server = await listenApp(app, { port: 0, graceMs });
  const connection = await sendRaw(server.port, request);
  onTestFinished(() => void connection.socket.destroy());
  if (until === null) for (let turn = 0; turn < 100; turn += 1) await settle();
  else await connection.until(until);
  // The toy's stream is as fast as its reader.
  connection.socket.pause();
  // From here on time stands still, but for what a test lets pass; what was begun before goes on by that of the machine.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const startedAt = performance.now();
  let closedAt: number | null = null;
  void server.close().then(() => (closedAt = performance.now()));
  while (closedAt === null && performance.now() - startedAt < 10 * graceMs) {
    await vi.advanceTimersByTimeAsync(50);
    for (let turn = 0; turn < 5; turn += 1) await settle();
  }
  return (closedAt ?? Infinity) - startedAt;
}

test("an answer without end has the grace once", async () => {
  const request = `GET /api/v1/machines/endless/transcript HTTP/1.1\r\n${bearer}\r\n`;
  const took = await timeToClose(5_000, request, /^HTTP\/1\.1 200/);
  expect(took).toBeGreaterThanOrEqual(5_000);
  expect(took).toBeLessThan(5_200);
});

test("a request that is half sent has a second, or the grace where that is shorter", async () => {
  const request = `POST /api/v1/machines HTTP/1.1\r\n${bearer}Content-Length: 10\r\n\r\n{`;
  for (const [graceMs, mostMs] of [
    [5_000, 1_000],
    [300, 300],
  ] as const) {
    const took = await timeToClose(graceMs, request, null);
    expect(took).toBeGreaterThanOrEqual(mostMs);
    expect(took).toBeLessThan(mostMs + 200);
  }
});

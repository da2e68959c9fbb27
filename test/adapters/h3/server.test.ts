import { once } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { FileStorage, MemoryStorage, systemCaller } from "fleetwright";
import { startServer } from "fleetwright/h3";
import { LimitedDisk } from "../../support/limited-disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { recordingLogger } from "../rest/server.ts";

test("once the disk has failed, /readyz and the status say so with one reason, and reads go on", async () => {
  const disk = new LimitedDisk();
  const storage = new FileStorage({ folder: temporaryFolder(), disk });
  const server = await startServer({ storage, listen: { port: 0 } });
  onTestFinished(() => server.close());
  const { orchestrator, url } = server;
  expect((await fetch(`${url}/readyz`)).status).toBe(200);

  disk.broken = true;
  const change = (days: number) => orchestrator.audit.setRetention(systemCaller, { retention_days: days });
  await expect(change(5)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  disk.broken = false;

  const answer = await fetch(`${url}/readyz`);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({
    code: "STORAGE_FAILED",
    detail:
      "The disk of the data folder reported an error (EIO): nothing is written any more until the process is started again.",
  });
  expect(await (await fetch(`${url}/api/v1/status`)).json()).toMatchObject({ status: "degraded" });
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  expect(await orchestrator.audit.getRetention(systemCaller)).toEqual({ retention_days: 90, version: 0 });
});

test("what fails unexpectedly is told to the logger that the server was given, whichever way it was asked", async () => {
  const logger = recordingLogger();
  const server = await startServer({ storage: new MemoryStorage(), listen: { port: 0 }, logger });
  onTestFinished(() => server.close());
  vi.spyOn(server.orchestrator.status, "get").mockRejectedValue(new Error("a bug"));
  const told = async (path: string): Promise<unknown[]> => {
    logger.errors.length = 0;
    expect((await fetch(server.url + path)).status).toBe(500);
    return logger.errors;
  };
  const expected = [expect.objectContaining({ fields: expect.objectContaining({ path: "status.get" }) })];
  expect(await told("/trpc/status.get")).toEqual(expected);
  expect(await told("/trpc/status.get?x=1")).toEqual(expected);
  expect(await told("/api/v1/status")).toHaveLength(1);
});

test("the address of a server is a page in a browser, whose links lead somewhere", async () => {
  const server = await startServer({
    storage: new FileStorage({ folder: temporaryFolder() }),
    listen: { port: 0 },
  });
  onTestFinished(() => server.close());
  const answer = await fetch(`${server.url}/`, { headers: { accept: "text/html" } });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  const links = [...(await answer.text()).matchAll(/href="([^"]+)"/g)].map(([, link]) => link!);
  expect(links).toContain("/docs");
  const statusOf = async (path: string, method = "GET"): Promise<number> => {
    const { status, body } = await fetch(server.url + path, { method });
    await body?.cancel();
    return status;
  };
  for (const link of new Set(links)) expect([link, await statusOf(link)]).toEqual([link, 200]);
  expect(await statusOf("/", "POST")).toBe(405);
});

/** Opens sockets of agents that say nothing, and tells how each fared: "open", or the reason for which it was closed. */
async function dial(agentUrl: string, addresses: readonly string[]): Promise<string[]> {
  const fates: string[] = [];
  for (const address of addresses) {
    const socket = new WebSocket(agentUrl, { headers: { "x-forwarded-for": address } });
    onTestFinished(() => socket.terminate());
    await once(socket, "open");
    const closed = once(socket, "close").then(([, reason]) => String(reason).replace(/\d+$/, "n"));
    // What comes back after a ping comes after a close that was sent at the start.
    socket.ping();
    fates.push(await Promise.race([closed, once(socket, "pong").then(() => "open")]));
  }
  return fates;
}

test("so many handshakes go on at once as its options say, of one address and in all", async () => {
  const server = await startServer({
    storage: new FileStorage({ folder: temporaryFolder() }),
    trustedProxies: ["127.0.0.1"],
    maxHandshakes: 3,
    maxHandshakesPerAddress: 2,
    listen: { port: 0, graceMs: 0 },
  });
  onTestFinished(() => server.close());
  const [one, two, three] = ["203.0.113.1", "203.0.113.2", "203.0.113.3"];
  expect(await dial(server.agentUrl, [one, `192.0.2.9, ${one}`, one, two, three])).toEqual([
    "open",
    "open",
    "RATE_LIMITED retry=n",
    "open",
    "RATE_LIMITED retry=n",
  ]);
});

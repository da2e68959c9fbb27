/** Where agents come from: each of them by itself on a socket of both kinds, and behind a proxy that is trusted. */
import { once } from "node:events";
import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import type { FrameSocket } from "fleetwright";
import { createAgentSocket } from "../../../adapters/h3/agent-socket.ts";
import { listenApp } from "../../../adapters/h3/serve.ts";
import { createSourceAddress } from "../../../adapters/h3/source-address.ts";
import { startToy } from "../rest/server.ts";

async function addressSeen(trusted: string[], host: string, headers: Record<string, string> = {}) {
  const seen: (string | null)[] = [];
  const accept = (socket: FrameSocket): void =>
    void (seen.push(socket.remoteAddress), socket.close(1000, ""));
  const sockets = new Map([["/agent/v1", createAgentSocket({ accept }, createSourceAddress(trusted))]]);
  await using toy = await startToy({ sockets });
  await using listening = await listenApp(toy.app, { port: 0, host, allowInsecure: true, graceMs: 0 });
  const socket = new WebSocket(`ws://127.0.0.1:${listening.port}/agent/v1`, { headers });
  await once(socket, "close");
  return seen;
}

const hasIpv6 = Object.values(networkInterfaces()).some((each) =>
  each?.some(({ family }) => family === "IPv6"),
);
if (!hasIpv6) console.info("A socket of both kinds is not tested: this machine has no IPv6.");

test.runIf(hasIpv6)("an agent over IPv4 is known by that address where both kinds come in", async () => {
  expect(await addressSeen([], "::")).toEqual(["127.0.0.1"]);
});

test("an agent behind a proxy that is trusted comes from where the proxy says, and from there alone", async () => {
  const headers = { "x-forwarded-for": "203.0.113.7" };
  expect(await addressSeen(["127.0.0.1"], "127.0.0.1", headers)).toEqual(["203.0.113.7"]);
  expect(await addressSeen([], "127.0.0.1", headers)).toEqual(["127.0.0.1"]);
});

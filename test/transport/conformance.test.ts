import { describe, expect, test } from "vitest";
import { dialWebSocket } from "../../lib/agent/websocket-dial.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { transportConformance } from "../../lib/testing/transport-conformance.ts";
import type { CreateTransportUnderTest } from "../../lib/testing/transport-scene.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import { SocketTransport } from "../../lib/transport/socket-transport.ts";
import { listenForAgents } from "../support/agent-listener.ts";

const inMemory: CreateTransportUnderTest = async (limits) => {
  const transport = new MemoryTransport(limits);
  return { transport, connect: async () => transport.connect(), dispose: async () => {} };
};

const overWebSocket: CreateTransportUnderTest = async (limits) => {
  const transport = new SocketTransport(limits);
  const listener = await listenForAgents(transport);
  return { transport, connect: () => dialWebSocket(listener.url), dispose: () => listener.close() };
};

const transports: [string, CreateTransportUnderTest][] = [
  ["the memory transport", inMemory],
  ["the socket transport over WebSocket", overWebSocket],
];

describe.each(transports)("%s", (_, create) => {
  for (const { promise, name, run } of transportConformance(create, nodeCrypto)) {
    test(`promise ${promise}: ${name}`, run);
  }
});

test("every promise of the port has a case", () => {
  const promises = new Set(transportConformance(inMemory, nodeCrypto).map(({ promise }) => promise));
  expect([...promises].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

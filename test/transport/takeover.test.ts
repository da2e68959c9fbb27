/** What of a takeover the conformance suite can't see: addresses, times, slots, and what is left behind. */
import { expect, test } from "vitest";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { EventLog } from "../../lib/testing/event-log.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { SocketTransportOptions } from "../../lib/transport/socket-transport.ts";
import type { TransportHandlers } from "../../lib/transport/transport.ts";
import { settle } from "../support/deferred.ts";

type Refusal = Parameters<TransportHandlers["refused"]>[0];
type Event =
  { kind: "connected" } | { kind: "disconnected"; reason: string } | { kind: "refused"; refusal: Refusal };

async function scene(options: SocketTransportOptions = {}, changes: Partial<TransportHandlers> = {}) {
  const transport = new MemoryTransport(options);
  const clock = new FakeClock();
  const heard = new EventLog<Event>();
  const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(9));
  const orchestratorTime = (): string => new Date(clock.now()).toISOString();
  const context = { clock, crypto: nodeCrypto, logger: silentLogger, signer, orchestratorTime };
  await transport.start(context, {
    admit: async () => ({ status: "approved" }),
    connected: async () => heard.add({ kind: "connected" }),
    message: async () => {},
    stream: async () => {},
    disconnected: (_, reason) => heard.add({ kind: "disconnected", reason }),
    refused: (refusal) => heard.add({ kind: "refused", refusal }),
    ...changes,
  });
  /** An agent of the one key. */
  const agent = (address: string | null = null): TestAgent => {
    const [agentEnd, orchestratorEnd] = createSocketPair(address);
    transport.accept(orchestratorEnd);
    return new TestAgent(agentEnd, { crypto: nodeCrypto, seed: new Uint8Array(32).fill(1) });
  };
  /** One that is connected and whose path swallows everything from now on. */
  const dead = async (address: string | null = null): Promise<TestAgent> => {
    const one = agent(address);
    await one.join();
    one.socket.pause();
    return one;
  };
  return { transport, clock, heard, agent, dead };
}

test("a clone is refused at once, and told with the addresses of both", async () => {
  const { transport, clock, heard, agent } = await scene();
  const first = agent("192.0.2.1");
  await first.join();
  const clone = agent("192.0.2.2");
  clone.greet();
  expect(await clone.heard.next("refused")).toMatchObject({ code: "AGENT_ALREADY_CONNECTED" });
  expect((await heard.next("refused")).refusal).toEqual({
    node_id: first.nodeId,
    remote_address: "192.0.2.2",
    code: "AGENT_ALREADY_CONNECTED",
    message: expect.any(String),
    connected_address: "192.0.2.1",
  });
  expect(clock.monotonic()).toBe(0);
  await transport.stop();
});

test("the newer one is in two seconds after its dial", async () => {
  const { transport, clock, heard, agent, dead } = await scene();
  await dead();
  const second = agent();
  second.greet();
  await settle();
  await clock.advance(1_999);
  expect(heard.of("disconnected")).toEqual([]);
  await clock.advance(1);
  expect(await second.heard.next("accepted")).toMatchObject({ status: "approved" });
  expect((await heard.next("disconnected")).reason).toContain("AGENT_TIMEOUT");
  expect(heard.of("refused")).toEqual([]);
  await transport.stop();
});

test("the place is taken only when what the dead connection had under way is done", async () => {
  let finish = (): void => {};
  const order: string[] = [];
  const { transport, clock, agent } = await scene(
    {},
    {
      message: async () => {
        await new Promise<void>((resolve) => (finish = resolve));
        order.push("handled");
      },
      connected: async () => void order.push("connected"),
    },
  );
  const first = agent();
  await first.join();
  first.say({ type: "log", level: "info", message: "x" });
  await settle();
  first.socket.pause();
  const second = agent();
  second.greet();
  await settle();
  await clock.advance(2_000);
  expect(order).toEqual(["connected"]);
  finish();
  await second.heard.next("accepted");
  expect(order).toEqual(["connected", "handled", "connected"]);
  await transport.stop();
});

test.each(["while the dead one is probed", "while what it had under way goes on"])(
  "who leaves %s is not admitted, and holds up nobody who comes then",
  async (when) => {
    let finish = (): void => {};
    let admitted = 0;
    const { transport, clock, agent } = await scene(
      {},
      {
        admit: async () => {
          admitted += 1;
          return { status: "approved" };
        },
        message: () => new Promise<void>((resolve) => (finish = resolve)),
      },
    );
    const first = agent();
    await first.join();
    first.say({ type: "log", level: "info", message: "x" });
    await settle();
    first.socket.pause();
    const second = agent();
    second.greet();
    await settle();
    if (when.includes("probed")) second.socket.close(1000, "");
    await settle();
    await clock.advance(2_000);
    second.socket.close(1000, "");
    await settle();
    finish();
    await settle();
    expect(admitted).toBe(1);
    expect(await agent().join()).toBe("approved");
    expect(admitted).toBe(2);
    await transport.stop();
  },
);

test("who waits for the sign of life is in a handshake: it has a slot, and its time", async () => {
  const { transport, clock, agent, dead } = await scene({ maxHandshakes: 1, handshakeTimeoutMs: 1_000 });
  await dead();
  const second = agent();
  second.greet();
  await settle();
  expect(await agent().heard.next("closed")).toMatchObject({ code: 1013 });
  await clock.advance(1_000);
  expect(await second.heard.next("refused")).toMatchObject({ code: "AGENT_TIMEOUT" });
  // The dead one has had its time all the same, and the next that comes is in at once.
  await clock.advance(1_000);
  expect(await agent().join()).toBe("approved");
  await transport.stop();
});

test("an agent that comes every 100 ms leaves nothing behind, and gets in", async () => {
  const { transport, clock, heard, agent, dead } = await scene();
  await dead();
  let last = agent();
  for (let passedMs = 0; passedMs < 2_500; passedMs += 100) {
    last.greet();
    await settle();
    await clock.advance(100);
    if (last.heard.of("accepted").length > 0) break;
    last.socket.destroy();
    last = agent();
  }
  expect(heard.kinds).toEqual(["connected", "disconnected", "connected"]);
  expect(clock.monotonic()).toBeLessThanOrEqual(2_200);
  await transport.stop();
  expect(clock.pendingTimers).toBe(0);
});

test("two with one key that both live: the first stays, however often the other comes", async () => {
  const { transport, heard, agent } = await scene();
  const first = agent("192.0.2.1");
  await first.join();
  for (let count = 0; count < 20; count += 1) {
    const clone = agent("192.0.2.2");
    clone.greet();
    await clone.heard.next("closed");
  }
  expect(heard.of("refused")).toHaveLength(20);
  expect(heard.of("disconnected")).toEqual([]);
  expect(transport.isConnected(first.nodeId)).toBe(true);
  await transport.stop();
});

test("a stop in the middle of a probe ends everything", async () => {
  const { transport, clock, heard, agent, dead } = await scene();
  await dead();
  const others = [agent(), agent()];
  for (const other of others) other.greet();
  await settle();
  await transport.stop();
  for (const other of others) await other.heard.next("closed");
  expect(clock.pendingTimers).toBe(0);
  expect(heard.kinds).toEqual(["connected", "disconnected"]);
});

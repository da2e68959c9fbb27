/** What the conformance suite can't see from outside: limits, times and the ways in which handlers go wrong. */
import { expect, test } from "vitest";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { OrchestratorError } from "../../lib/errors.ts";
import { silentLogger } from "../../lib/logger.ts";
import { EventLog } from "../../lib/testing/event-log.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { SocketTransportOptions } from "../../lib/transport/socket-transport.ts";
import type { TransportHandlers } from "../../lib/transport/transport.ts";
import type { OrchestratorMessage } from "../../lib/wire/messages.ts";
import { deferred, settle } from "../support/deferred.ts";

const command = { id: "01890000-0000-7000-8000-000000000001", not_after: "2030-01-01T00:05:00.000Z" };
const status = (value: "pending" | "approved"): OrchestratorMessage => ({
  type: "status",
  ...command,
  status: value,
});
const log = (message: string) => ({ type: "log" as const, level: "info" as const, message });

/** How a connection is closed that finds no slot. */
const comeAgain = { code: 1013, reason: expect.stringMatching(/^RATE_LIMITED retry=\d+$/) };

type Event =
  | { kind: "message"; text: string }
  | { kind: "disconnected"; reason: string }
  | { kind: "refused"; code: string; message: string }
  | { kind: "error"; message: string };

async function scene(options: SocketTransportOptions = {}, changes: Partial<TransportHandlers> = {}) {
  const transport = new MemoryTransport(options);
  const clock = new FakeClock();
  const heard = new EventLog<Event>();
  const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(9));
  const logger = { ...silentLogger, error: (message: string) => heard.add({ kind: "error", message }) };
  await transport.start(
    {
      clock,
      crypto: nodeCrypto,
      logger,
      signer,
      orchestratorTime: () => new Date(clock.now()).toISOString(),
    },
    {
      admit: async () => ({ status: "approved" }),
      connected: async () => {},
      message: async (_, message) =>
        heard.add({ kind: "message", text: message.type === "log" ? message.message : "" }),
      stream: async () => {},
      disconnected: (_, reason) => heard.add({ kind: "disconnected", reason }),
      refused: ({ code, message }) => heard.add({ kind: "refused", code, message }),
      ...changes,
    },
  );
  const agent = (number: number): TestAgent =>
    new TestAgent(transport.connect(), { crypto: nodeCrypto, seed: new Uint8Array(32).fill(number) });
  return { transport, clock, heard, agent };
}

test("turns connections away without a word while too many handshakes go on", async () => {
  const { transport, heard, agent } = await scene({ maxHandshakes: 2 });
  const [first] = [agent(1), agent(2)];
  expect(await agent(3).heard.next("closed")).toMatchObject(comeAgain);
  expect(heard.of("refused")).toEqual([]);
  // A handshake that is done makes room for the next.
  await first?.join();
  expect(await agent(3).join()).toBe("approved");
  await transport.stop();
});

test("who is silent in the handshake is refused when its time is over, and that is told with the reason", async () => {
  const { transport, clock, heard, agent } = await scene({ handshakeTimeoutMs: 5_000 });
  const silent = agent(1);
  await clock.advance(4_999);
  expect(heard.of("refused")).toEqual([]);
  await clock.advance(1);
  expect(await heard.next("refused")).toMatchObject({
    code: "AGENT_TIMEOUT",
    message: "The handshake took too long.",
  });
  expect(await silent.heard.next("closed")).toMatchObject({ code: 1008 });
  await transport.stop();
});

test("tells those that it turns away to come again one after the other", async () => {
  const { transport, clock, agent } = await scene({ maxHandshakes: 2 });
  const waiting = [agent(1), agent(2)];
  await clock.advance(5_000);
  for (const one of waiting) await one.join();
  const slow = [agent(3), agent(4)];
  const told: number[] = [];
  for (let number = 5; number < 10; number += 1) {
    const { reason } = await agent(number).heard.next("closed");
    told.push(Number(/^RATE_LIMITED retry=(\d+)$/.exec(reason)?.[1]));
  }
  // Two in 5 s, and what is taken for measured at the start.
  const steps = told.slice(1).map((ms, at) => ms - told[at]!);
  for (const step of steps) expect(step).toBeGreaterThan(40);
  for (const step of steps) expect(step).toBeLessThan(60);
  for (const one of slow) expect(await one.join()).toBe("approved");
  await transport.stop();
});

test("leaves places for other addresses while one begins handshakes without end", async () => {
  const { transport } = await scene({ maxHandshakesPerAddress: 2 });
  const connectFrom = (address: string, number: number): TestAgent => {
    const [agentEnd, orchestratorEnd] = createSocketPair(address);
    transport.accept(orchestratorEnd);
    return new TestAgent(agentEnd, { crypto: nodeCrypto, seed: new Uint8Array(32).fill(number) });
  };
  connectFrom("192.0.2.1", 1);
  connectFrom("192.0.2.1", 2);
  const third = connectFrom("192.0.2.1", 3);
  expect(await third.heard.next("closed")).toMatchObject(comeAgain);
  expect(await connectFrom("192.0.2.2", 4).join()).toBe("approved");
  await transport.stop();
});

test("a network counts as one address where it is IPv6", async () => {
  const { transport } = await scene({ maxHandshakesPerAddress: 2 });
  const connectFrom = (address: string, number: number): TestAgent => {
    const [agentEnd, orchestratorEnd] = createSocketPair(address);
    transport.accept(orchestratorEnd);
    return new TestAgent(agentEnd, { crypto: nodeCrypto, seed: new Uint8Array(32).fill(number) });
  };
  connectFrom("2001:db8::1", 1);
  connectFrom("2001:db8::2", 2);
  expect(await connectFrom("2001:db8::3", 3).heard.next("closed")).toMatchObject({ code: 1013 });
  expect(await connectFrom("2001:db8:0:1::1", 4).join()).toBe("approved");
  await transport.stop();
});

test("one address that holds every place of those who wait gives way to others, to half of them", async () => {
  const { transport } = await scene({ maxPendingAgents: 4 }, { admit: async () => ({ status: "pending" }) });
  const connectFrom = (address: string, number: number): TestAgent => {
    const [agentEnd, orchestratorEnd] = createSocketPair(address);
    transport.accept(orchestratorEnd);
    return new TestAgent(agentEnd, { crypto: nodeCrypto, seed: new Uint8Array(32).fill(number) });
  };
  const flood = [1, 2, 3, 4].map((number) => connectFrom("203.0.113.7", number));
  for (const agent of flood) expect(await agent.join()).toBe("pending");
  const others = [5, 6].map((number) => connectFrom("192.0.2.1", number));
  for (const agent of others) expect(await agent.join()).toBe("pending");
  // The last that came go first, and are told to come again.
  for (const agent of [flood[3]!, flood[2]!])
    expect(await agent.heard.next("closed")).toMatchObject({ code: 1013 });
  for (const late of [connectFrom("192.0.2.1", 7), connectFrom("203.0.113.7", 8)]) {
    late.greet();
    expect(await late.heard.next("refused")).toMatchObject({ code: "RATE_LIMITED" });
  }
  const ids = [...flood.slice(0, 2), ...others].map((agent) => agent.nodeId);
  expect(ids.map((nodeId) => transport.isConnected(nodeId))).toEqual([true, true, true, true]);
  await transport.stop();
});

test("closes connections before start and after stop", async () => {
  const idle = new MemoryTransport();
  const early = new TestAgent(idle.connect(), { crypto: nodeCrypto, seed: new Uint8Array(32) });
  expect(await early.heard.next("closed")).toMatchObject({ code: 1001 });
  const { transport, agent } = await scene();
  await transport.stop();
  expect(await agent(1).heard.next("closed")).toMatchObject({ code: 1001 });
});

test("ends an agent that pings without end, approved or not, and none that pings for days", async () => {
  for (const answer of ["pending", "approved"] as const) {
    const { transport, clock, agent, heard } = await scene({}, { admit: async () => ({ status: answer }) });
    const one = agent(1);
    await one.join();
    const ping = (): void => one.socket.send(one.session.encodePing());
    for (let count = 0; count < 1_500; count += 1) {
      ping();
      await clock.advance(15_000);
    }
    expect(transport.isConnected(one.nodeId)).toBe(true);
    for (let count = 0; count < 1_001; count += 1) ping();
    expect(await one.heard.next("closed")).toMatchObject({ code: 1002, reason: "PROTOCOL_ERROR" });
    expect((await heard.next("refused")).code).toBe("PROTOCOL_ERROR");
    await transport.stop();
  }
});

test("leaves no timer behind", async () => {
  const { transport, clock, agent } = await scene();
  const one = agent(1);
  await one.join();
  agent(2).greet();
  agent(3);
  await transport.stop();
  expect(clock.pendingTimers).toBe(0);
});

test("an approved agent that becomes pending is told so and comes again", async () => {
  const { transport, agent, heard } = await scene();
  const one = agent(1);
  await one.join();
  await transport.send(one.nodeId, status("pending"));
  expect((await one.heard.next("message")).message).toEqual(status("pending"));
  expect(await one.heard.next("closed")).toMatchObject({ code: 1008 });
  expect((await heard.next("disconnected")).reason).toContain("pending");
});

test("a status that changes nothing ends nothing", async () => {
  const { transport, agent } = await scene({}, { admit: async () => ({ status: "pending" }) });
  const one = agent(1);
  await one.join();
  await transport.send(one.nodeId, status("pending"));
  await transport.send(one.nodeId, status("approved"));
  await transport.send(one.nodeId, status("approved"));
  expect(transport.isConnected(one.nodeId)).toBe(true);
  await transport.stop();
});

test("a handler that calls a message a breach of the protocol has it reported as one", async () => {
  const { transport, agent, heard } = await scene(
    {},
    {
      message: () =>
        Promise.reject(new OrchestratorError("PROTOCOL_ERROR", { message: "Not its operation." })),
    },
  );
  const one = agent(1);
  await one.join();
  one.say(log("x"));
  expect(await one.heard.next("closed")).toMatchObject({ code: 1002, reason: "PROTOCOL_ERROR" });
  expect((await heard.next("refused")).code).toBe("PROTOCOL_ERROR");
  await transport.stop();
});

test("a handler that fails in another way is logged and told to nobody outside", async () => {
  const { transport, agent, heard } = await scene(
    {},
    { message: () => Promise.reject(new Error("the disk is full")) },
  );
  const one = agent(1);
  await one.join();
  one.say(log("x"));
  expect(await one.heard.next("closed")).toMatchObject({ code: 1011, reason: "INTERNAL" });
  await heard.next("error");
  expect(heard.of("refused")).toEqual([]);
  expect((await heard.next("disconnected")).reason).not.toContain("disk");
  await transport.stop();
});

test("a disconnected or refused that throws ends nothing else", async () => {
  const broken = (): never => {
    throw new Error("broken");
  };
  const { transport, agent, heard } = await scene({}, { disconnected: broken, refused: broken });
  const [one, two] = [agent(1), agent(2)];
  await one.join();
  await two.join();
  one.socket.send("{}");
  await one.heard.next("closed");
  await heard.next("error");
  two.say(log("still here"));
  expect((await heard.next("message")).text).toBe("still here");
  await transport.stop();
});

test("a slow handler makes the agent wait and fills no memory; nothing is lost", async () => {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  const texts: string[] = [];
  const { transport, agent } = await scene(
    {},
    {
      message: async (_, message) => {
        await gate;
        texts.push(message.type === "log" ? message.message : "");
      },
    },
  );
  const one = agent(1);
  await one.join();
  for (let count = 0; count < 2000; count += 1) one.say(log(`${count} ${"x".repeat(4000)}`));
  await new Promise((resolve) => setImmediate(resolve));
  // 8 MB were sent; about 1 MiB was taken in, the rest waits where the agent feels it.
  expect(one.socket.bufferedBytes).toBeGreaterThan(6_000_000);
  release();
  while (texts.length < 2000) await new Promise((resolve) => setImmediate(resolve));
  expect(texts.map((text) => Number(text.split(" ")[0]))).toEqual(
    Array.from({ length: 2000 }, (_, index) => index),
  );
  await transport.stop();
});

test("stop waits for the handler in progress", async () => {
  let release = (): void => {};
  const { transport, agent } = await scene(
    {},
    { message: () => new Promise((resolve) => (release = resolve)) },
  );
  const one = agent(1);
  await one.join();
  one.say(log("x"));
  await new Promise((resolve) => setImmediate(resolve));
  let hasStopped = false;
  const stopped = transport.stop().then(() => (hasStopped = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasStopped).toBe(false);
  release();
  await stopped;
});

test("an agent that hangs up while it is looked at is never connected", async () => {
  const admitting = deferred<void>();
  const asked = deferred<void>();
  const connected: string[] = [];
  const { transport, heard, agent } = await scene(
    {},
    {
      admit: async () => {
        asked.resolve();
        await admitting.promise;
        return { status: "approved" };
      },
      connected: async ({ node_id }) => void connected.push(node_id),
    },
  );
  const one = agent(1);
  one.join().catch(() => {});
  await asked.promise;
  one.socket.close(1000, "");
  await settle();
  admitting.resolve();
  await settle();
  await transport.stop();
  expect(connected).toEqual([]);
  expect(heard.of("disconnected")).toEqual([]);
});

test("a connection whose socket throws while its agent is accepted ends, and keeps no place", async () => {
  const { transport, clock, heard } = await scene();
  const [agentEnd, orchestratorEnd] = createSocketPair("192.0.2.1");
  const send = orchestratorEnd.send.bind(orchestratorEnd);
  orchestratorEnd.send = (frame) => {
    // The first that is sealed tells the agent that it is accepted.
    if (typeof frame !== "string") throw new Error("broken");
    send(frame);
  };
  transport.accept(orchestratorEnd);
  const agent = new TestAgent(agentEnd, { crypto: nodeCrypto, seed: new Uint8Array(32).fill(1) });
  agent.greet();
  await agent.heard.next("closed");
  expect(await heard.next("refused")).toMatchObject({ code: "INTERNAL" });
  expect([transport.isConnected(agent.nodeId), clock.pendingTimers]).toEqual([false, 0]);
});

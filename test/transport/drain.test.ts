import { expect, test } from "vitest";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { TransportHandlers } from "../../lib/transport/transport.ts";

async function scene(changes: Partial<TransportHandlers> = {}) {
  const transport = new MemoryTransport();
  const clock = new FakeClock();
  const left: { atMs: number; reason: string }[] = [];
  const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(9));
  const orchestratorTime = (): string => new Date(clock.now()).toISOString();
  const context = { clock, crypto: nodeCrypto, logger: silentLogger, signer, orchestratorTime };
  await transport.start(context, {
    admit: async () => ({ status: "approved" }),
    connected: async () => {},
    message: async () => {},
    stream: async () => {},
    disconnected: (_, reason) => left.push({ atMs: clock.monotonic(), reason }),
    refused: () => {},
    ...changes,
  });
  const agent = (number: number): TestAgent =>
    new TestAgent(transport.connect(), { crypto: nodeCrypto, seed: new Uint8Array(32).fill(number) });
  const fleet = async (count: number): Promise<TestAgent[]> => {
    const agents = Array.from({ length: count }, (_, number) => agent(number + 1));
    for (const one of agents) await one.join();
    return agents;
  };
  return { transport, clock, left, agent, fleet };
}

/** What an agent is told that is to go elsewhere at once. */
const elsewhere = { code: 1001, reason: "UNAVAILABLE retry=0" };

test("agents are let go one after the other, spread evenly over the time", async () => {
  const { transport, clock, left, fleet } = await scene();
  const agents = await fleet(10);
  const drained = transport.drain(30_000);
  await clock.advance(2_999);
  expect(left).toEqual([]);
  await clock.advance(27_001);
  await drained;
  expect(left.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 10 }, (_, n) => (n + 1) * 3_000));
  for (const one of agents) expect(await one.heard.next("closed")).toMatchObject(elsewhere);
  await transport.stop();
  expect(left).toHaveLength(10);
  expect(clock.pendingTimers).toBe(0);
});

test.each([1, 2, 3, 7])(
  "the last of %d is let go when the time is over, by a clock whose timers come early",
  async (count) => {
    const { transport, clock, left, fleet } = await scene();
    await fleet(count);
    const setTimer = clock.setTimer.bind(clock);
    clock.setTimer = (delayMs, callback) => setTimer(delayMs - 0.5, callback);
    const drained = transport.drain(10_000);
    await clock.advance(10_020);
    expect(left).toHaveLength(count);
    expect(left.at(-1)!.atMs).toBeGreaterThanOrEqual(10_000);
    await drained;
    await transport.stop();
  },
);

test("more agents than steps leave several at a time, and all in time", async () => {
  const { transport, clock, left, fleet } = await scene();
  await fleet(50);
  const drained = transport.drain(100);
  await clock.advance(50);
  expect(left.length).toBeGreaterThanOrEqual(20);
  expect(left.length).toBeLessThanOrEqual(30);
  await clock.advance(50);
  await drained;
  expect(left).toHaveLength(50);
  await transport.stop();
});

test("who comes meanwhile, or is in the middle of its handshake, is sent on", async () => {
  const { transport, clock, agent, fleet } = await scene();
  await fleet(1);
  const midway = agent(2);
  const drained = transport.drain(1_000);
  expect(await midway.heard.next("closed")).toMatchObject(elsewhere);
  expect(await agent(3).heard.next("closed")).toMatchObject({ code: 1001, reason: "UNAVAILABLE retry=1000" });
  await clock.advance(1_000);
  await drained;
  expect(await agent(4).heard.next("closed")).toMatchObject({ code: 1001 });
  await transport.stop();
});

test("an agent that left by itself is not waited for, nor told twice", async () => {
  const { transport, clock, left, fleet } = await scene();
  const [first] = await fleet(2);
  const drained = transport.drain(1_000);
  first!.socket.destroy();
  await clock.advance(1_000);
  await drained;
  expect(left).toHaveLength(2);
  await transport.stop();
});

test("a stop in the middle lets the others go at once", async () => {
  const { transport, clock, left, fleet } = await scene();
  await fleet(4);
  const drained = transport.drain(60_000);
  await clock.advance(15_000);
  await transport.stop();
  await drained;
  expect(left).toHaveLength(4);
  expect(clock.pendingTimers).toBe(0);
});

test("with nobody there, or no time, it is over at once; a second call waits for the first", async () => {
  const empty = await scene();
  await empty.transport.drain(60_000);
  await empty.transport.stop();
  const { transport, clock, left, fleet } = await scene();
  await fleet(3);
  await transport.drain(0);
  expect(left).toHaveLength(3);
  await transport.stop();
  expect(clock.pendingTimers).toBe(0);

  const again = await scene();
  await again.fleet(1);
  let ended = 0;
  const both = [again.transport.drain(500), again.transport.drain(60_000)].map((done) =>
    done.then(() => (ended += 1)),
  );
  await again.clock.advance(499);
  expect(ended).toBe(0);
  await again.clock.advance(1);
  await Promise.all(both);
  await again.transport.stop();
});

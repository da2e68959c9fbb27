/** A few addresses that hold every place of a handshake and say nothing more don't close the door for others. */
import { expect, test } from "vitest";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { HandshakePlaces } from "../../lib/transport/handshake-places.ts";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import { SocketTransport, type SocketTransportOptions } from "../../lib/transport/socket-transport.ts";
import { retryMsOf } from "../../lib/wire/close-reason.ts";
import { settle } from "../support/deferred.ts";

const stalledMs = 3_000;
const comeAgain = { code: 1013, reason: expect.stringMatching(/^(RATE_LIMITED|UNAVAILABLE) retry=\d+$/) };

async function scene(options: SocketTransportOptions) {
  const transport = new SocketTransport(options);
  const clock = new FakeClock();
  const refused: string[] = [];
  const context = {
    clock,
    crypto: nodeCrypto,
    logger: silentLogger,
    signer: nodeCrypto.createSigner(new Uint8Array(32).fill(9)),
    orchestratorTime: () => new Date(clock.now()).toISOString(),
  };
  await transport.start(context, {
    admit: async () => ({ status: "approved" }),
    connected: async () => {},
    message: async () => {},
    stream: async () => {},
    disconnected: () => {},
    refused: ({ code }) => refused.push(code),
  });
  let keys = 0;
  const dial = (address: string): TestAgent => {
    const [agentEnd, orchestratorEnd] = createSocketPair(address);
    transport.accept(orchestratorEnd);
    keys += 1;
    return new TestAgent(agentEnd, { crypto: nodeCrypto, seed: new Uint8Array(32).fill(keys) });
  };
  const dialTimes = (count: number, address: string): TestAgent[] =>
    Array.from({ length: count }, () => dial(address));
  return { transport, clock, refused, dial, dialTimes };
}

const has = (agent: TestAgent, event: "closed"): boolean => agent.heard.of(event).length > 0;

test.each([
  ["of one network", ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]],
  ["of four networks", ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1"]],
])("four addresses %s that hold all places give way at once to a fifth", async (_, addresses) => {
  const { transport, clock, refused, dial, dialTimes } = await scene({
    maxHandshakes: 16,
    maxHandshakesPerAddress: 4,
  });
  const silent = addresses.flatMap((address) => dialTimes(4, address));
  await clock.advance(stalledMs);
  for (const address of ["10.1.0.1", "10.2.0.1", "10.3.0.1"])
    expect(await dial(address).join()).toBe("approved");
  const gone = silent.filter((agent) => has(agent, "closed"));
  // Each that came needed a place only while its own handshake went on: the first one freed it.
  expect(gone).toHaveLength(1);
  expect(await gone[0]!.heard.next("closed")).toMatchObject(comeAgain);
  expect(refused).toEqual([]);
  await transport.stop();
  expect(clock.pendingTimers).toBe(0);
});

test("a network that renews its handshakes all the time gives way until it holds a quarter", async () => {
  const { transport, dial, dialTimes } = await scene({ maxHandshakes: 16, maxHandshakesPerAddress: 16 });
  const flood = dialTimes(16, "192.0.2.1");
  const others = Array.from({ length: 13 }, (_, at) => dial(`10.${at}.0.1`));
  await settle();
  expect(flood.filter((agent) => has(agent, "closed"))).toHaveLength(12);
  expect(others.map((agent) => has(agent, "closed"))).toEqual([...Array<boolean>(12).fill(false), true]);
  for (const agent of others.slice(0, 12)) expect(await agent.join()).toBe("approved");
  await transport.stop();
});

test("who has come from where as many are takes no place of one that has just begun", async () => {
  const { transport, clock, dial } = await scene({ maxHandshakes: 4 });
  const begun = ["10.1.0.1", "10.2.0.1", "10.3.0.1", "10.4.0.1"].map((address) => dial(address));
  await clock.advance(stalledMs - 1);
  expect(await dial("10.5.0.1").heard.next("closed")).toMatchObject({ code: 1013 });
  for (const agent of begun) expect(await agent.join()).toBe("approved");
  await transport.stop();
});

test("an address takes the place of its own handshake that went dead, and not that of others", async () => {
  const { transport, clock, dial } = await scene({ maxHandshakes: 2 });
  const [dead, other] = [dial("192.0.2.1"), dial("198.51.100.1")];
  await clock.advance(stalledMs);
  expect(await dial("192.0.2.1").join()).toBe("approved");
  expect(await dead.heard.next("closed")).toMatchObject(comeAgain);
  expect(await other.join()).toBe("approved");
  await transport.stop();
});

test("places are counted up and down by address, and leave nothing behind", () => {
  const places = new HandshakePlaces<object>(3);
  const [one, two, three] = [{}, {}, {}];
  places.take(one, "192.0.2.1", 0);
  places.take(two, "192.0.2.1", 0);
  places.take(three, null, 0);
  expect([places.isFull, places.countOf("192.0.2.1"), places.countOf(null)]).toEqual([true, 2, 1]);
  expect([places.free(two), places.free(two)]).toEqual([true, false]);
  expect([places.isFull, places.size, places.countOf("192.0.2.1")]).toEqual([false, 2, 1]);
  expect([places.free(one), places.free(three)]).toEqual([true, true]);
  expect([places.size, places.countOf("192.0.2.1"), places.holders()]).toEqual([0, 0, []]);
  expect(places.giveWay("192.0.2.1", 10_000)).toBeNull();
});

/** How long those of a fleet are told to wait that dials at one moment and finds no place, the longest of them. */
function longestWaitOf(fleet: readonly TestAgent[]): number {
  const told = fleet.flatMap(({ heard }) => heard.of("closed")).map(({ reason }) => retryMsOf(reason) ?? 0);
  expect(told).toHaveLength(fleet.length - 64);
  return Math.max(...told);
}

test("strangers who stalled in their handshakes for hours have no fleet wait any longer", async () => {
  const { transport, clock, dial, dialTimes } = await scene({ handshakeTimeoutMs: 10_000 });
  for (let count = 0; count < 360; count += 1) {
    dial("203.0.113.7");
    await clock.advance(10_000);
  }
  const fleet = dialTimes(1_000, "10.1.0.1");
  await settle();
  expect(longestWaitOf(fleet)).toBeLessThan(2_000);
  await transport.stop();
});

test("a fleet that is far away comes back as fast as there are places, however slow each of it is alone", async () => {
  const { transport, clock, dial, dialTimes } = await scene({});
  for (let count = 0; count < 300; count += 1) {
    const agent = dial("10.1.0.1");
    await clock.advance(600);
    await agent.join();
  }
  const fleet = dialTimes(1_000, "10.1.0.1");
  await settle();
  // 64 at a time, of which each takes 0.6 s.
  expect(longestWaitOf(fleet)).toBeLessThan(12_000);
  await transport.stop();
});

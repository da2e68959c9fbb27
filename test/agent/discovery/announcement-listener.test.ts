/** Anybody in the network may send packets to an agent that waits to be discovered. */
import { expect, it, onTestFinished, vi } from "vitest";
import { nodeCrypto } from "fleetwright";
import type { DatagramSocket } from "fleetwright/ports";
import { FakeClock, MemoryNetwork } from "fleetwright/testing";
import { isAnswerSigned, readAnswer, writeAnnouncement } from "../../../lib/wire/discovery-packets.ts";
import { settle } from "../../support/deferred.ts";
import { startListener } from "../../support/discovery.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

const signerOf = (byte: number) => nodeCrypto.createSigner(new Uint8Array(32).fill(byte));
const [ours, other] = [signerOf(1), signerOf(2)];
const minute = 60_000;
const to = { address: "192.0.2.7", port: 4747 };

/** An agent that listens, and somebody who sends packets to it. */
async function scene(options: { pinned?: Uint8Array; random?: () => number } = {}) {
  const network = new MemoryNetwork();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const heard: string[] = [];
  const answers: Uint8Array[] = [];
  const { pinned = null, random = () => 0 } = options;
  const listener = await startListener(network.machine(to.address), {
    clock,
    logger,
    random,
    pinned: () => pinned,
    heard: ({ url }) => void heard.push(url),
  });
  onTestFinished(() => listener.stop());
  const take = (packet: Uint8Array): void => void answers.push(packet);
  const sockets = new Map<string, DatagramSocket>();
  let made = 0;
  const announcement = (
    given: { signer?: typeof ours; at?: number; url?: string; spreadMs?: number } = {},
  ) => {
    made += 1;
    const { signer = ours, at = clock.now() + made, url = `ws://a:${made}`, spreadMs = 0 } = given;
    return writeAnnouncement(signer, { nonce: new Uint8Array(16).fill(made), at, spreadMs, url });
  };
  /** Sends from an address, which may be any: nobody proves theirs. */
  const send = async (packet: Uint8Array, from = "192.0.2.1"): Promise<void> => {
    const socket = sockets.get(from) ?? (await network.machine(from).open({ family: 4, heard: take }));
    sockets.set(from, socket);
    await socket.send(packet, to);
    await clock.advance(0);
    await settle();
  };
  const dropped = async (): Promise<unknown> => {
    await clock.advance(minute);
    return logger.lines.at(-1)?.fields?.["dropped"];
  };
  return { clock, logger, listener, heard, answers, announcement, send, dropped };
}

it("answers an announcement with its key and its name, less than it got", async () => {
  const { announcement, send, heard, answers } = await scene();
  const packet = announcement({ url: "wss://fleet.example/agent/v1" });
  await send(packet);
  expect(heard).toEqual(["wss://fleet.example/agent/v1"]);
  expect(answers).toHaveLength(1);
  expect(answers[0]!.length).toBeLessThan(packet.length);
  expect(readAnswer(answers[0]!)).toMatchObject({ hostname: "db-1", nonce: new Uint8Array(16).fill(1) });
  expect(isAnswerSigned(nodeCrypto, answers[0]!, ours.publicKey)).toBe(true);
});

it("answers nobody but the orchestrator that is pinned", async () => {
  const { announcement, send, heard, answers, dropped } = await scene({ pinned: ours.publicKey });
  await send(announcement({ signer: other }));
  expect([heard, answers]).toEqual([[], []]);
  await send(announcement());
  expect([heard.length, answers.length]).toEqual([1, 1]);
  expect(await dropped()).toEqual({ "another orchestrator": 1 });
});

it("drops without a word what is malformed, old, forged or repeated, and counts it", async () => {
  const { clock, announcement, send, heard, answers, dropped } = await scene();
  const packets = [new Uint8Array(0), new Uint8Array(512), new Uint8Array(60_000), forged(announcement())];
  for (const packet of packets) await send(packet);
  for (const off of [-5 * minute - 1, 5 * minute + 1]) await send(announcement({ at: clock.now() + off }));
  expect([heard, answers]).toEqual([[], []]);
  const good = announcement();
  for (const packet of [good, good]) await send(packet);
  await send(announcement({ at: clock.now() }));
  expect([heard.length, answers.length]).toEqual([1, 1]);
  expect(await dropped()).toEqual({ malformed: 3, forged: 1, old: 2, repeated: 2 });
});

it.each([
  ["forged in its name", 4 * minute, true],
  ["forged in its name, of the same moment", 1, true],
  ["its own from a time to come that is too far", 5 * minute + 1, false],
])("hears an orchestrator after an announcement that is %s", async (_what, later, isForged) => {
  const { clock, announcement, send, heard } = await scene();
  const at = clock.now();
  await send(announcement({ at }));
  const bad = announcement({ at: at + later, url: "ws://bad" });
  await send(isForged ? forged(bad) : bad);
  await send(announcement({ at: at + 1, url: "ws://good" }));
  expect(heard.slice(1)).toEqual(["ws://good"]);
});

it("counts what it dropped anew each minute, and says nothing of one in which nothing was", async () => {
  const { logger, send, dropped } = await scene();
  await send(new Uint8Array(0));
  expect(await dropped()).toEqual({ malformed: 1 });
  await dropped();
  expect(logger.lines).toHaveLength(1);
  for (const length of [1, 2]) await send(new Uint8Array(length));
  expect(await dropped()).toEqual({ malformed: 2 });
});

it("goes on knowing an orchestrator that announces itself again and again, however many others do", async () => {
  const { clock, announcement, send, heard, dropped } = await scene();
  const others = async (from: number, to: number): Promise<void> => {
    for (let key = from; key < to; key += 1) {
      await send(announcement({ signer: signerOf(key) }), `198.51.${key}.1`);
      await clock.advance(200);
    }
  };
  await send(announcement());
  await others(10, 70);
  const newest = announcement();
  await send(newest);
  await others(70, 130);
  const before = heard.length;
  await dropped();
  await send(newest);
  expect(heard).toHaveLength(before);
  expect(await dropped()).toEqual({ repeated: 1 });
});

it.each([-5 * minute, 5 * minute])("takes one whose clock is off by %i ms", async (off) => {
  const { clock, announcement, send, heard } = await scene();
  await send(announcement({ at: clock.now() + off }));
  expect(heard).toHaveLength(1);
});

/** What nobody signed who has the key that it names. */
function forged(packet: Uint8Array): Uint8Array {
  packet[80]! ^= 1;
  return packet;
}

it("answers 5 in a second, whoever floods it", async () => {
  const { clock, announcement, send, heard, answers } = await scene();
  for (let n = 0; n < 40; n += 1)
    await send(announcement({ signer: n % 2 === 0 ? ours : other }), `192.0.2.${10 + n}`);
  expect([heard.length, answers.length]).toEqual([40, 5]);
  await clock.advance(1_000);
  for (let n = 0; n < 20; n += 1) await send(announcement(), `192.0.2.${50 + n}`);
  expect(answers).toHaveLength(10);
});

it("answers an orchestrator while others announce themselves all the time, from a few addresses", async () => {
  const { clock, announcement, send, answers } = await scene();
  for (let second = 0; second < 30; second += 1) {
    for (let n = 0; n < 6; n += 1) await send(announcement({ signer: other }), `192.0.2.${66 + (n % 3)}`);
    // An orchestrator calls every 5 seconds at most.
    const before = answers.length;
    if (second % 5 === 4) await send(announcement());
    expect(answers.length - before).toBe(second % 5 === 4 ? 1 : 0);
    await clock.advance(1_000);
  }
});

it("answers one address no more than three times at once", async () => {
  const { announcement, send, heard, answers } = await scene();
  for (let n = 0; n < 40; n += 1) await send(announcement({ signer: n % 2 === 0 ? ours : other }));
  expect([heard.length, answers.length]).toEqual([40, 3]);
});

it("checks 600 signatures in a minute at most, from however many addresses a flood comes", async () => {
  const verify = vi.spyOn(nodeCrypto, "verify");
  onTestFinished(() => verify.mockRestore());
  const { announcement, send } = await scene();
  for (let n = 0; n < 100; n += 1) await send(announcement(), `10.1.${n}.1`);
  for (let n = 0; n < 1_200; n += 1) await send(forged(announcement()), `10.1.${n % 100}.1`);
  for (let n = 0; n < 1_200; n += 1) await send(forged(announcement()), `10.2.${n % 200}.${n % 7}`);
  expect(verify).toHaveBeenCalledTimes(600);
});

it.each([
  ["one address", (_n: number) => "198.51.100.66"],
  ["all addresses of another network", (n: number) => `198.51.100.${n % 250}`],
])("hears an orchestrator while forged packets come from %s", async (_what, addressOf) => {
  const { announcement, send, heard } = await scene();
  for (let n = 0; n < 2_000; n += 1) await send(forged(announcement()), addressOf(n));
  await send(announcement(), "192.0.2.1");
  expect(heard).toHaveLength(1);
});

it("hears an orchestrator whose neighbour floods it", async () => {
  const { announcement, send, heard } = await scene();
  for (let n = 0; n < 1_000; n += 1) await send(forged(announcement()), "192.0.2.66");
  await send(announcement(), "192.0.2.1");
  expect(heard).toHaveLength(1);
});

it("goes on hearing one that it heard before, whatever addresses a flood names", async () => {
  const { announcement, send, heard } = await scene();
  await send(announcement());
  for (let n = 0; n < 3_000; n += 1) await send(forged(announcement()), `10.${n % 5}.${n % 250}.${n % 9}`);
  await send(announcement());
  expect(heard).toHaveLength(2);
});

it("spreads its answer, and answers nothing once it is stopped", async () => {
  const { clock, listener, announcement, send, answers } = await scene({ random: () => 0.5 });
  await send(announcement({ spreadMs: 1_000 }));
  await clock.advance(499);
  expect(answers).toHaveLength(0);
  await clock.advance(1);
  await settle();
  expect(answers).toHaveLength(1);
  await send(announcement({ spreadMs: 1_000 }));
  listener.stop();
  await clock.advance(2_000);
  expect(answers).toHaveLength(1);
  expect(clock.pendingTimers).toBe(0);
});

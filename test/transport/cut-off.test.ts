/** Agents that say nothing, say too little, or do not read: their connections are cut, at the bound and not before it. */
import { expect, test } from "vitest";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import { settleAll } from "../support/deferred.ts";

const streamId = "01890000-0000-7000-8000-000000000001";
const limitBytes = 65_536;
/** What a frame of a stream has beside its data. */
const overheadBytes = 33;

async function scene() {
  const transport = new MemoryTransport({ sendLimitBytes: limitBytes });
  const clock = new FakeClock();
  const gone: string[] = [];
  await transport.start(
    {
      clock,
      crypto: nodeCrypto,
      logger: silentLogger,
      signer: nodeCrypto.createSigner(new Uint8Array(32).fill(9)),
      orchestratorTime: () => new Date(clock.now()).toISOString(),
    },
    {
      admit: async () => ({ status: "approved" }),
      connected: async () => {},
      message: async () => {},
      stream: async () => {},
      disconnected: (_, reason) => void gone.push(reason),
      refused: () => {},
    },
  );
  const seed = new Uint8Array(32).fill(1);
  const agent = new TestAgent(transport.connect(), { crypto: nodeCrypto, seed });
  await agent.join();
  await settleAll();
  const sendStream = (bytes: number): Promise<void> =>
    transport.sendStream(agent.nodeId, streamId, new Uint8Array(bytes - overheadBytes));
  return { transport, clock, agent, gone, sendStream };
}

const offline = { code: "AGENT_OFFLINE" };
const cut = { code: 1006 };

test("one that is silent for too long is cut off, and hears of it", async () => {
  const { transport, clock, agent, gone } = await scene();
  await clock.advance(44_999);
  expect(transport.isConnected(agent.nodeId)).toBe(true);
  await clock.advance(15_001);
  expect(await agent.heard.next("closed")).toMatchObject(cut);
  expect(gone).toEqual([expect.stringMatching(/^AGENT_TIMEOUT: /)]);
  await transport.stop();
  expect(clock.pendingTimers).toBe(0);
});

test("for one that does not read as many bytes wait as may, and with one more it is cut off", async () => {
  const { transport, agent, gone, sendStream } = await scene();
  agent.socket.pause();
  await sendStream(limitBytes - overheadBytes - 1);
  await sendStream(overheadBytes + 1);
  expect(transport.isConnected(agent.nodeId)).toBe(true);
  await expect(sendStream(overheadBytes)).rejects.toMatchObject(offline);
  expect([transport.isConnected(agent.nodeId), gone]).toEqual([
    false,
    [expect.stringMatching(/^AGENT_TIMEOUT: /)],
  ]);
  expect(await agent.heard.next("closed")).toMatchObject(cut);
  await transport.stop();
});

test("one piece that is larger than what may wait is not sent to one that reads either", async () => {
  const { transport, agent, sendStream } = await scene();
  await expect(sendStream(limitBytes + 1)).rejects.toMatchObject(offline);
  expect(await agent.heard.next("closed")).toMatchObject(cut);
  await transport.stop();
});

test("a thousand pings between two of the other side are borne, and not one more", async () => {
  const { transport, agent } = await scene();
  const ping = (): void => agent.socket.send(agent.session.encodePing());
  for (let count = 0; count < 1_000; count += 1) ping();
  await settleAll();
  expect(transport.isConnected(agent.nodeId)).toBe(true);
  ping();
  expect(await agent.heard.next("closed")).toMatchObject({ code: 1002, reason: "PROTOCOL_ERROR" });
  await transport.stop();
});

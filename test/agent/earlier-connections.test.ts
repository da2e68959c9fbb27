/** Commands of a connection that has ended, which are still worked on when the next one comes, or the agent stops. */
import { expect, test } from "vitest";
import { createAgentLink } from "../../lib/agent/agent-link.ts";
import { nodeIdOf } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import { deferred, settleAll } from "../support/deferred.ts";
import { waitFor } from "../support/wait-for.ts";

const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(1));
const nodeId = nodeIdOf(signer.publicKey, nodeCrypto);
const command = {
  type: "config",
  id: "01890000-0000-7000-8000-000000000001",
  not_after: "2030-01-01T00:05:00.000Z",
  metrics_interval_seconds: 5,
} as const;

/** An agent that has not finished its first command by the time that its connection is lost. */
async function interrupted() {
  const clock = new FakeClock();
  const transport = new MemoryTransport();
  const log: string[] = [];
  const work = deferred();
  const start = (): Promise<void> =>
    transport.start(
      {
        clock,
        crypto: nodeCrypto,
        logger: silentLogger,
        signer: nodeCrypto.createSigner(new Uint8Array(32).fill(2)),
        orchestratorTime: () => new Date(clock.now()).toISOString(),
      },
      {
        admit: async () => ({ status: "approved" }),
        connected: async () => void log.push("connected"),
        message: async () => {},
        stream: async () => {},
        disconnected: () => void log.push("disconnected"),
        refused() {},
      },
    );
  const link = createAgentLink({
    dial: async () => transport.connect(),
    clock,
    crypto: nodeCrypto,
    random: () => 0,
    logger: silentLogger,
    identity: { signer, boxPublicKey: nodeCrypto.createExchangeKeyPair().publicKey },
    pin: { get: () => null, set: async () => {} },
    description: { agent_version: "1.0.0", hostname: "web-1", platform: "linux" },
    handlers: {
      accepted: () => void log.push("accepted"),
      statusChanged() {},
      async command() {
        log.push("command begins");
        await work.promise;
        log.push("command ends");
      },
      stream: async () => {},
      down() {},
    },
  });
  /** The server goes away and comes again. */
  const restart = async (): Promise<void> => {
    await transport.stop();
    await start();
    log.length = 0;
    await clock.advance(1);
    await waitFor(() => expect(log).toContain("connected"));
    await settleAll();
  };
  await start();
  link.start();
  await waitFor(() => expect(log).toContain("accepted"));
  await transport.send(nodeId, command);
  await waitFor(() => expect(log).toContain("command begins"));
  return { link, transport, log, work, restart };
}

test.each([1, 2, 3])(
  "a connection is not taken up before what an earlier one began has ended, after %i that were lost",
  async (lost) => {
    const { link, transport, log, work, restart } = await interrupted();
    for (let count = 0; count < lost; count += 1) {
      await restart();
      expect([log, link.status]).toEqual([["connected"], "offline"]);
    }
    work.resolve();
    await waitFor(() => expect(link.status).toBe("approved"));
    expect(log).toEqual(["connected", "command ends", "accepted"]);
    await link.stop();
    await transport.stop();
  },
);

test.each([
  ["is connected", async () => {}],
  ["has lost its connection", async (transport: MemoryTransport) => transport.stop()],
])("an agent that %s has stopped only when nothing that it began goes on", async (_when, lose) => {
  const { link, transport, log, work } = await interrupted();
  await lose(transport);
  const stopped = link.stop().then(() => log.push("stopped"));
  await settleAll();
  expect(log).not.toContain("stopped");
  work.resolve();
  await stopped;
  expect(log.slice(-2)).toEqual(["command ends", "stopped"]);
  await transport.stop();
});

/** Two servers of one key: the agent refuses the older one, and the older one does not take in who follows the newer. */
import { expect, it, onTestFinished } from "vitest";
import { nodeCrypto, silentLogger, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { createAgentLink } from "../../lib/agent/agent-link.ts";
import { FollowedEpoch } from "../../lib/agent/followed-epoch.ts";
import type { EpochMemory } from "../../lib/agent/link-connection.ts";
import { nodeIdOf } from "../../lib/crypto/encoding.ts";
import type { Ending } from "../../lib/transport/ending.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { FrameSocket } from "../../lib/transport/socket.ts";
import type { Epoch } from "../../lib/wire/epoch.ts";
import { settleAll } from "../support/deferred.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const id = "01b8dac6-40a0-702e-8d87-5a4bc0a7eb6f";
const far: Epoch = { number: 8_000_000_000_000_000, id };

/** A line of an agent, and how its connections ended. */
function startLink(given: {
  dial: () => FrameSocket;
  epochs: EpochMemory;
  keys?: Awaited<ReturnType<typeof connectScriptedAgent>>["keys"];
}) {
  const { dial, epochs, keys } = given;
  const { signing, box } = keys ?? {
    signing: nodeCrypto.createSigningKeyPair(),
    box: nodeCrypto.createExchangeKeyPair(),
  };
  const endings: Ending[] = [];
  const heard: string[] = [];
  const link = createAgentLink({
    dial: () => Promise.resolve(dial()),
    clock: new FakeClock(),
    crypto: nodeCrypto,
    random: () => 0.5,
    logger: silentLogger,
    identity: { signer: nodeCrypto.createSigner(signing.secretKey), boxPublicKey: box.publicKey },
    pin: { get: () => null, set: () => Promise.resolve() },
    epochs,
    description: { agent_version: "1.0.0", hostname: "web-1", platform: "linux" },
    handlers: {
      accepted: (status) => void heard.push(status),
      statusChanged: () => {},
      command: async ({ type }) => void heard.push(type),
      stream: () => Promise.resolve(),
      down: (ending) => void endings.push(ending),
    },
  });
  onTestFinished(() => link.stop());
  link.start();
  return { endings, heard, nodeId: nodeIdOf(signing.publicKey, nodeCrypto) };
}

const statusOf = async ({ orchestrator }: TestOrchestrator): Promise<unknown> => {
  const { status, checks } = await orchestrator.status.get(systemCaller);
  return [status, checks?.find(({ name }) => name === "restore")?.detail];
};

it("a server takes in nobody who follows a newer one; a stranger who says so is no news", async () => {
  await using test = await createTestOrchestrator();
  const epochs = { get: () => far, follow: () => {} };
  const dial = (): FrameSocket => test.transport.connect();
  const stranger = startLink({ dial, epochs });
  await settleAll();
  expect(stranger.endings).toMatchObject([{ code: "ORCHESTRATOR_SUPERSEDED" }]);
  const refusals = () => test.events.filter(({ event_type }) => event_type === "agent.refused");
  expect(refusals()).toMatchObject([{ metadata: { code: "ORCHESTRATOR_SUPERSEDED" } }]);
  expect(test.events.some(({ event_type }) => event_type === "agent.enrolled")).toBe(false);
  expect(await statusOf(test)).toEqual(["ok", undefined]);

  const known = await connectScriptedAgent(test);
  await test.orchestrator.agents.setStatus(systemCaller, { node_id: known.nodeId, status: "approved" });
  await known.link.stop();
  await settleAll();
  const member = startLink({ dial, epochs, keys: known.keys });
  await settleAll();
  expect([member.nodeId, member.heard]).toEqual([known.nodeId, []]);
  expect(refusals()).toHaveLength(2);
  expect(test.events.filter(({ event_type }) => event_type === "agent.connected")).toHaveLength(1);
  const { epoch } = await test.orchestrator.restores.get(systemCaller);
  expect(epoch?.number).not.toBe(far.number);
  expect(await statusOf(test)).toEqual([
    "degraded",
    `Superseded: agent ${known.nodeId} follows a newer server of epoch ${far.number}; this one is of epoch ${epoch?.number}.`,
  ]);
  const { superseded_by } = await test.orchestrator.restores.get(systemCaller);
  expect(superseded_by).toEqual({ number: far.number, node_id: known.nodeId });
});

it.each(["is rejected", "comes back and follows this server"])(
  "a server is not called superseded any more once the agent that said so %s",
  async (how) => {
    await using test = await createTestOrchestrator();
    const known = await connectScriptedAgent(test);
    const { nodeId: node_id, keys } = known;
    const { orchestrator } = test;
    await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
    await known.link.stop();
    await settleAll();
    const dial = (): FrameSocket => test.transport.connect();
    startLink({ dial, epochs: { get: () => far, follow: () => {} }, keys });
    await settleAll();
    expect(await statusOf(test)).toEqual(["degraded", expect.stringContaining("Superseded") as string]);
    if (how === "is rejected")
      await orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
    else startLink({ dial, epochs: { get: () => null, follow: () => {} }, keys });
    await settleAll();
    expect(await statusOf(test)).toEqual(["ok", undefined]);
  },
);

it("an agent obeys no server of an older epoch, also one that would take it in", async () => {
  const clock = new FakeClock();
  const signer = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
  let epoch: Epoch | null = { number: 7, id };
  const events: string[] = [];
  const transport = new MemoryTransport();
  onTestFinished(() => transport.stop());
  const orchestratorTime = (): string => new Date(clock.now()).toISOString();
  await transport.start(
    { clock, crypto: nodeCrypto, logger: silentLogger, signer, orchestratorTime, epoch: () => epoch },
    {
      admit: async () => ({ status: "approved" }),
      connected: async () => void events.push("connected"),
      message: async () => {},
      stream: async () => {},
      disconnected: (_, reason) => void events.push(reason),
      refused: () => {},
    },
  );
  const stateDir = temporaryFolder();
  const connect = async () => {
    const epochs = new FollowedEpoch({ stateDir, logger: silentLogger });
    const started = startLink({ dial: () => transport.connect(), epochs, keys });
    await settleAll();
    const { endings, heard, nodeId } = started;
    if (transport.isConnected(nodeId)) await transport.disconnect(nodeId, "enough");
    await settleAll();
    return { heard, code: endings[0]?.code };
  };
  const keys = { signing: nodeCrypto.createSigningKeyPair(), box: nodeCrypto.createExchangeKeyPair() };
  expect(await connect()).toEqual({ heard: ["approved"], code: null });
  epoch = { number: 6, id };
  expect(await connect()).toEqual({ heard: [], code: "ORCHESTRATOR_SUPERSEDED" });
  expect(events.at(-1)).toContain("ORCHESTRATOR_SUPERSEDED");
  epoch = { number: 8, id };
  expect(await connect()).toEqual({ heard: ["approved"], code: null });
  epoch = { number: 7, id };
  expect(await connect()).toEqual({ heard: [], code: "ORCHESTRATOR_SUPERSEDED" });
  // A server of an earlier version tells none.
  epoch = null;
  expect(await connect()).toEqual({ heard: ["approved"], code: null });
});

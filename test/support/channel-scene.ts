/** An orchestrator with channels that post to receivers on this machine. */
import { expect, vi } from "vitest";
import {
  nodeCrypto,
  systemCaller,
  toHex,
  type Channel,
  type Delivery,
  type OrchestratorOptions,
} from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { settle } from "./deferred.ts";
import { MemorySecretsKey } from "./secrets-key.ts";

/** Starts one whose channels may reach this machine. */
export function createNotifying(options: Partial<OrchestratorOptions> = {}): Promise<TestOrchestrator> {
  return createTestOrchestrator({
    secretsKey: new MemorySecretsKey(),
    channelNetworks: ["127.0.0.1"],
    ...options,
  });
}

type NewChannel = Parameters<TestOrchestrator["orchestrator"]["channels"]["create"]>[1];

/** Makes a webhook that posts to an address. */
export function webhook(
  { orchestrator }: TestOrchestrator,
  url: string,
  more: Partial<NewChannel> = {},
): Promise<Channel> {
  return orchestrator.channels.create(systemCaller, {
    name: "hook",
    type: "webhook",
    config: { url },
    ...more,
  });
}

/** Something that operators are notified of, each by itself. */
export async function addOperator(
  { orchestrator }: Pick<TestOrchestrator, "orchestrator">,
  username: string,
): Promise<string> {
  const { secretKey } = nodeCrypto.createSigningKeyPair();
  const public_key = toHex(nodeCrypto.createSigner(secretKey).publicKey);
  const added = { username, role: "Viewer", public_key } as const;
  const { operator_id } = await orchestrator.operators.add(systemCaller, added);
  return operator_id;
}

/** Lets time pass, a bit at a time, with what it sets off. */
export async function pass(
  { clock }: Pick<TestOrchestrator, "clock">,
  ms: number,
  stepMs = 1_000,
): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) {
    await clock.advance(Math.min(left, stepMs));
    for (let turn = 0; turn < 4; turn += 1) await settle();
  }
}

/** The messages of a channel, oldest first, once they stand as is wanted. */
export async function deliveriesOf(
  test: TestOrchestrator,
  id: string,
  wanted: Delivery["status"][],
): Promise<Delivery[]> {
  return vi.waitFor(
    async () => {
      await settle();
      const { items } = await test.orchestrator.channels.deliveries(systemCaller, { id, limit: 500 });
      const found = items.toReversed();
      expect(found.map(({ status }) => status)).toEqual(wanted);
      return found;
    },
    { timeout: 30_000, interval: 5 },
  );
}

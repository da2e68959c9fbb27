/** The times that people are told of what is to come are by the wall clock as it is set now, one row for each of them. */
import { describe, expect, test } from "vitest";
import { nodeCrypto, systemCaller, toHex } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { toUtf8 } from "../../lib/crypto/encoding.ts";
import { addOperator, createNotifying, pass, webhook } from "../support/channel-scene.ts";
import { settle } from "../support/deferred.ts";
import { startReceiver } from "../support/receiver.ts";
import { createScene } from "../support/rollout-scene.ts";

const [second, hour, day] = [1_000, 3_600_000, 86_400_000];

/** What is to come at a time that `told` reads. */
interface Awaited extends AsyncDisposable {
  clock: TestOrchestrator["clock"];
  told: () => Promise<string | undefined>;
}

const anonymous = { kind: "anonymous" } as const;

/** Somebody who may begin to sign in. */
async function stranger(): Promise<{
  test: TestOrchestrator;
  signer: ReturnType<typeof nodeCrypto.createSigner>;
}> {
  const [started, signer] = [
    await createTestOrchestrator(),
    nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey),
  ];
  const public_key = toHex(signer.publicKey);
  await started.orchestrator.operators.add(systemCaller, { username: "ada", role: "Viewer", public_key });
  return { test: started, signer };
}

const rows: [what: string, mostMs: number, wait: () => Promise<Awaited>][] = [
  [
    "a challenge is good until",
    60 * second,
    async () => {
      const { test: started, signer } = await stranger();
      const { access } = started.orchestrator;
      const public_key = toHex(signer.publicKey);
      return Object.assign(started, {
        told: async () => (await access.challenge(anonymous, { public_key })).expires_at,
      });
    },
  ],
  [
    "a session that begins ends",
    12 * hour,
    async () => {
      const { test: started, signer } = await stranger();
      const { access } = started.orchestrator;
      const public_key = toHex(signer.publicKey);
      return Object.assign(started, {
        async told() {
          const { challenge_id, message } = await access.challenge(anonymous, { public_key });
          const signature = toHex(signer.sign(toUtf8(message)));
          return (await access.verify(anonymous, { challenge_id, signature })).expires_at;
        },
      });
    },
  ],
  [
    "a session that goes on ends",
    12 * hour,
    async () => {
      const started = await createTestOrchestrator();
      const { caller } = await started.signIn("Viewer");
      return Object.assign(started, {
        told: async () => (await started.orchestrator.access.session(caller)).expires_at,
      });
    },
  ],
  [
    "the next batch of a rollout begins",
    300 * second,
    async () => {
      const scene = await createScene(2);
      const { rollouts } = scene.test.orchestrator;
      const rollout = { batch: 1, pause_seconds: 300 };
      const begun = await rollouts.apply(systemCaller, { name: "all", wait_seconds: 0, rollout });
      const { rollout_id } = begun;
      await settle();
      await scene.finish(scene.agents[0]);
      return Object.assign(scene, {
        told: async () => (await rollouts.get(systemCaller, { rollout_id, wait_seconds: 0 })).next_batch_at,
      });
    },
  ],
  [
    "a message of a channel is sent again",
    60 * second,
    async () => {
      const started = await createNotifying();
      const { url } = await startReceiver((response) => response.writeHead(503).end());
      const { id } = await webhook(started, url, { events: ["operator.*"] });
      await addOperator(started, "ada");
      await pass(started, 3_000);
      const read = async () =>
        (await started.orchestrator.channels.deliveries(systemCaller, { id })).items[0];
      await expect.poll(async () => (await read())?.attempts).toBe(1);
      return Object.assign(started, { told: async () => (await read())?.next_attempt_at });
    },
  ],
];

describe.each(rows)("when %s", (_what, mostMs, wait) => {
  test.each([day, -day, 400 * day])("is told by a clock that was set by %i ms", async (jumpMs) => {
    await using awaited = await wait();
    const { clock, told } = awaited;
    const leftMs = async (): Promise<number> => Date.parse((await told()) ?? "") - clock.now();
    const before = await leftMs();
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThanOrEqual(mostMs);
    clock.jump(jumpMs);
    expect(await leftMs()).toBe(before);
  });
});

/** What a long line of one agent costs: what is read for each operation in it does not grow with those before it. */
import { expect, it, vi } from "vitest";
import { systemCaller, type Operation } from "fleetwright";
import { settleAll } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { waitFor } from "../support/wait-for.ts";

const minuteMs = 60_000;

/** Counts what is read of the storage from now on. */
function countReads({ test }: Scene): () => number {
  const reads = (["get", "list"] as const).map((name) => vi.spyOn(test.storage, name));
  const before = reads.map(({ mock }) => mock.calls.length);
  return () => reads.reduce((sum, { mock }, at) => sum + mock.calls.length - before[at]!, 0);
}

async function queue({ test, agents }: Scene, count: number, of: object = {}): Promise<Operation[]> {
  const asked: Operation[] = [];
  for (let made = 0; made < count; made += 1) {
    const input = { node_id: agents[0]!.nodeId, modules: ["motd"], when_offline: "queue" as const };
    asked.push(
      await test.orchestrator.operations.apply(systemCaller, {
        ...input,
        wait_seconds: 0,
        expires_in_seconds: 3_600,
        ...of,
      }),
    );
    await settleAll();
  }
  return asked;
}

async function awayScene(): Promise<Scene> {
  const scene = await createScene(1, () => ({ role: "web" }), { driftIntervalSeconds: 0 });
  await scene.agents[0]!.agent.link.stop();
  await waitFor(() => expect(scene.test.transport.isConnected(scene.agents[0]!.nodeId)).toBe(false));
  await settleAll();
  return scene;
}

/** What is read for each of so many, in all. */
async function readsFor(
  count: number,
  part: (scene: Scene, count: number) => Promise<() => number>,
): Promise<number> {
  await using scene = await awayScene();
  const reads = await part(scene, count);
  return reads() / count;
}

const freeze = ({ test, clock }: Scene, minutes: number) =>
  test.orchestrator.maintenanceWindows.create(systemCaller, {
    reason: "the database moves",
    mode: "freeze",
    ends_at: new Date(clock.now() + minutes * minuteMs).toISOString(),
  });

const parts: [string, (scene: Scene, count: number) => Promise<() => number>][] = [
  [
    "is asked for while its agent is away",
    async (scene, count) => {
      const reads = countReads(scene);
      await queue(scene, count);
      return reads;
    },
  ],
  [
    "expires while its agent is away",
    async (scene, count) => {
      await queue(scene, count, { expires_in_seconds: 60 });
      const reads = countReads(scene);
      await scene.clock.advance(2 * minuteMs);
      await settleAll();
      const { items } = await scene.test.orchestrator.operations.list(systemCaller, { limit: 500 });
      expect(new Set(items.map(({ status }) => status))).toEqual(new Set(["failed"]));
      return reads;
    },
  ],
  [
    "ends because its agent is rejected",
    async (scene, count) => {
      await queue(scene, count);
      const reads = countReads(scene);
      const { nodeId: node_id } = scene.agents[0]!;
      await scene.test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
      await settleAll();
      const { items } = await scene.test.orchestrator.operations.list(systemCaller, { limit: 500 });
      expect(new Set(items.map(({ status }) => status))).toEqual(new Set(["cancelled"]));
      return reads;
    },
  ],
  [
    "is cancelled, as all others are at once",
    async (scene, count) => {
      const asked = await queue(scene, count);
      const reads = countReads(scene);
      const { operations } = scene.test.orchestrator;
      const ends = asked.map(({ operation_id }) => operations.cancel(systemCaller, { operation_id }));
      expect(new Set((await Promise.all(ends)).map(({ status }) => status))).toEqual(new Set(["cancelled"]));
      return reads;
    },
  ],
  [
    "is held by a window",
    async (scene, count) => {
      await queue(scene, count);
      await freeze(scene, 10);
      await settleAll();
      const reads = countReads(scene);
      const [member] = scene.agents;
      await using _ = await connectScriptedAgent(scene.test, member!.keys, scene.clock);
      await settleAll();
      const { tags } = scene.test.orchestrator.agents;
      for (let times = 0; times < count; times += 1) {
        await tags.replace(systemCaller, { node_id: member!.nodeId, tags: { times: String(times) } });
        await settleAll();
      }
      return reads;
    },
  ],
];

it.each(parts)(
  "as much is read for each operation that %s in a long line as in a short one",
  async (_what, part) => {
    const [short, long] = [await readsFor(10, part), await readsFor(80, part)];
    // Before: 26 and 131 where the agent was away, since each had all that waited looked at again.
    expect(long).toBeLessThan(short * 1.3);
    expect(short).toBeGreaterThan(1);
  },
  60_000,
);

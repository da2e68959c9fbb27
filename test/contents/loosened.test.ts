/**
 * Contents whose last reference goes, whoever takes it away.
 *
 * Symptom: what had been applied to a machine stayed on the disk for ever once its agent was removed, or once the last check against it
 * gave way to a newer one. Cause: these commits did not say that it became loose, and what is not loose nobody looks at again.
 */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import type { Json } from "../../lib/json.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import { settle } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

const hourMs = 3_600_000;

type Value = Record<string, Json | undefined>;

/** The contents that a document of each collection refers to, as their blobs are called. */
const references: Record<string, (value: Value) => (Json | undefined)[]> = {
  operations: ({ snapshot }) => [`snapshot-${String(snapshot)}`],
  agent_states: ({ baseline }) =>
    baseline === undefined ? [] : [`snapshot-${String((baseline as Value)["snapshot"])}`],
  module_revisions: ({ content_hash, view_hash }) => [
    `module-${String(content_hash)}`,
    ...(view_hash === undefined ? [] : [`module-${String(view_hash)}`]),
  ],
  rollouts: ({ targets }) => [`rollout-${String(targets)}`],
};

/** Notes every reference that a commit takes away, and those that it does not say to be loose. */
class WatchedStorage extends MemoryStorage {
  readonly gone = new Set<string>();
  readonly kept: string[] = [];

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const lost = (await Promise.all(writes.map((write) => this.#lostBy(write)))).flat();
    const result = await super.commit(writes, options);
    const loose = new Set(
      writes.flatMap((write) =>
        write.kind === "put" && write.collection === "loose_contents" ? write.key : [],
      ),
    );
    for (const [collection, content] of lost) {
      this.gone.add(collection);
      if (!loose.has(content)) this.kept.push(`${collection} ${content}`);
    }
    return result;
  }

  async #lostBy(write: Write): Promise<[collection: string, content: string][]> {
    if (write.kind !== "put" && write.kind !== "delete") return [];
    const { collection, key } = write;
    const contentsOf = references[collection];
    const before = contentsOf && (await this.get<Value>(collection, key));
    if (!before) return [];
    const after = new Set(write.kind === "put" ? contentsOf(write.value) : []);
    return contentsOf(before.value).flatMap((content) =>
      after.has(content) ? [] : [[collection, String(content)] as [string, string]],
    );
  }
}

async function pass({ clock }: Pick<Scene, "clock">, ms: number, stepMs = 5_000): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) {
    await clock.advance(Math.min(left, stepMs));
    for (let turn = 0; turn < 8; turn += 1) await settle();
  }
}

/** Lets everything become old that nobody needs. */
const age = (scene: Scene): Promise<void> => pass(scene, 72 * hourMs, hourMs / 2);

/** Uploads a module of one file, and applies it alone. */
async function applyAlone(scene: Scene, name: string): Promise<void> {
  const content = `name: ${name}\nresources:\n  - { type: file, path: /etc/${name}, content: hi }\n`;
  await scene.test.orchestrator.modules.upload(systemCaller, { content });
  const input = { node_id: scene.agents[0]!.nodeId, modules: [name], wait_seconds: 0 };
  await scene.test.orchestrator.operations.apply(systemCaller, input);
  await scene.finish(scene.agents[0]);
}

async function removeAgent({ test, agents }: Scene): Promise<void> {
  const { nodeId: node_id, agent } = agents[0]!;
  // It would come again, as a stranger.
  await agent.link.stop();
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await test.orchestrator.agents.remove(systemCaller, { node_id });
}

it("whatever takes the reference to a content away says in the same commit that it may be the last", async () => {
  const storage = new WatchedStorage();
  const options = { storage, driftIntervalSeconds: 600, operationRetentionDays: 1 };
  await using scene = await createScene(1, () => ({}), options);
  const { orchestrator } = scene.test;
  const { agent } = scene.agents[0]!;
  const answer = async (): Promise<void> => {
    const { operation_id } = await agent.next("check");
    agent.link.send(emptyResult(operation_id));
    await answer();
  };
  void answer();
  await applyAlone(scene, "web");
  await applyAlone(scene, "db");
  // Checks of one row, of which the newest is kept; the next is of another baseline.
  await pass(scene, hourMs / 2);
  await applyAlone(scene, "cache");
  await orchestrator.rollouts.plan(systemCaller, { name: "all", wait_seconds: 0 });
  agent.link.send(emptyResult((await agent.next("plan")).operation_id));
  await pass(scene, hourMs / 2);
  await removeAgent(scene);
  await age(scene);
  for (const name of ["web", "db", "cache"]) await orchestrator.modules.remove(systemCaller, { name });
  expect([...storage.gone].toSorted()).toEqual(Object.keys(references).toSorted());
  expect(storage.kept).toEqual([]);
});

/** One agent that nobody checks, whose operations are kept for a day. */
function sceneOn(data: MemoryData): Promise<Scene> {
  const storage = new MemoryStorage({ data });
  return createScene(1, () => ({}), { storage, driftIntervalSeconds: 0, operationRetentionDays: 1 });
}

it("what is referred to is there, also where nothing else refers to it", async () => {
  const data = new MemoryData();
  await using scene = await sceneOn(data);
  await applyAlone(scene, "web");
  await applyAlone(scene, "db");
  await age(scene);
  let found = 0;
  for (const [collection, contentsOf] of Object.entries(references))
    for (const { value } of (await scene.test.storage.list<Value>(collection, { limit: 100 })).items)
      for (const content of contentsOf(value)) {
        expect([...data.blobs.keys()]).toContain(content);
        found += 1;
      }
  expect(found).toBeGreaterThan(2);
  const check = scene.test.orchestrator.drift.check(systemCaller, { node_id: scene.agents[0]!.nodeId });
  const { agent } = scene.agents[0]!;
  agent.link.send(emptyResult((await agent.next("check")).operation_id));
  await check;
});

it("nothing of what was applied to a machine is left once its agent is removed and its operations are old", async () => {
  const data = new MemoryData();
  await using scene = await sceneOn(data);
  // Of both together only what is known of the machine tells.
  await applyAlone(scene, "web");
  await applyAlone(scene, "db");
  await scene.agents[0]!.agent.link.stop();
  // Long enough for its contents not to be new any more.
  await pass(scene, 6 * hourMs, hourMs);
  await removeAgent(scene);
  await age(scene);
  expect([...data.blobs.keys()].filter((name) => name.startsWith("snapshot-"))).toEqual([]);
});

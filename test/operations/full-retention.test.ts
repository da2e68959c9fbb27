/**
 * Old records on a disk that is full.
 *
 * Symptom: next to nothing was removed that would have made space, and the results of what was removed stayed in their log. Cause: the round
 * ended where the results of an old operation that stays, such as the newest apply of a machine, were to be written anew, before it had
 * come to the rest.
 */
import { expect, it } from "vitest";
import { OrchestratorError } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { resultsLog } from "../../lib/operations/documents.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { BlobWriter, CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import { OldOperations } from "../support/retention.ts";

/** Has no space but what is reserved for what makes some. */
class FullStorage extends MemoryStorage {
  isFull = false;

  override commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    return this.#hasSpace(options) ? super.commit(writes, options) : Promise.reject(full());
  }

  override appendBlob(...given: Parameters<MemoryStorage["appendBlob"]>): Promise<number> {
    return this.#hasSpace() ? super.appendBlob(...given) : Promise.reject(full());
  }

  override openBlob(...given: Parameters<MemoryStorage["openBlob"]>): Promise<BlobWriter> {
    return this.#hasSpace() ? super.openBlob(...given) : Promise.reject(full());
  }

  #hasSpace(options?: CommitOptions): boolean {
    return !this.isFull || options?.reserve === true;
  }
}

const full = (): OrchestratorError => new OrchestratorError("STORAGE_FULL");

interface Scene {
  old: OldOperations;
  storage: FullStorage;
  data: MemoryData;
}

async function opened(keep?: number): Promise<Scene> {
  const clock = new FakeClock();
  const data = new MemoryData();
  const storage = new FullStorage({ clock, data });
  const options = keep === undefined ? {} : { operationRetentionCount: keep };
  return { old: await OldOperations.open(storage, clock, options), storage, data };
}

/** Fills it with operations that nobody needs, and before each fifty one that stays: the newest apply of an agent. */
async function fill({ old }: Scene): Promise<string[]> {
  const kept: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    const node_id = `a-${n}`;
    const id = await old.add({ kind: "apply", node_id }, `kept ${n}`);
    const last_apply = { operation_id: id, snapshot: "x", at: "x", resource_count: 1 };
    await old.put("agent_states", node_id, { node_id, last_apply });
    for (let more = 0; more < 50; more += 1) await old.add({ kind: "apply", node_id: "b" }, `old ${more}`);
    kept.push(id);
  }
  return kept;
}

async function hourLater({ old }: Scene, round: () => AsyncGenerator<void>): Promise<unknown> {
  await old.clock.advance(3_600_000);
  try {
    for await (const _ of round());
    return null;
  } catch (error) {
    return error;
  }
}

const rounds: [what: string, keep: number | undefined, round: (scene: Scene) => AsyncGenerator<void>][] = [
  ["old", undefined, ({ old }) => old.retention.round()],
  ["too many", 6, ({ old }) => old.retention.surplusRound()],
];

it.each(rounds)("operations that are %s go though nothing else can be written", async (_, keep, round) => {
  const scene = await opened(keep);
  const kept = await fill(scene);
  await scene.old.age(100);
  scene.storage.isFull = true;
  // What stays can't be written anew: that is told, after all else was done.
  const failed = await hourLater(scene, () => round(scene));
  expect(await scene.old.ids()).toEqual(kept);
  if (keep === undefined) expect(failed).toMatchObject({ code: "STORAGE_FULL" });
  scene.storage.isFull = false;
  for (let more = 0; more < 3; more += 1)
    expect(await hourLater(scene, () => scene.old.retention.round())).toBeNull();
  expect(await scene.old.ids()).toEqual(kept);
  const { entries } = await scene.old.storage.readLog(resultsLog, { limit: 1_000 });
  expect(entries.map(({ value }) => value["operation_id"])).toEqual(kept);
  expect([...scene.data.blobs.keys()].filter((name) => name.startsWith("snapshot-"))).toHaveLength(6);
});

it("what was told of operations that are gone goes too, up to the first that stays", async () => {
  const scene = await opened();
  const { old, storage, data } = scene;
  for (let n = 0; n < 50; n += 1) await old.add({ kind: "apply", node_id: "b" }, `old ${n}`);
  const kept = await fill(scene);
  await old.age(100);
  storage.isFull = true;
  for (let more = 0; more < 3; more += 1) await hourLater(scene, () => old.retention.round());
  const { entries } = await storage.readLog(resultsLog, { limit: 1 });
  expect(entries[0]!.value["operation_id"]).toBe(kept[0]);
  expect([...data.blobs.keys()].filter((name) => name.startsWith("snapshot-"))).toHaveLength(6);
});

it("rollouts that are old go with what belongs to them though nothing else can be written", async () => {
  const scene = await opened();
  const { old, storage } = scene;
  const put = (collection: string, key: string, value: object) =>
    old.put(collection, key, value as Record<string, never>);
  const finished_at = old.context.timestamp();
  const id = old.context.ids.next();
  const rollout = { rollout_id: id, assignment: "all", kind: "apply", status: "failed", matched: 1 };
  await put("rollouts", id, { ...rollout, targets: "x", created_at: finished_at, finished_at });
  for (let n = 0; n < 150; n += 1) {
    const error = { code: "AGENT_OFFLINE", message: "" };
    await put("rollout_refusals", `${id}/${n}`, { rollout_id: id, node_id: `${n}`, error });
    await put("rollout_groups", `${id}/${n}`, { rollout_id: id, changes: `${n}`, agents: 1 });
  }
  await old.age(100);
  storage.isFull = true;
  expect(await hourLater(scene, () => old.rollouts.retention.round())).toBeNull();
  for (const collection of ["rollouts", "rollout_refusals", "rollout_groups"])
    expect((await storage.list(collection)).items, collection).toEqual([]);
});

it("what stays is written anew by the first round that finds space again", async () => {
  const scene = await opened(6);
  const kept = await fill(scene);
  // One that stays more than are to be kept, so that each round goes over all of them.
  const id = await scene.old.add({ kind: "apply", node_id: "z" }, "late");
  const last_apply = { operation_id: id, snapshot: "x", at: "x", resource_count: 1 };
  await scene.old.put("agent_states", "z", { node_id: "z", last_apply });
  await scene.old.age(100);
  const renewed = async (): Promise<number> => {
    const found = await Promise.all(
      kept.map((key) => scene.storage.get<{ results?: { renewed_at?: number } }>("operations", key)),
    );
    return found.filter((each) => each?.value.results?.renewed_at !== undefined).length;
  };
  scene.storage.isFull = true;
  expect(await hourLater(scene, () => scene.old.retention.surplusRound())).toMatchObject({
    code: "STORAGE_FULL",
  });
  expect(await renewed()).toBe(0);
  scene.storage.isFull = false;
  expect(await hourLater(scene, () => scene.old.retention.surplusRound())).toBeNull();
  expect(await renewed()).toBe(kept.length);
});

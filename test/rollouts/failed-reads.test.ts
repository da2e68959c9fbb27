/** A storage that can't be read, or written, for a moment in the middle of a rollout. */
import { describe, expect, it } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type {
  CommitOptions,
  CommitResult,
  DocumentPage,
  ListQuery,
  StoredDocument,
  Write,
} from "../../lib/storage/storage.ts";
import { settle } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

const unavailable = (): OrchestratorError => new OrchestratorError("UNAVAILABLE");

class FailingStorage extends MemoryStorage {
  /** Collection that can't be read the next time, and why. */
  unread: string | null = null;
  failure = unavailable();
  /** Whether the operations of a rollout come one by one, the second can't be read, and none can be written. */
  breaksOff = false;
  breaks = 0;
  /** Whether operations can't be written. */
  isUnwritable = false;

  override async get<T>(collection: string, key: string): Promise<StoredDocument<T> | null> {
    if (collection === this.unread) throw this.#failed();
    return super.get<T>(collection, key);
  }

  override async list<T>(collection: string, query: ListQuery = {}): Promise<DocumentPage<T>> {
    if (collection === this.unread) throw this.#failed();
    if (!this.breaksOff || query.index !== "by_rollout") return super.list<T>(collection, query);
    if (query.after === undefined) return super.list<T>(collection, { ...query, limit: 1 });
    // What was begun has failed by then.
    await settle();
    this.breaks += 1;
    throw unavailable();
  }

  override commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const isOperation = writes.some((write) => write.kind === "put" && write.collection === "operations");
    const isRefused = isOperation && (this.breaksOff || this.isUnwritable);
    return isRefused ? Promise.reject(unavailable()) : super.commit(writes, options);
  }

  #failed(): OrchestratorError {
    this.unread = null;
    return this.failure;
  }
}

async function open(count: number): Promise<{ scene: Scene; storage: FailingStorage }> {
  const clock = new FakeClock();
  const storage = new FailingStorage({ clock });
  const secretsKey = new Uint8Array(32).fill(1);
  const scene = await createScene(count, () => ({}), { clock, storage, secretsKey });
  return { scene: { ...scene, clock }, storage };
}

async function pass({ clock }: Scene, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await clock.advance(1_000);
    for (let turn = 0; turn < 4; turn += 1) await settle();
  }
}

it.each([
  ["assignments", "UNAVAILABLE"],
  ["secrets", "UNAVAILABLE"],
  ["secrets", "STORAGE_FAILED"],
] as const)("a rollout goes on after %s could not be read once: %s", async (collection, code) => {
  const { scene, storage } = await open(1);
  storage.failure = new OrchestratorError(code);
  await using _ = scene;
  const { orchestrator } = scene.test;
  await orchestrator.secrets.create(systemCaller, { name: "db", value: "hush-hush" });
  const content =
    'name: motd\nresources:\n  - { type: file, path: /etc/motd, content: "{{ secrets.db }}" }\n';
  await orchestrator.modules.upload(systemCaller, { content });
  const run = orchestrator.rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
  // Once it was stored: what is read of its agents is read by the rollout itself.
  const ended = orchestrator.listen(["rollout.started"], () => (storage.unread = collection));
  await run;
  ended();
  expect(storage.unread).toBeNull();
  expect(scene.asked()).toEqual([]);
  await pass(scene, 3);
  expect(scene.asked()).toEqual(["a1"]);
});

it("a rollout that applies a plan leaves nobody out because agents could not be read once", async () => {
  const { scene, storage } = await open(2);
  await using _ = scene;
  const { orchestrator } = scene.test;
  const planned = await orchestrator.rollouts.plan(systemCaller, { name: "all", wait_seconds: 0 });
  for (const { agent } of scene.agents) agent.link.send(emptyResult((await agent.next("plan")).operation_id));
  await pass(scene, 1);
  const ended = orchestrator.listen(["rollout.started"], () => (storage.unread = "agents"));
  const plan_rollout_id = planned.rollout_id;
  await orchestrator.rollouts.apply(systemCaller, { name: "all", plan_rollout_id, wait_seconds: 0 });
  ended();
  await pass(scene, 3);
  expect(storage.unread).toBeNull();
  expect(scene.asked()).toEqual(["a1", "a2"]);
});

describe("where operations can be neither read nor written for a moment", () => {
  const strategy = { when_offline: "queue" } as const;

  it("a rollout that is cancelled ends all the same", async () => {
    const { scene, storage } = await open(3);
    await using _ = scene;
    const { rollouts } = scene.test.orchestrator;
    for (const { agent } of scene.agents) await agent.link.stop();
    await settle();
    const { rollout_id } = await rollouts.apply(systemCaller, {
      name: "all",
      rollout: strategy,
      wait_seconds: 0,
    });
    storage.breaksOff = true;
    await rollouts.cancel(systemCaller, { rollout_id });
    await pass(scene, 3);
    expect(storage.breaks).toBeGreaterThan(0);
    storage.breaksOff = false;
    await pass(scene, 10);
    expect(await rollouts.get(systemCaller, { rollout_id })).toMatchObject({ status: "cancelled" });
  });

  it("so does a command", async () => {
    const { scene, storage } = await open(3);
    await using _ = scene;
    const { runs } = scene.test.orchestrator;
    for (const { agent } of scene.agents) await agent.link.stop();
    await settle();
    const { rollout_id } = await runs.start(systemCaller, {
      selector: "*",
      command: ["true"],
      rollout: strategy,
      wait_seconds: 0,
    });
    storage.breaksOff = true;
    await expect(runs.cancel(systemCaller, { rollout_id })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    storage.breaksOff = false;
    await pass(scene, 10);
    expect(await runs.get(systemCaller, { rollout_id })).toMatchObject({ status: "running" });
    // Once it was written: what follows is done by the rollout itself.
    const { breaks } = storage;
    const ended = scene.test.orchestrator.listen(["rollout.cancelled"], () => (storage.breaksOff = true));
    expect(await runs.cancel(systemCaller, { rollout_id })).toMatchObject({ status: "stopping" });
    ended();
    await pass(scene, 3);
    expect(storage.breaks).toBeGreaterThan(breaks);
    storage.breaksOff = false;
    await pass(scene, 10);
    expect(await runs.get(systemCaller, { rollout_id })).toMatchObject({ status: "cancelled" });
  });

  it("a command that is cancelled is ended where it runs", async () => {
    const { scene, storage } = await open(2);
    await using _ = scene;
    const { runs } = scene.test.orchestrator;
    const run = { selector: "*", command: ["true"], wait_seconds: 0 };
    const { rollout_id } = await runs.start(systemCaller, run);
    const ids: string[] = [];
    for (const { agent } of scene.agents) {
      const { id, operation_id } = await agent.next("run");
      agent.link.send({ type: "reply", id });
      ids.push(operation_id);
    }
    await pass(scene, 1);
    storage.isUnwritable = true;
    await runs.cancel(systemCaller, { rollout_id });
    await pass(scene, 2);
    storage.isUnwritable = false;
    await pass(scene, 10);
    for (const [at, { agent }] of scene.agents.entries()) {
      const wishes = agent.commands.filter(({ type }) => type === "cancel");
      expect(wishes[0]).toMatchObject({ operation_id: ids[at] });
      agent.link.send({ ...emptyResult(ids[at]!), status: "cancelled" });
    }
    await pass(scene, 1);
    expect(await runs.get(systemCaller, { rollout_id })).toMatchObject({ status: "cancelled" });
  });
});

/**
 * A storage that several processes share tells each of them what the others wrote a little later: by then the process that drives a rollout may
 * have written how it ended. What it hears of an agent in that moment is part of what the rollout came to.
 */
import { expect, onTestFinished, test } from "vitest";
import { OrchestratorError, systemCaller, type Storage } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitListener, CommittedChange, Write } from "../../lib/storage/storage.ts";
import { settle, settleAll } from "../support/deferred.ts";
import { motd } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";
import { handlesOf } from "../support/two-processes.ts";

/** The handle of one process: while `isLate` it hears of what others commit no sooner than a commit of its own resolves. */
class LateHandle {
  readonly storage: Storage;
  isLate = false;
  /** Called before each commit; what it throws the commit is rejected with. */
  before: (writes: readonly Write[]) => Promise<void> = () => Promise.resolve();
  readonly #kept: (readonly CommittedChange[])[] = [];
  #listener: CommitListener = () => {};

  constructor(storage: Storage) {
    const own: Pick<Storage, "commit" | "follow"> = {
      commit: async (writes, options) => {
        await this.before(writes);
        const committed = await storage.commit(writes, options);
        for (const changes of this.#kept.splice(0)) this.#listener(changes);
        return committed;
      },
      follow: (listener) => {
        this.#listener = listener;
        return storage.follow((changes) => {
          if (this.isLate) this.#kept.push(changes);
          else listener(changes);
        });
      },
    };
    this.storage = new Proxy(storage, {
      get(target, name) {
        if (name === "commit" || name === "follow") return own[name];
        return Reflect.get(target, name, target) as unknown;
      },
    });
  }
}

const endsRollout = (write: Write): boolean =>
  write.kind === "put" && write.collection === "rollouts" && "finished_at" in (write.value as object);

/** A rollout of one process over an agent of each, of which that of the other process was not heard of until the end is written. */
async function scene() {
  const clock = new FakeClock();
  const handle = handlesOf(new MemoryStorage({ clock }));
  const late = new LateHandle(handle());
  const first = await createTestOrchestrator({ clock, storage: late.storage, driftIntervalSeconds: 0 });
  const second = await createTestOrchestrator({ clock, storage: handle(), driftIntervalSeconds: 0 });
  const far = await connectScriptedAgent(second, undefined, clock);
  const near = await connectScriptedAgent(first, undefined, clock);
  onTestFinished(async () => {
    for (const { link } of [near, far]) await link.stop();
    await second.orchestrator.stop();
    await first.orchestrator.stop();
  });
  const { agents, modules, assignments, rollouts } = first.orchestrator;
  for (const [name, { nodeId: node_id }] of Object.entries({ a1: far, a2: near }))
    await agents.setStatus(systemCaller, { node_id, status: "approved", name });
  await modules.upload(systemCaller, { content: motd });
  await assignments.create(systemCaller, { name: "all", selector: "*", modules: ["motd"] });
  const rollout = { batch: 1, max_failures: "100%" };
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", rollout, wait_seconds: 0 });
  const ofFar = await far.next("apply");
  await far.link.stop();
  const read = async ({ orchestrator } = first) =>
    (await orchestrator.rollouts.get(systemCaller, { rollout_id })).counts;
  while ((await read()).unknown === 0) {
    await clock.advance(30_000);
    await settle();
  }
  const ofNear = await near.next("apply");
  return { clock, late, first, second, near, far, ofNear, ofFar, read, rollout_id };
}

test.each([
  ["as soon as it can be", false],
  ["also where that could not be written at once", true],
])("what is heard while a rollout ends is counted, %s", async (_, fails) => {
  const { clock, late, first, second, near, far, ofNear, ofFar, read, rollout_id } = await scene();
  let ends = 0;
  late.before = async (writes) => {
    if (!writes.some(endsRollout)) return;
    ends += 1;
    // The first is refused, since the rollout was changed; the second ends it; the third corrects what it says.
    if (ends === 1) {
      late.isLate = true;
      const back = await connectScriptedAgent(second, far.keys, clock);
      onTestFinished(() => back.link.stop());
      back.link.send(emptyResult(ofFar.operation_id));
      await back.next("ack");
    }
    if (ends === 3 && fails) throw new OrchestratorError("UNAVAILABLE");
  };
  near.link.send(emptyResult(ofNear.operation_id));
  await near.next("ack");
  await settleAll();
  late.isLate = false;
  await clock.advance(2_000);
  await settleAll();
  expect(ends).toBe(fails ? 4 : 3);
  for (const each of [first, second]) expect(await read(each)).toMatchObject({ succeeded: 2, unknown: 0 });
  const { rollouts } = second.orchestrator;
  const { items } = await rollouts.changes(systemCaller, { rollout_id });
  expect(items.map(({ count, outcome }) => [count, outcome])).toEqual([[2, "unchanged"]]);
  // And it stands in nobody's way any more.
  await first.orchestrator.assignments.update(systemCaller, { name: "all", schedule: { cron: "* * * * *" } });
  await clock.advance(61_000);
  await settleAll();
  const begun = await rollouts.list(systemCaller, { assignment: "all" });
  expect(begun.items.map(({ trigger }) => trigger)).toEqual(["scheduled", "manual"]);
});

/** Thresholds and alarms of one orchestrator of two processes. */
import { expect, test } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import type { TestAgent } from "../../lib/testing/test-agent.ts";
import { settleAll } from "../support/deferred.ts";
import { approved, connect, leave } from "../support/leaving-agents.ts";
import { alarmEvents, alarmsNow, sendSample } from "../support/sent-samples.ts";
import { twoProcesses, type TwoProcesses } from "../support/two-processes.ts";
import { waitFor } from "../support/wait-for.ts";

const busy = { name: "Busy", metric: "load.1", condition: "above", value: 4 } as const;

/** Counts the commits that end alarms, and those of them that come to nothing. */
class CountingStorage extends MemoryStorage {
  readonly ends: number[] = [];
  lost = 0;
  isFull = false;
  /** Whether somebody else is in the way of the next of them. */
  isRaced = false;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const ended = writes.filter((write) => write.kind === "delete" && write.collection === "alarms").length;
    if (ended === 0) return super.commit(writes, options);
    if (this.isFull) throw new OrchestratorError("STORAGE_FULL");
    if (this.isRaced) {
      this.isRaced = false;
      throw new OrchestratorError("REVISION_CONFLICT");
    }
    // As long as a commit takes to come to a database and back.
    await settleAll();
    try {
      const result = await super.commit(writes, options);
      this.ends.push(ended);
      return result;
    } catch (error) {
      this.lost += 1;
      throw error;
    }
  }
}

/** Has five machines of two processes have fifty alarms each of one threshold. */
async function alarmed(both: TwoProcesses): Promise<{ id: string; nodeIds: string[] }> {
  const { id } = await both.first.orchestrator.thresholds.create(systemCaller, {
    ...busy,
    metric: "mount.used_bytes",
    for_seconds: 0,
  });
  const nodeIds: string[] = [];
  for (let number = 1; number <= 5; number += 1) {
    const agent = await approved(number % 2 === 0 ? both.second : both.first, number);
    nodeIds.push(agent.nodeId);
    await both.clock.advance(15_000);
    const names = Array.from({ length: 50 }, (_, at) => `mount.used_bytes{path=/${at}}`);
    await sendSample(both, agent, Object.fromEntries(names.map((name) => [name, 5])));
  }
  expect(await alarmsNow(both.first)).toHaveLength(250);
  return { id, nodeIds };
}

/** Lets processes look whether there is something to do. */
async function pass({ clock }: TwoProcesses, seconds: number): Promise<void> {
  for (let each = 0; each < seconds; each += 1) {
    await clock.advance(1_000);
    await settleAll();
  }
}

/** Sends samples of a load, 15 s apart, through one of the processes. */
async function send(
  { clock }: Pick<TwoProcesses, "clock">,
  agent: TestAgent,
  loads: readonly number[],
): Promise<void> {
  for (const load of loads) {
    await clock.advance(15_000);
    await sendSample({ clock }, agent, { "load.1": load });
  }
}

test("durations go on where an agent goes to another process and comes back", async () => {
  await using both = await twoProcesses();
  const { first, second } = both;
  await first.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: 180 });
  const agent = await approved(first, 1);
  await send(both, agent, [5, 5, 5, 5]);
  await leave(first, agent);
  const elsewhere = await connect(second, 1);
  await send(both, elsewhere, [5, 5, 5, 5, 5]);
  await leave(second, elsewhere);
  const back = await connect(first, 1);
  await send(both, back, [5, 5, 5]);
  expect(alarmEvents(first)).toEqual([]);
  await send(both, back, [5]);
  expect(alarmEvents(first).map(({ event_type }) => event_type)).toEqual(["metric.thresholdCrossed"]);
  const [alarm] = await alarmsNow(second);
  expect(Date.parse(alarm!.crossed_at) - Date.parse(alarm!.since)).toBe(180_000);
});

test("a dip that another process saw counts, too", async () => {
  await using both = await twoProcesses();
  const { first, second } = both;
  await first.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: 90 });
  const agent = await approved(first, 1);
  await send(both, agent, [5, 5, 5]);
  await leave(first, agent);
  const elsewhere = await connect(second, 1);
  await send(both, elsewhere, [1]);
  await leave(second, elsewhere);
  const back = await connect(first, 1);
  // Between what the first process heard there is no gap: only the stored samples know of the dip.
  await send(both, back, [5, 5, 5, 5, 5, 5]);
  expect(alarmEvents(first)).toEqual([]);
  await send(both, back, [5]);
  expect(alarmEvents(first)).toHaveLength(1);
});

test("an alarm recovers by what both processes heard", async () => {
  await using both = await twoProcesses();
  const { first, second } = both;
  await first.orchestrator.thresholds.create(systemCaller, {
    ...busy,
    for_seconds: 0,
    recovery_seconds: 105,
  });
  const agent = await approved(first, 1);
  await send(both, agent, [5, 1, 1]);
  await leave(first, agent);
  const elsewhere = await connect(second, 1);
  await send(both, elsewhere, [1, 1, 1, 1]);
  await leave(second, elsewhere);
  const back = await connect(first, 1);
  await send(both, back, [1]);
  expect(await alarmsNow(first)).toHaveLength(1);
  await send(both, back, [1]);
  expect(await alarmsNow(first)).toEqual([]);
});

test("what a sample after a new connection does not have goes on as it was", async () => {
  await using both = await twoProcesses();
  const { first, clock } = both;
  await first.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: 60 });
  const agent = await approved(first, 1);
  await send(both, agent, [5, 5, 5]);
  await leave(first, agent);
  const back = await connect(first, 1);
  await clock.advance(15_000);
  await sendSample({ clock }, back, { "load.5": 1 });
  await send(both, back, [5]);
  expect(alarmEvents(first)).toHaveLength(1);
});

test("one process ends the alarms of a threshold that is removed, a hundred in each commit", async () => {
  let storage!: CountingStorage;
  await using both = await twoProcesses((clock) => (storage = new CountingStorage({ clock })));
  const { id } = await alarmed(both);
  await both.second.orchestrator.thresholds.remove(systemCaller, { id });
  await waitFor(async () => expect(await alarmsNow(both.first)).toEqual([]));
  await pass(both, 30);
  expect(storage).toMatchObject({ ends: [100, 100, 50], lost: 0 });
  expect([...both.first.loggedErrors, ...both.second.loggedErrors]).toEqual([]);
});

test("another process ends them where the one whose work it was is gone", async () => {
  let storage!: CountingStorage;
  await using both = await twoProcesses((clock) => (storage = new CountingStorage({ clock })));
  const { id } = await alarmed(both);
  // What flaps has given the work to one of them: it is let go of first.
  await pass(both, 1_900);
  await waitFor(async () => expect(await storage.lease("alarms", 15_000)).not.toBeNull());
  await both.first.orchestrator.thresholds.remove(systemCaller, { id });
  await pass(both, 10);
  expect(await alarmsNow(both.first)).toHaveLength(250);
  await pass(both, 15);
  expect(await alarmsNow(both.first)).toEqual([]);
  expect(storage).toMatchObject({ ends: [100, 100, 50], lost: 0 });
});

test("a full disk puts it off, and what stands by then stays", async () => {
  let storage!: CountingStorage;
  await using both = await twoProcesses((clock) => (storage = new CountingStorage({ clock })));
  const { id, nodeIds } = await alarmed(both);
  const { thresholds, agents } = both.first.orchestrator;
  storage.isFull = true;
  await thresholds.update(systemCaller, { id, enabled: false });
  await pass(both, 5);
  expect(await alarmsNow(both.first)).toHaveLength(250);
  await agents.tags.set(systemCaller, { node_id: nodeIds[0]!, key: "role", value: "db" });
  await thresholds.update(systemCaller, { id, enabled: true, selector: "role=db" });
  storage.isFull = false;
  await pass(both, 70);
  const left = await alarmsNow(both.second);
  expect(left.map(({ node_id }) => node_id)).toEqual(Array(50).fill(nodeIds[0]));
});

test("a hundred that another process was in the way of end with the next try", async () => {
  let storage!: CountingStorage;
  await using both = await twoProcesses((clock) => (storage = new CountingStorage({ clock })));
  const { id } = await alarmed(both);
  storage.isRaced = true;
  await both.second.orchestrator.thresholds.remove(systemCaller, { id });
  await pass(both, 5);
  expect(await alarmsNow(both.first)).toEqual([]);
  expect(storage.ends).toEqual([100, 50, 100]);
});

test("a hundred that stay are not the end of those that go", async () => {
  let storage!: CountingStorage;
  await using both = await twoProcesses((clock) => (storage = new CountingStorage({ clock })));
  const { id, nodeIds } = await alarmed(both);
  const { thresholds, agents } = both.first.orchestrator;
  const staying = nodeIds.slice(0, 2);
  for (const node_id of staying) await agents.tags.set(systemCaller, { node_id, key: "role", value: "db" });
  await thresholds.update(systemCaller, { id, selector: "role=db" });
  await pass(both, 5);
  const left = new Set((await alarmsNow(both.second)).map(({ node_id }) => node_id));
  expect([...left].toSorted()).toEqual(staying.toSorted());
  expect(storage.ends).toEqual([100, 50]);
});

/** How many alarms an agent has, which of them are told of in sum, and that none is left of one that went while the server was down. */
import { expect, it, onTestFinished, test } from "vitest";
import { MemoryData, MemoryStorage, OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import type { TestAgent } from "../../lib/testing/test-agent.ts";
import { settleAll } from "../support/deferred.ts";
import { approved } from "../support/leaving-agents.ts";
import { alarmEvents, alarmsNow, sendSample } from "../support/sent-samples.ts";
import { waitFor } from "../support/wait-for.ts";

const limit = { condition: "above", value: 4, for_seconds: 0, recovery_seconds: 0 } as const;

async function send(
  product: Pick<TestOrchestrator, "clock">,
  agent: TestAgent,
  values: Readonly<Record<string, number>>,
): Promise<void> {
  await product.clock.advance(15_000);
  await sendSample(product, agent, values);
}

test("an agent has fifty alarms at most, sample after sample, and one that ends makes room for one", async () => {
  await using product = await createTestOrchestrator();
  await product.orchestrator.thresholds.create(systemCaller, {
    ...limit,
    name: "Disk",
    metric: "mount.used_bytes",
  });
  const agent = await approved(product, 1);
  const names = Array.from({ length: 60 }, (_, at) => `mount.used_bytes{path=/${at}}`);
  const beyond = Object.fromEntries(names.map((name) => [name, 5]));
  for (let sample = 0; sample < 6; sample += 1) await send(product, agent, beyond);
  const before = (await alarmsNow(product)).map(({ series }) => series);
  expect(before).toHaveLength(50);
  const recovered = Object.fromEntries(before.slice(0, 3).map((name) => [name, 1]));
  for (let sample = 0; sample < 2; sample += 1) await send(product, agent, { ...beyond, ...recovered });
  const after = (await alarmsNow(product)).map(({ series }) => series);
  expect(after).toHaveLength(50);
  expect(after.filter((name) => !before.includes(name))).toHaveLength(3);
});

it.each([0, 2])(
  "what flapped of one threshold is told with its own alarms alone, beside %i of another",
  async (others) => {
    await using product = await createTestOrchestrator();
    const { thresholds } = product.orchestrator;
    await thresholds.create(systemCaller, { ...limit, name: "Disk", metric: "mount.used_bytes" });
    const { id } = await thresholds.create(systemCaller, { ...limit, name: "Busy", metric: "load.1" });
    const agent = await approved(product, 1);
    const disks = Object.fromEntries(
      Array.from({ length: others }, (_, at) => [`mount.used_bytes{path=/${at}}`, 5]),
    );
    for (let sample = 0; sample < 31; sample += 1)
      await send(product, agent, { ...disks, "load.1": sample % 2 === 0 ? 5 : 1 });
    expect(await alarmsNow(product)).toHaveLength(others + 1);
    for (let minute = 0; minute < 32; minute += 1) {
      await product.clock.advance(60_000);
      await settleAll();
    }
    const settled = alarmEvents(product).filter(({ event_type }) => event_type === "metric.alarmsSettled");
    expect(settled).toMatchObject([
      {
        severity: "warning",
        summary: expect.stringMatching(/^Busy: alarms of machine-1 .* 1 is there now$/) as string,
        metadata: { threshold_id: id, alarms: 1 },
      },
    ]);
  },
);

/** Keeps alarms from being ended, as a process that is killed does. */
class KeepingStorage extends MemoryStorage {
  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const [gone] = writes.filter((write) => write.kind === "delete" && write.collection === "alarms");
    if (gone) throw new OrchestratorError("UNAVAILABLE");
    return super.commit(writes, options);
  }
}

it.each([true, false])(
  "an alarm of an agent that was rejected right before the server was killed is gone after the next start, where its threshold stands: %s",
  async (stands) => {
    const [data, clock] = [new MemoryData(), new FakeClock()];
    const begin = async (storage: MemoryStorage): Promise<TestOrchestrator> => ({
      ...(await createTestOrchestrator({ clock, storage })),
      clock,
    });
    const before = await begin(new KeepingStorage({ data, clock }));
    const { thresholds, agents } = before.orchestrator;
    const { id } = await thresholds.create(systemCaller, { ...limit, name: "Busy", metric: "load.1" });
    const [agent, other] = [await approved(before, 1), await approved(before, 2)];
    for (const each of [agent, other]) await send(before, each, { "load.1": 5 });
    await agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "rejected" });
    if (!stands) await thresholds.remove(systemCaller, { id });
    await settleAll();
    expect(await alarmsNow(before)).toHaveLength(2);
    await before.orchestrator.stop();

    const after = await begin(new MemoryStorage({ data, clock }));
    onTestFinished(() => after.orchestrator.stop());
    const left = stands ? [other.nodeId] : [];
    await waitFor(async () => expect((await alarmsNow(after)).map(({ node_id }) => node_id)).toEqual(left));
    // Of one that is none of the fleet any more nothing is told.
    expect(alarmEvents(after).map(({ target }) => target?.id)).toEqual(stands ? [] : [other.nodeId]);
  },
);

/** What is told of alarms in words, what counts in percent over a restart, and how long a series may be away over a new connection. */
import { describe, expect, it, onTestFinished, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { TestAgent } from "../../lib/testing/test-agent.ts";
import { approved, connect, leave } from "../support/leaving-agents.ts";
import { alarmEvents, alarmsNow, sendSample } from "../support/sent-samples.ts";

const atOnce = { for_seconds: 0, recovery_seconds: 0 } as const;

async function begin(): Promise<TestOrchestrator> {
  const product = await createTestOrchestrator();
  onTestFinished(() => product[Symbol.asyncDispose]());
  return product;
}

async function send(
  product: Pick<TestOrchestrator, "clock">,
  agent: TestAgent,
  samples: readonly Readonly<Record<string, number>>[],
): Promise<void> {
  for (const values of samples) {
    await product.clock.advance(15_000);
    await sendSample(product, agent, values);
  }
}

const summaries = (product: TestOrchestrator): (string | undefined)[] =>
  alarmEvents(product).map(({ summary }) => summary);

describe("a number that is told", () => {
  it.each([
    [7, "7"],
    [7.254, "7.25"],
    [0.012345, "0.0123"],
    [99.94, "99.9"],
    [99.96, "100"],
    [100, "100"],
    [100.4, "100"],
    [100.6, "101"],
    [1234.56, "1235"],
    [123_456_789, "123456789"],
    [123_456_789.4, "123456789"],
    [1e15, "1000000000000000"],
    [1e21, "1e+21"],
  ])("%d has three digits that count, or is a whole number: %s", async (value, text) => {
    const product = await begin();
    await product.orchestrator.thresholds.create(systemCaller, {
      ...atOnce,
      name: "Busy",
      metric: "load.1",
      condition: "above",
      value: 0,
    });
    const agent = await approved(product, 1);
    await send(product, agent, [{ "load.1": value }, { "load.1": -value }]);
    expect(summaries(product)).toEqual([
      `Busy: load.1 of machine-1 is ${text}, above 0`,
      `Busy: load.1 of machine-1 is back at -${text}`,
    ]);
  });

  it("is told with what it is a share of, and with the limit", async () => {
    const product = await begin();
    const percent_of = "mount.total_bytes";
    const limit = { name: "Full", metric: "mount.used_bytes", percent_of, condition: "below" } as const;
    await product.orchestrator.thresholds.create(systemCaller, { ...limit, ...atOnce, value: 33.333 });
    const agent = await approved(product, 1);
    await send(product, agent, [{ "mount.used_bytes{path=/}": 1, "mount.total_bytes{path=/}": 8 }]);
    expect(summaries(product)).toEqual([
      "Full: mount.used_bytes{path=/} of machine-1 is 12.5 % of mount.total_bytes, below 33.3",
    ]);
  });

  it.each([
    ["is removed", "is not watched any more", "withdrawn"],
    ["has nothing to look at for five minutes", "is not measured any more", "not_measured"],
  ])("is none where the threshold %s", async (what, words, reason) => {
    const product = await begin();
    const { thresholds } = product.orchestrator;
    const limit = { name: "Busy", metric: "load.1", condition: "above", value: 4 } as const;
    const { id } = await thresholds.create(systemCaller, { ...limit, ...atOnce });
    const agent = await approved(product, 1);
    await send(product, agent, [{ "load.1": 5 }]);
    if (what === "is removed") await thresholds.remove(systemCaller, { id });
    await send(product, agent, Array<Record<string, number>>(21).fill({ "load.5": 1 }));
    expect(alarmEvents(product).at(-1)).toMatchObject({
      summary: `Busy: load.1 of machine-1 ${words}`,
      metadata: { value: null, reason, threshold_id: id },
    });
    expect(await alarmsNow(product)).toEqual([]);
  });
});

describe("a duration of what counts in percent goes on over a restart", () => {
  const [used, total] = ["mount.used_bytes{path=/}", "mount.total_bytes{path=/}"];
  const whole = { [used]: 5, [total]: 10 };
  const half = { [used]: 5 };

  it.each([
    ["where the whole was always there", [whole, whole, whole, whole, whole], 60],
    ["where the whole was away for no longer than a gap", [whole, half, half, half, whole], 60],
    ["and not where the whole was away for longer", [whole, half, half, half, half, whole], 0],
    ["and not where it was below", [whole, whole, { ...whole, [used]: 1 }, whole, whole], 15],
  ])("%s", async (_, samples, seconds) => {
    const [clock, data] = [new FakeClock(), new MemoryData()];
    const start = async (): Promise<TestOrchestrator> => ({
      ...(await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) })),
      clock,
    });
    const first = await start();
    const limit = { name: "Full", metric: "mount.used_bytes", condition: "above", value: 40 } as const;
    await first.orchestrator.thresholds.create(systemCaller, {
      ...limit,
      percent_of: "mount.total_bytes",
      for_seconds: 300,
    });
    await send({ clock }, await approved(first, 1), samples);
    const last = clock.now();
    await first.orchestrator.stop();
    const again = await start();
    onTestFinished(() => again.orchestrator.stop());
    const agent = await connect(again, 1);
    for (let each = 0; each < 30 && (await alarmsNow(again)).length === 0; each += 1)
      await send({ clock }, agent, [whole]);
    expect(await alarmsNow(again)).toMatchObject([
      { value: 50, since: new Date(last - seconds * 1_000).toISOString() },
    ]);
  });
});

test("an alarm of what is not measured any more ends after five minutes, over new connections, too", async () => {
  const product = await begin();
  const limit = { name: "Busy", metric: "load.1", condition: "above", value: 4 } as const;
  await product.orchestrator.thresholds.create(systemCaller, { ...limit, ...atOnce });
  let agent = await approved(product, 1);
  await send(product, agent, [{ "load.1": 5 }]);
  // The twenty-first sample without it is five minutes after the first.
  for (let without = 1; without <= 21; without += 1) {
    expect(await alarmsNow(product), `before sample ${without}`).toHaveLength(1);
    if (without % 8 === 0) {
      await leave(product, agent);
      agent = await connect(product, 1);
    }
    await send(product, agent, [{ "load.5": 1 }]);
  }
  expect(await alarmsNow(product)).toEqual([]);
});

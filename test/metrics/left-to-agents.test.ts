/** Samples that stay with their agent, those that are acknowledged, and what is told of those that never count. */
import { expect, it, vi } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { TestAgent } from "../../lib/testing/test-agent.ts";
import { settleAll } from "../support/deferred.ts";
import { approved, leave } from "../support/leaving-agents.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

/** Says samples of so many seconds after the start, and lets what was taken become durable. */
function sayFrom(test: TestOrchestrator, agent: TestAgent) {
  const start = test.clock.now();
  const send = vi.spyOn(test.transport, "send");
  return {
    say: async (seconds: readonly number[], gap = false): Promise<void> => {
      const samples = seconds.map((second) => ({
        at: new Date(start + second * 1_000).toISOString(),
        values: { "load.1": second },
      }));
      agent.say({ type: "metrics", samples, gap });
      for (let turn = 0; turn < 5; turn += 1) await settleAll();
    },
    /** Up to which seconds the agent was told that it need keep nothing. */
    acknowledged: (): number[] =>
      send.mock.calls.flatMap(([, message]) =>
        message.type === "metrics.ack" ? [(Date.parse(message.through) - start) / 1_000] : [],
      ),
    stored: async (): Promise<unknown[]> => {
      const query = { from: 0, to: Number.MAX_SAFE_INTEGER };
      const series = await test.storage.series!.query(agent.nodeId, { ...query, series: ["load.1"] });
      return (series["load.1"] ?? []).map(({ mean }) => mean);
    },
  };
}

it("nothing is taken while the storage of samples reports a fault", async () => {
  await using test = await createTestOrchestrator();
  const { say, acknowledged, stored } = sayFrom(test, await approved(test, 1));
  let fault: string | null = "the disk is full";
  test.storage.series!.fault = () => fault;
  await say([-30, -15, 0]);
  await test.clock.advance(2_000);
  expect([await stored(), acknowledged()]).toEqual([[], []]);
  fault = null;
  // What was not read is not known: only what is said again is behind nothing that is missing.
  for (let time = 0; time < 2; time += 1) await say([-30, -15, 0]);
  await test.clock.advance(2_000);
  expect([await stored(), acknowledged()]).toEqual([[-30, -15, 0], [0]]);
});

it.each([
  ["all of them", [-45, -30, -15, 0], [-45, -30, -15, 0]],
  ["those that it has not dropped meanwhile", [-15, 0], [-15, 0]],
  ["the last of them alone", [0], [0]],
])("an agent whose samples were left to it has %s taken when it says them again", async (_, again, taken) => {
  await using test = await createTestOrchestrator();
  const { say, acknowledged, stored } = sayFrom(test, await approved(test, 1));
  vi.spyOn(test.storage.series!, "append").mockRejectedValueOnce(new OrchestratorError("STORAGE_FULL"));
  await say([-45]);
  await say([-30, -15, 0]);
  await test.clock.advance(2_000);
  expect([await stored(), acknowledged()]).toEqual([[], []]);
  await say(again, true);
  await test.clock.advance(2_000);
  expect([await stored(), acknowledged()]).toEqual([taken, [0]]);
});

it("what comes again within a second takes nothing back of what is acknowledged", async () => {
  await using test = await createTestOrchestrator();
  const { say, acknowledged } = sayFrom(test, await approved(test, 1));
  await say([-45, -30, -15, 0]);
  await say([-45, -30]);
  await test.clock.advance(2_000);
  expect(acknowledged()).toEqual([0]);
});

it.each([
  ["samples that are an hour ahead", { leftOut: [3_600], samples: 1, values: 0 }],
  ["samples of two days ago", { leftOut: [-172_800], samples: 1, values: 0 }],
  ["samples too close to each other", { leftOut: [0, 1], samples: 1, values: 0 }],
])("%s are left out, and that is told once a minute", async (_, { leftOut, ...told }) => {
  const logger = new RecordingLogger();
  await using test = await createTestOrchestrator({ logger });
  const agent = await approved(test, 1);
  const { say } = sayFrom(test, agent);
  const lines = () => logger.lines.filter(({ message }) => message === "Metrics of an agent were left out.");
  for (let time = 0; time < 3; time += 1) await say(leftOut.map((second) => second + time * 20));
  expect(lines().map(({ fields }) => fields)).toEqual([{ node_id: agent.nodeId, ...told }]);
  // It stays as long as it says something.
  for (let time = 0; time < 3; time += 1) {
    await test.clock.advance(20_500);
    const collected_at = new Date(test.clock.now()).toISOString();
    agent.say({ type: "attributes", attributes: {}, collected_at });
    await settleAll();
  }
  await say(leftOut.map((second) => second + 100));
  expect(lines()).toHaveLength(2);
});

it.each([-3_600_000, 0, 3_600_000])(
  "an acknowledgement counts for five minutes, also where the clock was set by %i ms",
  async (jumpMs) => {
    await using test = await createTestOrchestrator();
    const agent = await approved(test, 1);
    const { say } = sayFrom(test, agent);
    const fleetMs = test.clock.now();
    test.clock.jump(jumpMs);
    await say([-15, 0]);
    await test.clock.advance(1_000);
    await settleAll();
    const sent = vi.mocked(test.transport.send).mock.calls.map(([, message]) => message);
    const [ack] = sent.filter(({ type }) => type === "metrics.ack");
    expect(Date.parse(ack!.not_after) - fleetMs).toBe(301_000);
  },
);

it("an agent that comes again brings no more new names because others left meanwhile", async () => {
  await using test = await createTestOrchestrator();
  const first = await connectScriptedAgent(test);
  const { keys, nodeId: node_id } = first;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const bring = async (agent: typeof first, part: number): Promise<void> => {
    const values = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`n_${part}.v_${n}`, n]));
    const at = new Date(test.clock.now()).toISOString();
    agent.link.send({ type: "metrics", samples: [{ at, values }], gap: false });
    for (let turn = 0; turn < 5; turn += 1) await settleAll();
    await test.clock.advance(15_000);
  };
  for (let part = 0; part < 5; part += 1) await bring(first, part);
  await first.link.stop();
  await settleAll();
  await leave(test, await approved(test, 2), await approved(test, 3));
  await using again = await connectScriptedAgent(test, keys);
  await settleAll();
  await bring(again, 5);
  const query = { from: 0, to: Number.MAX_SAFE_INTEGER };
  expect(Object.keys(await test.storage.series!.query(node_id, query))).toHaveLength(1_000);
});

it("an agent brings no more new names because its samples could not be stored", async () => {
  await using test = await createTestOrchestrator();
  const agent = await approved(test, 1);
  const bring = async (part: number): Promise<void> => {
    const values = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`n_${part}.v_${n}`, n]));
    const at = new Date(test.clock.now()).toISOString();
    agent.say({ type: "metrics", samples: [{ at, values }], gap: false });
    for (let turn = 0; turn < 5; turn += 1) await settleAll();
  };
  const append = vi.spyOn(test.storage.series!, "append");
  for (let part = 0; part < 7; part += 1) {
    append.mockRejectedValueOnce(new OrchestratorError("STORAGE_FULL"));
    for (let time = 0; time < 2; time += 1) await bring(part);
    await test.clock.advance(15_000);
  }
  const query = { from: 0, to: Number.MAX_SAFE_INTEGER };
  expect(Object.keys(await test.storage.series!.query(agent.nodeId, query))).toHaveLength(1_000);
});

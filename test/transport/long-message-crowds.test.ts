/** Long messages of many agents that are whole in one moment: each waits for its turn, and next to nothing is kept of those that wait. */
import { expect, test } from "vitest";
import { nodeCrypto, systemClock } from "fleetwright";
import { nextTurn } from "../../lib/internal/next-turn.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { LongReads } from "../../lib/transport/long-reads.ts";
import { startTransport } from "../support/started-transport.ts";

const agents = 12;

test("results of many agents that come in one turn are read one after the other, each whole", async () => {
  const heard: string[] = [];
  const transport = await startTransport(
    systemClock,
    {
      message: async (nodeId, message) => {
        if (message.type === "result") heard.push(`${nodeId} ${message.results.length}`);
      },
    },
    { agentTimeSavedMs: 600_000 },
  );
  const at = "2030-01-01T00:00:00Z";
  const result = {
    resource_id: "a",
    module: "m",
    type: "file",
    identity: "i",
    outcome: "changed" as const,
    action: "update" as const,
    changes: [{ property: "content", before: "x".repeat(200), after: "y" }],
    caused_by: [],
    attempts: 1,
    duration_ms: 1,
  };
  const talkers = await Promise.all(
    Array.from({ length: agents }, async (_, n) => {
      const seed = new Uint8Array(32).fill(n + 1);
      const agent = new TestAgent(transport.connect(), { crypto: nodeCrypto, seed });
      await agent.join();
      const frames = agent.session.encode({
        type: "result",
        operation_id: "01890000-0000-7000-8000-000000000002",
        status: "succeeded",
        results: Array(2_000 + n).fill(result) as (typeof result)[],
        output: [],
        started_at: at,
        finished_at: at,
        duration_ms: 1,
      });
      return { agent, frames };
    }),
  );
  for (const { agent, frames } of talkers)
    for (const frame of frames.slice(0, -1)) {
      agent.socket.send(frame);
      await nextTurn();
    }
  for (const { agent, frames } of talkers) agent.socket.send(frames.at(-1)!);
  expect(heard).toEqual([]);
  while (heard.length < agents) await nextTurn();
  expect(heard).toEqual(talkers.map(({ agent }, n) => `${agent.nodeId} ${2_000 + n}`));
  await transport.stop();
});

test("one message is begun when the one before it has ended, also where that failed", async () => {
  const reads = new LongReads();
  const told: string[] = [];
  function* reading(name: string, fails = false): Generator<void, string> {
    for (let slice = 1; slice <= 3; slice += 1) {
      told.push(`${name}${slice}`);
      yield;
    }
    if (fails) throw new Error(name);
    return name;
  }
  const all = await Promise.allSettled([
    reads.do(reading("a")),
    reads.do(reading("b", true)),
    reads.do(reading("c")),
  ]);
  expect(all.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(told).toEqual(["a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3"]);
});

/** What an approved agent sends that is hostile: each ends its connection, or is left out, and what is kept of the agent stays readable. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { nodeCrypto, systemCaller, toHex } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { TestAgent } from "../../lib/testing/test-agent.ts";

type Message = Parameters<TestAgent["say"]>[0];
type Values = Record<string, number>;

const day = 86_400_000;
/** Nothing of it is kept. */
const nothing = "nothing";
/** The connection is ended as one that breaks the protocol. */
const ended = "ended";

let orchestra: TestOrchestrator;
let agent: TestAgent;

beforeAll(async () => {
  orchestra = await createTestOrchestrator();
});
afterAll(() => orchestra.orchestrator.stop());
beforeEach(async () => {
  const seed = nodeCrypto.randomBytes(32);
  agent = new TestAgent(orchestra.transport.connect(), { crypto: nodeCrypto, seed });
  await agent.join();
  await orchestra.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
});

const samplesAt = (offsetMs: number, values: Values): Message => ({
  type: "metrics",
  samples: [{ at: new Date(orchestra.clock.now() + offsetMs).toISOString(), values }],
  gap: false,
});
const numbered = (count: number, name: (n: number) => string): Values =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [name(n), n]));

/** Of a message: "ended", "nothing", or how many series of the newest sample are kept. */
async function outcomeOf(message: Message): Promise<string | number> {
  const { nodeId: node_id } = agent;
  agent.say(message);
  // Read behind the other, so that what came of that is known.
  const mark = { type: "attributes", attributes: { mark: toHex(nodeCrypto.randomBytes(8)) } } as const;
  agent.say({ ...mark, collected_at: new Date(orchestra.clock.now()).toISOString() });
  const closed = agent.heard.next("closed").then(({ code }) => code);
  const read = (async () => {
    for (;;) {
      const { attributes } = await orchestra.orchestrator.agents.attributes(systemCaller, { node_id });
      if (attributes["mark"] === mark.attributes.mark) return null;
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  const code = await Promise.race([closed, read]);
  if (code !== null) return code === 1002 ? ended : `closed ${code}`;
  const latest = orchestra.orchestrator.metrics.latest(systemCaller, { node_id });
  const kept = await latest.catch((error: { code: string }) => error.code);
  return typeof kept === "string" ? nothing : Object.keys(kept.values).length;
}

describe("samples of an approved agent", () => {
  test.each<[what: string, make: () => Message, outcome: string | number]>([
    ["that is as it should be", () => samplesAt(0, { "load.1": 1 }), 1],
    ["with NaN", () => samplesAt(0, { "load.1": NaN }), ended],
    ["with an infinity", () => samplesAt(0, { "load.1": -Infinity }), ended],
    [
      "with the largest and the least double",
      () => samplesAt(0, { "a.b": Number.MAX_VALUE, "a.c": 5e-324 }),
      2,
    ],
    ["with minus zero", () => samplesAt(0, { "a.b": -0 }), 1],
    [
      "with 10,000 series",
      () =>
        samplesAt(
          0,
          numbered(10_000, (n) => `a.b${n}`),
        ),
      200,
    ],
    ["with a name of 10 kB", () => samplesAt(0, { [`a.${"b".repeat(10_000)}`]: 1 }), ended],
    ["with a name that acts on a terminal", () => samplesAt(0, { "a.b{c=\u001b[2J}": 1, "a.b": 1 }), 1],
    ["with a name that ends a line", () => samplesAt(0, { "a.b{c=\n}": 1, "a.b": 1 }), 1],
    [
      "with names of what objects have",
      () => samplesAt(0, { constructor: 1, toString: 2, hasOwnProperty: 3 }),
      3,
    ],
    ["of next year", () => samplesAt(365 * day, { "load.1": 1 }), nothing],
    ["of the year 9999", () => samplesAt(7_900 * 365 * day, { "load.1": 1 }), nothing],
    ["of last year", () => samplesAt(-365 * day, { "load.1": 1 }), nothing],
    [
      "of a time that is none",
      () => ({ type: "metrics", samples: [{ at: "2030-13-45T99:99:99Z", values: {} }], gap: false }),
      ended,
    ],
    [
      "a thousand times at once",
      () => ({
        type: "metrics",
        samples: Array.from({ length: 1_000 }, () => ({
          at: new Date(orchestra.clock.now()).toISOString(),
          values: { "load.1": 1 },
        })),
        gap: false,
      }),
      1,
    ],
  ])("%s", async (_what, make, outcome) => {
    expect(await outcomeOf(make())).toBe(outcome);
  });
});

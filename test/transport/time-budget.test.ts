import { expect, test } from "vitest";
import { toTimestamp } from "../../lib/clock.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { EventLog } from "../../lib/testing/event-log.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import { TimeBudgets } from "../../lib/transport/time-budget.ts";

/** A clock that a test moves while nothing else runs, as work does with a real one. */
class WorkingClock extends FakeClock {
  workedMs = 0;
  override monotonic(): number {
    return super.monotonic() + this.workedMs;
  }
}

async function scene() {
  const clock = new WorkingClock();
  const transport = new MemoryTransport({ agentTimePerSecondMs: 100, agentTimeSavedMs: 1000 });
  const heard = new EventLog<{ kind: "refused"; code: string } | { kind: "message" }>();
  const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(9));
  await transport.start(
    {
      clock,
      crypto: nodeCrypto,
      logger: silentLogger,
      signer,
      orchestratorTime: () => toTimestamp(clock.now()),
    },
    {
      admit: async () => ({ status: "approved" }),
      connected: async () => {},
      message: async (_, message) => {
        if (message.type === "log") clock.workedMs += Number(message.message);
        heard.add({ kind: "message" });
      },
      stream: async () => {},
      disconnected: () => {},
      refused: ({ code }) => heard.add({ kind: "refused", code }),
    },
  );
  const connect = (number: number): TestAgent =>
    new TestAgent(transport.connect(), { crypto: nodeCrypto, seed: new Uint8Array(32).fill(number) });
  const say = async (agent: TestAgent, costMs: number): Promise<void> => {
    agent.say({ type: "log", level: "info", message: String(costMs) });
    await heard.next("message");
  };
  return { clock, transport, heard, connect, say };
}

test("an agent that takes more time than it may is ended, refused for a while, and taken back", async () => {
  const { clock, transport, heard, connect, say } = await scene();
  const [greedy, modest] = [connect(1), connect(2)];
  await greedy.join();
  await modest.join();
  // One message is handled whatever it costs: else one that is dear would come again and again.
  await say(greedy, 5000);
  await say(greedy, 500);
  greedy.say({ type: "log", level: "info", message: "0" });
  expect(await greedy.heard.next("closed")).toMatchObject({ code: 1013, reason: "RATE_LIMITED" });
  expect((await heard.next("refused")).code).toBe("RATE_LIMITED");
  await say(modest, 1);
  const again = connect(1);
  again.greet();
  expect((await again.heard.next("refused")).code).toBe("RATE_LIMITED");
  await clock.advance(20_000);
  expect(await connect(1).join()).toBe("approved");
  expect(transport.isConnected(modest.nodeId)).toBe(true);
  await transport.stop();
});

test.each<[string, (agent: TestAgent) => Uint8Array]>([
  ["a ping", (agent) => agent.session.encodePing()],
  [
    "a piece of a stream",
    (agent) => agent.session.encodeStream("01890000-0000-7000-8000-000000000001", new Uint8Array(10)),
  ],
])("an agent without any time left is ended by %s as well", async (_what, frameOf) => {
  const { transport, connect, say } = await scene();
  const greedy = connect(1);
  await greedy.join();
  await say(greedy, 5000);
  await say(greedy, 500);
  greedy.socket.send(frameOf(greedy));
  expect(await greedy.heard.next("closed")).toMatchObject({ code: 1013, reason: "RATE_LIMITED" });
  await transport.stop();
});

test("the book of budgets keeps no agent that has all its time again", async () => {
  const clock = new WorkingClock();
  const budgets = new TimeBudgets(clock, { perSecondMs: 100, savedMs: 1000 });
  const work = (ms: number) => () => (clock.workedMs += ms);
  expect(budgets.spend("a", () => 7)).toBe(7);
  expect(() =>
    budgets.spend("a", () => {
      throw new Error("x");
    }),
  ).toThrow("x");
  for (let count = 0; count < 3; count += 1) budgets.spend("a", work(600));
  expect(budgets.isSpent("a")).toBe(true);
  expect(budgets.isSpent("b")).toBe(false);
  clock.workedMs += 60_000;
  expect(budgets.isSpent("a")).toBe(false);
  for (let index = 0; index < 5000; index += 1) {
    clock.workedMs += 10_000;
    budgets.spend(`agent-${index}`, work(1));
  }
  expect(budgets.size).toBeLessThanOrEqual(1001);
});

test.each([0, 1500])("what an agent has taken is not forgotten for %i others that come and go", (others) => {
  const clock = new WorkingClock();
  const budgets = new TimeBudgets(clock, { perSecondMs: 100, savedMs: 1000 });
  const work = (ms: number) => () => (clock.workedMs += ms);
  // A tenth of what a piece takes has come back by its end.
  for (const ms of [100, 400, 390]) budgets.spend("greedy", work(ms));
  for (let index = 0; index < others; index += 1) budgets.spend(`agent-${index}`, () => {});
  expect(budgets.isSpent("greedy")).toBe(false);
  budgets.spend("greedy", work(190));
  expect(budgets.isSpent("greedy")).toBe(false);
  budgets.spend("greedy", work(190));
  expect(budgets.isSpent("greedy")).toBe(true);
});

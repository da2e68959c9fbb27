import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAgent, type AgentProgram } from "../../../lib/agent/agent.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import type { AgentMessage, MessageOf } from "../../../lib/wire/messages.ts";
import { settleAll } from "../../support/deferred.ts";
import { RecordedMachine } from "../../support/recorded-machine.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { TestOrchestrator } from "../../support/test-orchestrator.ts";

type Metrics = MessageOf<AgentMessage, "metrics">;

/** An agent of a recorded machine with an orchestrator that acknowledges what it is told to. */
async function begin({ stateDir = temporaryFolder(), agentClockAheadMs = 0, isReachable = true } = {}) {
  const clock = new FakeClock();
  const orchestrator = new TestOrchestrator(clock);
  await orchestrator.start();
  const machine = new RecordedMachine();
  const logger = new RecordingLogger();
  const network = { isReachable, aheadMs: agentClockAheadMs };
  const start = async (): Promise<AgentProgram> => {
    const agent = createAgent({
      stateDir,
      host: new MemoryHost(),
      measured: machine,
      logger,
      clock: {
        now: () => clock.now() + network.aheadMs,
        monotonic: () => clock.monotonic(),
        setTimer: (delayMs, callback) => clock.setTimer(delayMs, callback),
      },
      dial: async () => {
        if (!network.isReachable) throw new Error("unreachable");
        return orchestrator.transport.connect();
      },
    });
    onTestFinished(() => agent.stop());
    await agent.start();
    return agent;
  };
  const agent = await start();
  if (isReachable) await orchestrator.happened("connected");
  const messages = (): Metrics[] => orchestrator.inbox.filter((each) => each.type === "metrics");
  const acknowledge = (through: string): Promise<string> =>
    orchestrator.send(agent.nodeId, { type: "metrics.ack", through });
  const cut = async (): Promise<void> => {
    network.isReachable = false;
    await orchestrator.transport.disconnect(agent.nodeId ?? "", "cut");
    orchestrator.inbox.length = 0;
  };
  const comeBack = async (): Promise<void> => {
    const times = orchestrator.events.filter((event) => event === "connected").length;
    network.isReachable = true;
    await clock.advance(60_000);
    await orchestrator.happened("connected", times + 1);
  };
  return {
    clock,
    orchestrator,
    machine,
    logger,
    network,
    agent,
    start,
    stateDir,
    messages,
    acknowledge,
    cut,
    comeBack,
  };
}

const timesOf = (messages: readonly Metrics[]): string[] =>
  messages.flatMap(({ samples }) => samples.map(({ at }) => at));
const kept = (stateDir: string): string[] => readdirSync(join(stateDir, "metrics"));

test("a sample comes two seconds after the start, then every 15 seconds, at once", async () => {
  const { clock, messages } = await begin();
  await clock.advance(2_000);
  expect(timesOf(messages())).toEqual(["2030-01-01T00:00:02.000Z"]);
  expect(messages()[0]?.samples[0]?.values).toMatchObject({ "load.1": 0.52, "process.count": 3 });
  await clock.advance(30_000);
  expect(timesOf(messages()).slice(1)).toEqual(["2030-01-01T00:00:17.000Z", "2030-01-01T00:00:32.000Z"]);
  expect(messages().every(({ samples, gap }) => samples.length === 1 && !gap)).toBe(true);
});

test("samples come as often as the orchestrator says", async () => {
  const { clock, messages, orchestrator, agent } = await begin();
  await clock.advance(2_000);
  const id = await orchestrator.send(agent.nodeId, { type: "config", metrics_interval_seconds: 2 });
  expect(await orchestrator.take("reply")).toEqual({ type: "reply", id });
  await clock.advance(10_000);
  expect(messages()).toHaveLength(6);
});

test("samples come as often as is usual again with an orchestrator that says nothing", async () => {
  const { clock, messages, acknowledge, orchestrator, agent, cut, comeBack } = await begin();
  await clock.advance(2_000);
  const id = await orchestrator.send(agent.nodeId, { type: "config", metrics_interval_seconds: 60 });
  expect(await orchestrator.take("reply")).toEqual({ type: "reply", id });
  await clock.advance(180_000);
  expect(messages().length).toBeLessThan(6);
  await cut();
  await comeBack();
  const since = new Date(clock.now() + 60_000).toISOString();
  for (let count = 0; count < 20; count += 1) {
    await clock.advance(15_000);
    await acknowledge(timesOf(messages()).at(-1) ?? since);
    await settleAll();
  }
  const times = [...new Set(timesOf(messages()))].filter((at) => at > since).map((at) => Date.parse(at));
  expect(times.length).toBeGreaterThan(10);
  expect(new Set(times.slice(1).map((at, place) => at - times[place]!))).toEqual(new Set([15_000]));
});

test("what was acknowledged is forgotten, without an answer, and nothing is sent twice", async () => {
  const { clock, messages, acknowledge, stateDir, orchestrator } = await begin();
  await clock.advance(62_000);
  expect(messages()).toHaveLength(5);
  expect(kept(stateDir)).toHaveLength(1);
  await acknowledge("2030-01-01T00:01:02.000Z");
  await expect.poll(() => kept(stateDir)).toEqual([]);
  await clock.advance(150_000);
  expect(new Set(timesOf(messages())).size).toBe(timesOf(messages()).length);
  expect(orchestrator.inbox.filter(({ type }) => type === "reply")).toEqual([]);
});

test("what was taken without a connection comes with the next one, results first, in pieces, each after the one before is acknowledged", async () => {
  const { clock, messages, acknowledge, cut, comeBack, orchestrator } = await begin();
  await clock.advance(2_000);
  await acknowledge("2030-01-01T00:00:02.000Z");
  await cut();
  await clock.advance(2 * 3_600_000);
  await comeBack();
  await orchestrator.take("attributes");
  expect(messages()).toHaveLength(1);
  const [first] = messages();
  expect(first?.samples[0]?.at).toBe("2030-01-01T00:00:17.000Z");
  expect(first?.samples.length).toBe(200);
  await acknowledge(first?.samples.at(-1)?.at ?? "");
  await expect.poll(() => messages().length).toBe(2);
  expect(messages()[1]?.samples[0]?.at).toBe("2030-01-01T00:50:17.000Z");
  await acknowledge(messages()[1]?.samples.at(-1)?.at ?? "");
  await expect.poll(() => messages().length).toBe(3);
  // All there is was sent: new ones follow at once.
  await clock.advance(30_000);
  expect(
    messages()
      .slice(3)
      .map(({ samples }) => samples.length),
  ).toEqual([1, 1]);
  const times = timesOf(messages());
  expect(times.length).toBeGreaterThan(480);
  const apart = times.slice(1).map((time, index) => Date.parse(time) - Date.parse(times[index] ?? ""));
  expect(apart.filter((ms) => Math.abs(ms - 15_000) > 1)).toEqual([]);
});

test("samples of a process that was killed come from the one after it", async () => {
  const { clock, messages, cut, agent, start, network, orchestrator } = await begin();
  await clock.advance(32_000);
  await cut();
  await clock.advance(60_000);
  await agent.stop();
  network.isReachable = true;
  await start();
  await orchestrator.happened("connected", 2);
  await expect.poll(() => messages().length).toBe(1);
  expect(timesOf(messages())).toEqual(
    ["00:02", "00:17", "00:32", "00:47", "01:02", "01:17", "01:32"].map(
      (time) => `2030-01-01T00:${time}.000Z`,
    ),
  );
});

test("an orchestrator that acknowledges nothing is sent one sample now and then", async () => {
  const { clock, messages } = await begin();
  await clock.advance(182_000);
  const before = messages().length;
  expect(before).toBe(13);
  await clock.advance(4 * 3_600_000);
  const after = messages().slice(before);
  expect(after.length).toBeLessThan(10);
  expect(new Set(timesOf(after))).toEqual(new Set(["2030-01-01T00:00:02.000Z"]));
});

test("an orchestrator that answers after all gets everything, once more where it must", async () => {
  const { clock, messages, acknowledge } = await begin();
  await clock.advance(3_600_000);
  const before = messages().length;
  await acknowledge("2030-01-01T00:00:02.000Z");
  await expect.poll(() => messages().length).toBe(before + 1);
  const batch = messages().at(-1)?.samples ?? [];
  expect(batch[0]?.at).toBe("2030-01-01T00:00:17.000Z");
  expect(batch).toHaveLength(200);
});

test.each(["answers after all", "comes back"])(
  "an orchestrator that %s is asked again after three minutes, as ever, however long it was silent before",
  async (what) => {
    const { clock, messages, acknowledge, cut, comeBack, orchestrator } = await begin();
    // By now the waits are an hour each.
    await clock.advance(5 * 3_600_000);
    if (what === "comes back") {
      await cut();
      await comeBack();
    } else {
      for (let newest = ""; newest !== timesOf(messages()).at(-1);) {
        newest = timesOf(messages()).at(-1)!;
        await acknowledge(newest);
        await settleAll();
      }
      orchestrator.inbox.length = 0;
    }
    await clock.advance(200_000);
    const times = timesOf(messages());
    expect(new Set(times).size).toBeLessThan(times.length);
  },
);

test("an acknowledgement of a time that was never sent lets go of what was sent alone", async () => {
  const { clock, messages, acknowledge, orchestrator, cut, comeBack } = await begin();
  await clock.advance(2_000);
  await acknowledge("2130-01-01T00:00:00.000Z");
  await clock.advance(15_000);
  expect(timesOf(messages())).toEqual(["2030-01-01T00:00:02.000Z", "2030-01-01T00:00:17.000Z"]);
  expect(orchestrator.events).toEqual(["connected"]);
  // Nor does the next connection take what was never sent for acknowledged.
  await cut();
  await clock.advance(30_000);
  await comeBack();
  const seconds = ["17", "32", "47"].map((each) => `2030-01-01T00:00:${each}.000Z`);
  await expect.poll(() => timesOf(messages())).toEqual(expect.arrayContaining(seconds));
});

test("the time of samples is the orchestrator's, whatever the machine's clock says", async () => {
  const { clock, messages, network } = await begin({ agentClockAheadMs: 86_400_000 });
  await clock.advance(2_000);
  network.aheadMs = -86_400_000;
  await clock.advance(15_000);
  expect(timesOf(messages())).toEqual(["2030-01-01T00:00:02.000Z", "2030-01-01T00:00:17.000Z"]);
});

test("what was taken by a clock that was ahead, before the orchestrator told its time, is dropped, and the gap is told", async () => {
  const { clock, messages, logger, network, orchestrator } = await begin({
    agentClockAheadMs: 3_600_000,
    isReachable: false,
  });
  await clock.advance(60_000);
  network.isReachable = true;
  await clock.advance(60_000);
  await orchestrator.happened("connected");
  await clock.advance(15_000);
  const times = timesOf(messages());
  expect(times.length).toBeGreaterThan(0);
  expect(times.filter((time) => time > "2030-01-01T00:02:16.000Z")).toEqual([]);
  expect(messages()[0]?.gap).toBe(true);
  expect(logger.of("warn")).toContain(
    "Samples of a time that has not come were dropped: the clock was wrong.",
  );
});

test("a pending agent sends nothing, and once it is approved what it took meanwhile", async () => {
  const clock = new FakeClock();
  const orchestrator = new TestOrchestrator(clock);
  orchestrator.admission = "pending";
  await orchestrator.start();
  const agent = createAgent({
    stateDir: temporaryFolder(),
    host: new MemoryHost(),
    measured: new RecordedMachine(),
    clock,
    dial: async () => orchestrator.transport.connect(),
  });
  onTestFinished(() => agent.stop());
  await agent.start();
  await orchestrator.happened("connected");
  await clock.advance(32_000);
  expect(orchestrator.inbox).toEqual([]);
  await orchestrator.send(agent.nodeId, { type: "status", status: "approved" });
  const { samples } = await orchestrator.take("metrics");
  expect(samples).toHaveLength(3);
});

test("a machine that nobody says how to measure is not measured, and configuring it is no error", async () => {
  const clock = new FakeClock();
  const orchestrator = new TestOrchestrator(clock);
  await orchestrator.start();
  const stateDir = temporaryFolder();
  const agent = createAgent({
    stateDir,
    host: new MemoryHost(),
    clock,
    dial: async () => orchestrator.transport.connect(),
  });
  onTestFinished(() => agent.stop());
  await agent.start();
  await orchestrator.happened("connected");
  const id = await orchestrator.send(agent.nodeId, { type: "config", metrics_interval_seconds: 2 });
  expect(await orchestrator.take("reply")).toEqual({ type: "reply", id });
  await clock.advance(60_000);
  expect(orchestrator.heard).not.toContain("metrics");
});

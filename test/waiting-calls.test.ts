/** Calls that wait: each ends with the server, and leaves nothing of its wait behind, however it ends. */
import { expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { settleAll } from "./support/deferred.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "./support/scripted-agent.ts";

interface Scene {
  test: TestOrchestrator;
  agent: ScriptedAgent;
}
interface Waiting {
  /** Begins to wait. */
  call(scene: Scene): Promise<unknown>;
  /** What else ends it than time and the end of the server; absent = nothing. */
  answer?(scene: Scene): Promise<void>;
  /** How long it waits, seconds. */
  seconds: number;
}

/** The same each time: what is known already is not written again, and is an answer all the same. */
const told = ({ test }: Scene) => ({
  type: "attributes" as const,
  attributes: { rack: 1 },
  collected_at: new Date(test.clock.now()).toISOString(),
});
const idOf = ({ agent }: Scene): { node_id: string } => ({ node_id: agent.nodeId });

const calls: Record<string, Waiting> = {
  "a refresh of attributes": {
    call: (scene) =>
      scene.test.orchestrator.agents.refreshAttributes(systemCaller, { ...idOf(scene), wait_seconds: 15 }),
    answer: async (scene) => {
      await scene.agent.next("attributes.refresh");
      scene.agent.link.send(told(scene));
    },
    seconds: 15,
  },
  "an announcement": {
    call: ({ test }) => test.orchestrator.discovery.broadcast(systemCaller, { timeout_ms: 6_000 }),
    seconds: 6,
  },
  "an apply": {
    call: (scene) =>
      scene.test.orchestrator.operations.apply(systemCaller, {
        ...idOf(scene),
        modules: ["web"],
        wait_seconds: 15,
      }),
    answer: async ({ agent }) => {
      agent.link.send(emptyResult((await agent.next("apply")).operation_id));
    },
    seconds: 15,
  },
  "a run": {
    call: (scene) =>
      scene.test.orchestrator.runs.start(systemCaller, {
        node_ids: [scene.agent.nodeId],
        command: "true",
        wait_seconds: 15,
      }),
    answer: async ({ agent }) => {
      agent.link.send(emptyResult((await agent.next("run")).operation_id));
    },
    seconds: 15,
  },
};
const rows = Object.entries(calls);
const answered = rows.flatMap(([name, { answer, ...rest }]) =>
  answer ? [[name, { answer, ...rest }] as const] : [],
);

async function scene(): Promise<Scene> {
  const test = await createTestOrchestrator();
  onTestFinished(() => test[Symbol.asyncDispose]());
  const agent = await connectScriptedAgent(test, undefined, test.clock);
  onTestFinished(() => agent[Symbol.asyncDispose]());
  const { modules, agents } = test.orchestrator;
  await modules.upload(systemCaller, { content: "name: web\nresources: []\n" });
  await agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
  await settleAll();
  return { test, agent };
}

/** Whether it has an answer, of whatever kind. */
function isAnswered(call: Promise<unknown>): () => boolean {
  let answered = false;
  const note = (): void => void (answered = true);
  call.then(note, note);
  return () => answered;
}

/** Node warns of a signal on which more than ten listen. */
function warnings(): string[] {
  const heard: string[] = [];
  const listener = ({ name }: Error): void => void heard.push(name);
  process.on("warning", listener);
  onTestFinished(() => void process.off("warning", listener));
  return heard;
}

it.each(answered)(
  "%s that is answered leaves nothing of its wait, however often",
  async (_, { call, answer }) => {
    const on = await scene();
    const heard = warnings();
    const timers: number[] = [];
    for (let time = 0; time < 12; time += 1) {
      const waits = call(on);
      await answer(on);
      await waits;
      await settleAll();
      // What an agent tells of its machine is written ten times a minute.
      await on.test.clock.advance(6_000);
      timers.push(on.test.clock.pendingTimers);
    }
    expect(Math.max(...timers)).toBe(timers[0]);
    expect(heard).toEqual([]);
  },
);

it.each(answered)(
  "%s that is answered leaves no timer behind, not even for a while",
  async (_, { call, answer }) => {
    const on = await scene();
    // What comes with the first is of the agent, not of the wait.
    for (let time = 0; time < 2; time += 1) {
      await Promise.all([call(on), answer(on)]);
      await settleAll();
      await on.test.clock.advance(60_000);
    }
    const timers = on.test.clock.pendingTimers;
    const [waits] = [call(on)];
    await answer(on);
    await waits;
    await settleAll();
    expect(on.test.clock.pendingTimers).toBeLessThanOrEqual(timers);
  },
);

it("a refresh of an agent that is away is refused at once, and leaves nothing of its wait", async () => {
  const on = await scene();
  const heard = warnings();
  await on.agent.link.stop();
  await settleAll();
  const timers = on.test.clock.pendingTimers;
  const refresh = calls["a refresh of attributes"]!;
  for (let time = 0; time < 12; time += 1)
    await expect(refresh.call(on)).rejects.toMatchObject({ code: "AGENT_OFFLINE" });
  expect(on.test.clock.pendingTimers).toBe(timers);
  expect(heard).toEqual([]);
});

it.each(rows)(
  "%s that waits in vain ends in time, and leaves nothing of its wait",
  async (_, { call, seconds }) => {
    const on = await scene();
    const heard = warnings();
    for (let time = 0; time < 12; time += 1) {
      const isOver = isAnswered(call(on));
      await settleAll();
      await on.test.clock.advance(seconds * 1_000 - 1);
      expect(isOver()).toBe(false);
      await on.test.clock.advance(1);
      await settleAll();
      expect(isOver()).toBe(true);
    }
    expect(heard).toEqual([]);
  },
);

it.each(rows)("%s ends at once when the server lets go, and waits no more after it", async (_, { call }) => {
  const on = await scene();
  const isOver = isAnswered(call(on));
  await settleAll();
  expect(isOver()).toBe(false);
  on.test.orchestrator.letGo();
  await settleAll();
  expect(isOver()).toBe(true);
  // Two announcements rest for a while between each other.
  await on.test.clock.advance(10_000);
  const isLaterOver = isAnswered(call(on));
  await settleAll();
  expect(isLaterOver()).toBe(true);
});

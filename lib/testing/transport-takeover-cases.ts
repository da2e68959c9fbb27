/** What happens to a connection whose path is dead when its agent comes again: promise 5 of the transport port. */
import { nextTurn } from "../internal/next-turn.ts";
import type { FakeClock } from "./fake-clock.ts";
import type { TestAgent } from "./test-agent.ts";
import { check, logOf, type SceneCase, type TransportScene } from "./transport-scene.ts";

/** Steps of time, and turns of the event loop in each: real connections need some of them for a handshake. */
const stepMs = 20;
const turnsOfStep = 5;

/** Cases of promise 5. A peer that does not read gives no sign of life by itself, as one behind a path that swallows everything. */
export const transportTakeoverCases: SceneCase[] = [
  {
    promise: 5,
    name: "a connection that gives no sign of life gives way to a newer one of its agent",
    async test({ transport, clock, heard, agent }) {
      const { first, second } = await overtaken(agent);
      check(await comesIn(clock, second), "the newer one was not let in");
      await heard.next("disconnected");
      await heard.next("connected");
      await heard.next("connected");
      const kinds = heard.kinds.filter((kind) => kind === "connected" || kind === "disconnected");
      check(kinds.join() === "connected,disconnected,connected", "they overlapped");
      second.say(logOf("here again"));
      await heard.next("message");
      check(transport.isConnected(first.nodeId), "it is not connected");
      first.socket.resume();
      await first.heard.next("closed");
    },
  },
  {
    promise: 5,
    name: "a connection that answers late, and in time, stays",
    async test({ clock, heard, agent }) {
      const { first, second } = await overtaken(agent);
      await pass(clock, 1_000);
      first.socket.resume();
      check((await second.heard.next("refused")).code === "AGENT_ALREADY_CONNECTED", "it was let in");
      check(heard.of("disconnected").length === 0, "the first was cut");
    },
  },
  {
    promise: 5,
    name: "whatever an agent says is a sign of life",
    async test({ clock, heard, agent }) {
      const { first, second } = await overtaken(agent);
      await pass(clock, 1_000);
      first.say(logOf("still here"));
      check((await second.heard.next("refused")).code === "AGENT_ALREADY_CONNECTED", "it was let in");
      check(heard.of("disconnected").length === 0, "the first was cut");
      first.socket.resume();
    },
  },
  {
    promise: 5,
    name: "of several that come for a dead connection one takes its place",
    async test({ transport, clock, heard, agent }) {
      const first = await silent(agent);
      const others = [await agent(1), await agent(1), await agent(1)];
      for (const other of others) other.greet();
      await pass(clock, 3_000);
      first.socket.resume();
      const ended = others.map(({ heard: own }) => own.of("accepted").length + own.of("refused").length);
      check(ended.join() === "1,1,1", "not each of them was answered");
      check(others.filter(({ heard: own }) => own.of("accepted").length > 0).length === 1, "not one came in");
      check(heard.of("disconnected").length === 1, "the dead connection did not end once");
      check(transport.isConnected(first.nodeId), "it is not connected");
    },
  },
  {
    promise: 5,
    name: "a connection that ends while it is asked for a sign of life gives way at once",
    async test({ clock, heard, agent }) {
      const { first, second } = await overtaken(agent);
      await pass(clock, 500);
      first.socket.destroy();
      check((await second.heard.next("accepted")).status === "approved", "the newer one was not let in");
      check(heard.of("disconnected").length === 1, "disconnected did not come once");
    },
  },
  {
    promise: 5,
    name: "an agent that dials again and again gets in once its dead connection has had its time",
    async test({ clock, heard, agent }) {
      const first = await silent(agent);
      for (let count = 0; count < 25; count += 1) {
        const dial = await agent(1);
        dial.greet();
        await pass(clock, 100);
        if (dial.heard.of("accepted").length > 0) break;
        dial.socket.destroy();
      }
      first.socket.resume();
      check(heard.of("connected").length === 2, "it never came in");
      check(heard.of("refused").length === 0, "it was refused");
    },
  },
];

/** The first joins and goes silent. */
async function silent(agent: TransportScene["agent"]): Promise<TestAgent> {
  const first = await agent(1);
  await first.join();
  first.socket.pause();
  return first;
}

/** The first joins and goes silent, a second one says hello. */
async function overtaken(agent: TransportScene["agent"]): Promise<{ first: TestAgent; second: TestAgent }> {
  const first = await silent(agent);
  const second = await agent(1);
  second.greet();
  return { first, second };
}

/** Whether an agent that has said hello is let in before its handshake has taken too long. */
async function comesIn(clock: FakeClock, agent: TestAgent): Promise<boolean> {
  for (let passedMs = 0; passedMs < 5_000 && agent.heard.of("accepted").length === 0; passedMs += stepMs)
    await pass(clock, stepMs);
  return agent.heard.of("accepted").length > 0;
}

async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
    await clock.advance(stepMs);
    for (let turn = 0; turn < turnsOfStep; turn += 1) await nextTurn();
  }
}

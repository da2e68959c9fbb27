import { expect, test } from "vitest";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { nextTurn } from "../../lib/internal/next-turn.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { FrameTurns } from "../../lib/transport/frame-turns.ts";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import { SharedPause } from "../../lib/transport/shared-pause.ts";
import { startTransport } from "../support/started-transport.ts";

/** A clock that a test moves while nothing else runs, as work does with a real one. */
class WorkingClock extends FakeClock {
  workedMs = 0;
  override monotonic(): number {
    return super.monotonic() + this.workedMs;
  }
}

test("what comes when a turn is full has turns of its own, in order", async () => {
  const clock = new WorkingClock();
  const turns = new FrameTurns(clock);
  const done: number[] = [];
  const work = (name: number): void => turns.spend(() => void (done.push(name), (clock.workedMs += 3)));
  work(1);
  expect(turns.isFull).toBe(false);
  work(2);
  expect(turns.isFull).toBe(true);
  for (const name of [3, 4, 5, 6, 7]) turns.wait(() => work(name));
  expect(done).toEqual([1, 2]);
  await nextTurn();
  expect(done).toEqual([1, 2, 3, 4]);
  await nextTurn();
  expect(done).toEqual([1, 2, 3, 4, 5, 6]);
  await nextTurn();
  expect(done).toEqual([1, 2, 3, 4, 5, 6, 7]);
  await nextTurn();
  expect(turns.isFull).toBe(false);
});

test("a peer that two ask to wait goes on when neither does", () => {
  const [socket, peer] = createSocketPair();
  const heard: unknown[] = [];
  socket.listen({ frame: (frame) => heard.push(frame), closed: () => {} });
  const calls: string[] = [];
  const pause = new SharedPause({
    pause: () => (calls.push("pause"), socket.pause()),
    resume: () => (calls.push("resume"), socket.resume()),
  });
  const [one, other] = [pause.share(), pause.share()];
  one.pause();
  other.pause();
  one.pause();
  peer.send("x");
  one.resume();
  one.resume();
  expect(calls).toEqual(["pause"]);
  other.resume();
  expect(calls).toEqual(["pause", "resume"]);
});

test("messages that wait for a turn come in order, none twice, and the peer waits meanwhile", async () => {
  const clock = new WorkingClock();
  const heard: string[] = [];
  const transport = await startTransport(
    clock,
    {
      message: async (_, message) => {
        clock.workedMs += 4;
        heard.push(message.type === "log" ? message.message : message.type);
      },
      isWanted: async () => {
        clock.workedMs += 4;
        return true;
      },
    },
    { agentTimeSavedMs: 600_000 },
  );
  const agents = [1, 2].map(
    (seed) => new TestAgent(transport.connect(), { crypto: nodeCrypto, seed: new Uint8Array(32).fill(seed) }),
  );
  for (const agent of agents) await agent.join();
  for (let n = 0; n < 20; n += 1)
    agents.forEach((agent, of) => agent.say({ type: "log", level: "info", message: `${of} ${n}` }));
  let waited = 0;
  while (heard.length < 40) {
    waited = Math.max(waited, ...agents.map(({ socket }) => socket.bufferedBytes));
    await nextTurn();
  }
  expect(waited).toBeGreaterThan(0);
  for (const of of [0, 1]) {
    const own = heard.filter((text) => text.startsWith(String(of)));
    expect(own).toEqual(Array.from({ length: 20 }, (_, n) => `${of} ${n}`));
  }
  await transport.stop();
});

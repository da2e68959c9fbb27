/**
 * Long messages are read in slices: whoever waits is served in between, their order stays, the peer pays for each slice, and what is left of
 * one is dropped when its connection ends. Before, one of 16 MiB held the event loop for up to 257 ms of the processor.
 */
import { describe, expect, test } from "vitest";
import { systemClock, type Clock } from "../../lib/clock.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { nextTurn } from "../../lib/internal/next-turn.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import { EventLog } from "../../lib/testing/event-log.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import type { SocketTransportOptions } from "../../lib/transport/socket-transport.ts";
import type { TransportHandlers } from "../../lib/transport/transport.ts";
import type { AgentMessage, MessageOf } from "../../lib/wire/messages.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { startTransport } from "../support/started-transport.ts";

const operationId = "01890000-0000-7000-8000-000000000002";
const at = "2030-01-01T00:00:00Z";

type Heard =
  { kind: "refused"; code: string } | { kind: "message"; message: AgentMessage } | { kind: "gone" };

/** Every look at it takes a millisecond: each slice is as long on any machine. */
class SteppingClock extends FakeClock {
  looks = 0;
  override monotonic(): number {
    this.looks += 1;
    return super.monotonic() + this.looks;
  }
}

function resultOf(size: {
  results: number;
  text: string;
  changes?: number;
}): MessageOf<AgentMessage, "result"> {
  const change = { property: "p", before: size.text, after: 0 };
  const result: ResourceResult = {
    resource_id: "a",
    module: "m",
    type: "file",
    identity: "i",
    outcome: "changed",
    action: "update",
    changes: Array(size.changes ?? 1).fill(change),
    caused_by: [],
    attempts: 1,
    duration_ms: 1,
  };
  return {
    type: "result",
    operation_id: operationId,
    status: "succeeded",
    results: Array(size.results).fill(result),
    output: [],
    started_at: at,
    finished_at: at,
    duration_ms: 1,
  };
}

async function startScene(clock: Clock, more: Partial<TransportHandlers> & SocketTransportOptions = {}) {
  const { agentTimeSavedMs = 600_000, ...handlers } = more;
  const heard = new EventLog<Heard>();
  const transport = await startTransport(
    clock,
    {
      message: async (_, message) => heard.add({ kind: "message", message }),
      disconnected: () => heard.add({ kind: "gone" }),
      refused: ({ code }) => heard.add({ kind: "refused", code }),
      ...handlers,
    },
    { agentTimeSavedMs, agentTimePerSecondMs: 1 },
  );
  const agent = new TestAgent(transport.connect(), { crypto: nodeCrypto, seed: new Uint8Array(32).fill(1) });
  await agent.join();
  return { transport, heard, agent };
}

/** Measures the longest time between two turns of the event loop, in milliseconds of the processor, and counts them. */
function watchTurns(): { end(): { longestMs: number; turns: number } } {
  let [longestMs, turns, isOn] = [0, 0, true];
  let last = cpuMs();
  const turn = (): void => {
    const now = cpuMs();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    turns += 1;
    if (isOn) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    end: () => {
      isOn = false;
      return { longestMs, turns };
    },
  };
}

/** A result of nearly 16 MiB in one way or another. */
const large: readonly [string, () => AgentMessage][] = [
  ["20,000 results", () => resultOf({ results: 20_000, text: "x".repeat(500) })],
  ["results of a thousand changes", () => resultOf({ results: 140, changes: 1_000, text: "y" })],
  [
    "one text of what takes two bytes a character",
    () => resultOf({ results: 1, text: "é".repeat(7_900_000) }),
  ],
  ["one text of escapes", () => resultOf({ results: 1, text: "\n".repeat(7_900_000) })],
];

describe("a message of 16 MiB", () => {
  test.each(large)("of %s never holds the event loop for long", { timeout: 60_000 }, async (_, make) => {
    const message = make();
    const { transport, heard, agent } = await startScene(systemClock);
    let longest = Infinity;
    // The machine may have been busy with something else: then another time tells.
    for (let times = 0; times < 5 && longest > 50; times += 1) {
      const frames = agent.session.encode(message);
      await nextTurn();
      const watch = watchTurns();
      for (const frame of frames) {
        agent.socket.send(frame);
        await nextTurn();
      }
      const { message: read } = await heard.next("message");
      const { longestMs, turns } = watch.end();
      longest = Math.min(longest, longestMs);
      expect(turns).toBeGreaterThan(frames.length + 16);
      expect(read.type === "result" && read.results.length).toBe(
        (message as typeof read & { results: [] }).results.length,
      );
    }
    // It is some 20; a machine may be half as fast, or busy.
    expect(longest).toBeLessThan(100);
    await transport.stop();
  });

  test("comes to what it is read as at once", async () => {
    const message = resultOf({ results: 3_000, text: '😀\n"é' });
    const { transport, heard, agent } = await startScene(systemClock);
    agent.say(message);
    expect((await heard.next("message")).message).toEqual(message);
    await transport.stop();
  });

  test.each([
    ["a result that is none among its last", 3_000, -1],
    ["more results than one may have", 20_001, 1],
  ])("is refused with %s", async (_, count, attempts) => {
    const { transport, heard, agent } = await startScene(systemClock);
    const { results, ...rest } = resultOf({ results: count, text: "x".repeat(100) });
    results[count - 1] = { ...results[count - 1]!, attempts };
    agent.say({ ...rest, results });
    expect((await heard.next("refused")).code).toBe("PROTOCOL_ERROR");
    await transport.stop();
  });
});

describe("while a long message is read", () => {
  test("what the peer said after it waits, and what others say does not", async () => {
    const { transport, heard, agent } = await startScene(new SteppingClock());
    const other = new TestAgent(transport.connect(), {
      crypto: nodeCrypto,
      seed: new Uint8Array(32).fill(2),
    });
    await other.join();
    agent.say(resultOf({ results: 5_000, text: "x".repeat(300) }));
    agent.say({ type: "log", level: "info", message: "after" });
    await nextTurn();
    other.say({ type: "log", level: "info", message: "other" });
    const said: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const { message } = await heard.next("message");
      said.push(message.type === "log" ? message.message : message.type);
    }
    expect(said).toEqual(["other", "result", "after"]);
    await transport.stop();
  });

  test.each([
    ["a connection that is ended drops it", "disconnect", ["gone"]],
    ["an agent that hangs up is heard before it is gone", "hang up", ["message", "gone"]],
  ])("%s", async (_, how, kinds) => {
    let isBegun = false;
    const isWanted = async (): Promise<boolean> => (isBegun = true);
    const { transport, heard, agent } = await startScene(new SteppingClock(), { isWanted });
    agent.say(resultOf({ results: 5_000, text: "x".repeat(300) }));
    while (!isBegun) await nextTurn();
    // Some of its slices: sixteen turns are between two.
    for (let turns = 0; turns < 50; turns += 1) await nextTurn();
    if (how === "hang up") agent.socket.destroy();
    else await transport.disconnect(agent.nodeId, "enough");
    await heard.next("gone");
    await transport.stop();
    expect(heard.kinds).toEqual(kinds);
  });

  test("its peer pays for each slice, and is ended when it has no time left", async () => {
    const clock = new SteppingClock();
    const { transport, heard, agent } = await startScene(clock, { agentTimeSavedMs: 300 });
    // It is handled to its end, whatever it costs; the next one is not.
    agent.say(resultOf({ results: 10_000, text: "x".repeat(300) }));
    expect((await heard.next("message")).message.type).toBe("result");
    agent.say({ type: "log", level: "info", message: "one more" });
    expect((await heard.next("refused")).code).toBe("RATE_LIMITED");
    await transport.stop();
  });
});

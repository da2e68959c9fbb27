/** A takeover over real WebSockets by an orchestrator that does not read for a while: silence that it did not listen to proves nothing. */
import { expect, onTestFinished, test } from "vitest";
import { dialWebSocket } from "../../lib/agent/websocket-dial.ts";
import { systemClock, toTimestamp, type Clock } from "../../lib/clock.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { nextTurn } from "../../lib/internal/next-turn.ts";
import { silentLogger } from "../../lib/logger.ts";
import { EventLog } from "../../lib/testing/event-log.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { SocketTransport } from "../../lib/transport/socket-transport.ts";
import type { FrameSocket } from "../../lib/transport/socket.ts";
import { listenForAgents } from "../support/agent-listener.ts";
import { deferred } from "../support/deferred.ts";

interface SceneOptions {
  clock?: Clock;
  /** Is shown each connection before the transport is. */
  see?(socket: FrameSocket): void;
  /** What the orchestrator does with a message. */
  message?(): Promise<void>;
}

async function scene({ clock = systemClock, see, message = async () => {} }: SceneOptions) {
  const heard = new EventLog<{ kind: "connected" } | { kind: "disconnected" }>();
  const transport = new SocketTransport();
  const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(9));
  const orchestratorTime = (): string => toTimestamp(clock.now());
  await transport.start(
    { clock, crypto: nodeCrypto, logger: silentLogger, signer, orchestratorTime },
    {
      admit: async () => ({ status: "approved" }),
      connected: async () => heard.add({ kind: "connected" }),
      message,
      stream: async () => {},
      disconnected: () => heard.add({ kind: "disconnected" }),
      refused: () => {},
    },
  );
  const listener = await listenForAgents({
    accept(socket: FrameSocket) {
      see?.(socket);
      transport.accept(socket);
    },
  });
  onTestFinished(async () => {
    await transport.stop();
    await listener.close();
  });
  /** An agent of the one key. */
  const agent = async (): Promise<TestAgent> =>
    new TestAgent(await dialWebSocket(listener.url), {
      crypto: nodeCrypto,
      seed: new Uint8Array(32).fill(1),
    });
  return { transport, heard, agent };
}

function blockFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("an orchestrator that is blocked for longer than a probe takes lets a connection that lives stay", async () => {
  let probes = 0;
  const { heard, agent } = await scene({
    see(socket) {
      const probe = socket.probe.bind(socket);
      socket.probe = () => {
        const answered = probe();
        probes += 1;
        blockFor(2_100);
        return answered;
      };
    },
  });
  const first = await agent();
  await first.join();
  const second = await agent();
  second.greet();
  expect(await second.heard.next("refused")).toMatchObject({ code: "AGENT_ALREADY_CONNECTED" });
  expect(probes).toBe(1);
  expect(heard.of("disconnected")).toEqual([]);
});

test("an orchestrator that has just begun to read a connection again lets it stay", async () => {
  const clock = new FakeClock();
  const { promise: isFree, resolve: free } = deferred();
  let isAsked = false;
  let isPaused = false;
  const { heard, agent } = await scene({
    clock,
    message: () => isFree,
    see(socket) {
      const { probe, pause, resume } = socket;
      socket.probe = () => {
        isAsked = true;
        return probe.call(socket);
      };
      socket.pause = () => {
        isPaused = true;
        pause.call(socket);
      };
      socket.resume = () => {
        isPaused = false;
        resume.call(socket);
      };
    },
  });
  const first = await agent();
  await first.join();
  // More than the orchestrator takes in while it is busy with the first of them.
  const text = "x".repeat(4_096);
  for (let count = 0; count < 600; count += 1) first.say({ type: "log", level: "info", message: text });
  // A pause that a crowd of frames asks for is over in a few turns; this one lasts.
  for (let turns = 0; turns < 50; turns = isPaused ? turns + 1 : 0) await nextTurn();
  const second = await agent();
  second.greet();
  while (!isAsked) await nextTurn();
  await clock.advance(1_990);
  clock.leap(10);
  free();
  // In the very turn in which it is read again the time is over.
  for (let steps = 0; isPaused && steps < 100_000; steps += 1) await Promise.resolve();
  expect(isPaused).toBe(false);
  await clock.advance(0);
  expect(await second.heard.next("refused")).toMatchObject({ code: "AGENT_ALREADY_CONNECTED" });
  expect(heard.of("disconnected")).toEqual([]);
});

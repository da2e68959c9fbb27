/** An agent that hangs up while its messages are being handled. */
import { expect, test } from "vitest";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { FrameSocket } from "../../lib/transport/socket.ts";

const log = (message: string) => ({ type: "log" as const, level: "info" as const, message });

/** An orchestrator whose handler of a message waits until it is released, with an agent. */
async function scene({ clock = new FakeClock(), transport = new MemoryTransport() } = {}) {
  const heard: string[] = [];
  let release = (): void => {};
  await transport.start(
    {
      clock,
      crypto: nodeCrypto,
      logger: silentLogger,
      signer: nodeCrypto.createSigner(new Uint8Array(32).fill(9)),
      orchestratorTime: () => new Date(clock.now()).toISOString(),
    },
    {
      admit: async () => ({ status: "approved" }),
      connected: async () => void heard.push("connected"),
      message: (_, message) => {
        heard.push(message.type === "log" ? message.message : message.type);
        return new Promise((resolve) => (release = resolve));
      },
      stream: async () => {},
      disconnected: () => heard.push("disconnected"),
      refused: ({ code }) => heard.push(code),
    },
  );
  const connect = async (): Promise<TestAgent> => {
    const agent = new TestAgent(transport.connect(), {
      crypto: nodeCrypto,
      seed: new Uint8Array(32).fill(1),
    });
    await agent.join();
    return agent;
  };
  const says = async (count: number): Promise<void> => {
    await expect.poll(() => heard.length).toBe(count);
  };
  return { transport, clock, heard, connect, says, release: () => release() };
}

test("is heard to the end, and comes back only after that", async () => {
  const { transport, clock, heard, connect, says, release } = await scene();
  const first = await connect();
  for (const text of ["one", "two"]) first.say(log(text));
  await says(2);
  first.socket.close(1000, "");
  await expect.poll(() => transport.isConnected(first.nodeId)).toBe(false);
  const second = connect();
  expect(heard).toEqual(["connected", "one"]);
  release();
  await says(3);
  expect(heard).toEqual(["connected", "one", "two"]);
  release();
  await second;
  expect(heard).toEqual(["connected", "one", "two", "disconnected", "connected"]);
  await transport.stop();
  expect(clock.pendingTimers).toBe(0);
});

test("is told to be gone after two seconds, whatever a handler still does, and no more of it is handed over", async () => {
  const { transport, clock, heard, connect, says, release } = await scene();
  const agent = await connect();
  for (const text of ["one", "two"]) agent.say(log(text));
  await says(2);
  agent.socket.close(1000, "");
  await expect.poll(() => transport.isConnected(agent.nodeId)).toBe(false);
  await clock.advance(1_999);
  expect(heard).toEqual(["connected", "one"]);
  await clock.advance(1);
  expect(heard).toEqual(["connected", "one", "disconnected"]);
  release();
  await transport.stop();
  expect(heard).toEqual(["connected", "one", "disconnected"]);
});

/** A machine so busy that each frame takes all the time of its turn. */
class SlowClock extends FakeClock {
  #readings = 0;

  override monotonic(): number {
    this.#readings += 1;
    return super.monotonic() + this.#readings * 10;
  }
}

/** Pauses as a WebSocket does whose frames have come in one piece: the rest of them and the end are told all the same. */
class EagerTransport extends MemoryTransport {
  override accept(socket: FrameSocket): void {
    socket.pause = () => {};
    super.accept(socket);
  }
}

test("is heard to the end where its frames were still waiting for their turn", async () => {
  const busy = { clock: new SlowClock(), transport: new EagerTransport() };
  const { transport, heard, connect, says, release } = await scene(busy);
  const agent = await connect();
  const texts = ["one", "two", "three", "four"];
  for (const text of texts) agent.say(log(text));
  agent.socket.close(1000, "");
  for (const [index] of texts.entries()) {
    await says(index + 2);
    release();
  }
  await says(6);
  expect(heard).toEqual(["connected", ...texts, "disconnected"]);
  await transport.stop();
});

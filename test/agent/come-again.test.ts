/** How long an agent waits before it dials again, by what it was told and by what happened before. */
import { describe, expect, test } from "vitest";
import { createAgentLink, type AgentLink } from "../../lib/agent/agent-link.ts";
import type { Clock } from "../../lib/clock.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { FrameSocket } from "../../lib/transport/socket.ts";
import { settleAll } from "../support/deferred.ts";
import { waitFor } from "../support/wait-for.ts";

/** A link to an orchestrator that never takes it in. */
function linkOf(options: {
  clock: Clock;
  random: () => number;
  dial: (signal: AbortSignal) => Promise<FrameSocket>;
}): AgentLink {
  return createAgentLink({
    ...options,
    crypto: nodeCrypto,
    logger: silentLogger,
    identity: {
      signer: nodeCrypto.createSigner(new Uint8Array(32).fill(1)),
      boxPublicKey: nodeCrypto.createExchangeKeyPair().publicKey,
    },
    pin: { get: () => null, set: async () => {} },
    description: { agent_version: "1.0.0", hostname: "web-1", platform: "linux" },
    handlers: {
      accepted() {},
      statusChanged() {},
      command: async () => {},
      stream: async () => {},
      down() {},
    },
  });
}

/** Turns each dial away with a reason, and tells how long the agent waited before each, in milliseconds. */
function waitsAfter(reasons: readonly string[], { random = 0 } = {}): Promise<number[]> {
  return waitsBetween(
    reasons.map((reason) => (far) => far.close(1013, reason)),
    random,
  );
}

/** The same for dials that end in whatever way. */
async function waitsBetween(
  ends: readonly ((far: FrameSocket) => void)[],
  random: number,
): Promise<number[]> {
  const clock = new FakeClock();
  const waits: number[] = [];
  let lastMs = 0;
  let dials = 0;
  const link = linkOf({
    clock,
    random: () => random,
    dial: async (signal) => {
      waits.push(Math.round(clock.monotonic() - lastMs));
      lastMs = clock.monotonic();
      if (dials === ends.length) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        signal.throwIfAborted();
      }
      const [near, far] = createSocketPair();
      ends[dials++]?.(far);
      return near;
    },
  });
  link.start();
  await clock.advance(0);
  while (waits.length <= ends.length) await clock.advance(1_000);
  await link.stop();
  return waits.slice(1, ends.length + 1);
}

describe("an orchestrator that refuses with", () => {
  const refusing =
    (code: string) =>
    (far: FrameSocket): void =>
      far.send(JSON.stringify({ type: "refused", code, message: "no" }));

  // What somebody has to change first is not asked for each second.
  test.each(["ORCHESTRATOR_KEY_CHANGED", "ORCHESTRATOR_SUPERSEDED", "VERSION_UNSUPPORTED", "KEY_REFUSED"])(
    "%s is dialled again within a minute, from the first time on",
    async (code) => {
      const ends = Array(3).fill(refusing(code));
      expect(await waitsBetween(ends, 1)).toEqual([60_000, 60_000, 60_000]);
      expect(await waitsBetween(ends, 0)).toEqual([0, 0, 0]);
    },
  );

  test.each([
    "AGENT_ALREADY_CONNECTED",
    "AGENT_TIMEOUT",
    "INTERNAL",
    "PROTOCOL_ERROR",
    "RATE_LIMITED",
    "SIGNATURE_INVALID",
    "UNAVAILABLE",
    "A_CODE_OF_TOMORROW",
  ])("%s is dialled again as after any failure", async (code) => {
    expect(await waitsBetween(Array(3).fill(refusing(code)), 1)).toEqual([1_000, 2_000, 4_000]);
  });
});

describe("an orchestrator that says when to come again", () => {
  test("is obeyed, a little later than it says", async () => {
    expect(await waitsAfter(["RATE_LIMITED retry=3200", "RATE_LIMITED retry=0"])).toEqual([3_200, 0]);
    const late = await waitsAfter(["RATE_LIMITED retry=3200", "RATE_LIMITED retry=0"], { random: 1 });
    expect(late).toEqual([3_520, 50]);
  });

  test("is not waited for longer than a minute, whatever it says", async () => {
    expect(await waitsAfter(["RATE_LIMITED retry=315360000000"], { random: 1 })).toEqual([60_000]);
    expect(await waitsAfter(["RATE_LIMITED retry=60000"], { random: 1 })).toEqual([60_000]);
  });

  test.each(["RATE_LIMITED", "RATE_LIMITED retry=-1", "RATE_LIMITED retry=soon", "retry", ""])(
    "is waited for as ever where it says %j",
    async (reason) => {
      expect(await waitsAfter([reason, reason, reason], { random: 1 })).toEqual([1_000, 2_000, 4_000]);
    },
  );

  test("is not called without end because it says so", async () => {
    const waits = await waitsAfter(Array<string>(14).fill("RATE_LIMITED retry=0"), { random: 1 });
    expect(waits.slice(0, 10)).toEqual(Array(10).fill(50));
    expect(waits.slice(10)).toEqual([1_000, 2_000, 4_000, 8_000]);
  });

  test("does not make the waits longer that follow without a word", async () => {
    const reasons = ["RATE_LIMITED retry=5000", "RATE_LIMITED retry=5000", ""];
    expect(await waitsAfter(reasons, { random: 1 })).toEqual([5_500, 5_500, 1_000]);
  });
});

test("an agent that drew short waits while a server was away is back as soon as one that drew long ones", async () => {
  const clock = new FakeClock();
  let draws = 0;
  const dialedAtMs: number[] = [];
  const link = linkOf({
    clock,
    random: () => (draws++ < 8 ? 0.02 : 1),
    dial: async () => {
      dialedAtMs.push(clock.monotonic());
      throw new Error("ECONNREFUSED");
    },
  });
  link.start();
  await clock.advance(0);
  await clock.advance(2_000);
  // Eight dials in a fifth of a second are no reason to wait for four minutes.
  expect(dialedAtMs.at(-1)).toBeLessThan(2_000);
  expect(dialedAtMs.at(-1)).toBeGreaterThan(1_000);
  await link.stop();
});

/** How long the agent waits before each dial that fails, where it is told of a new place after so many milliseconds. */
async function waitsWhereFound(atMs: readonly number[], { random = 1 } = {}): Promise<number[]> {
  const clock = new FakeClock();
  const dialledAtMs: number[] = [];
  const link = linkOf({
    clock,
    random: () => random,
    dial: async () => {
      dialledAtMs.push(clock.monotonic());
      throw new Error("ECONNREFUSED");
    },
  });
  const startMs = clock.monotonic();
  link.start();
  await clock.advance(0);
  for (const ms of atMs) {
    await clock.advance(ms - (clock.monotonic() - startMs));
    link.comeSooner();
  }
  await clock.advance(200_000 - (clock.monotonic() - startMs));
  await link.stop();
  return dialledAtMs.slice(1).map((ms, index) => Math.round(ms - dialledAtMs[index]!));
}

describe("a new place to dial", () => {
  test("is waited for as after a first failure, and so are those that follow", async () => {
    expect(await waitsWhereFound([])).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    // After 35 s the wait of 32 s goes on since 4 s.
    const waits = (await waitsWhereFound([35_000])).map((ms) => ms / 1_000);
    expect(waits).toEqual([1, 2, 4, 8, 16, 5, 1, 2, 4, 8, 16, 32, 60]);
  });

  test("never makes a wait longer", async () => {
    expect((await waitsWhereFound([500], { random: 0.9 }))[0]).toBe(900);
  });

  test("counts again after just a minute, and not before", async () => {
    const soon = async (ms: number): Promise<number> =>
      (await waitsWhereFound([20_000, ms])).filter((each) => each === 1_000).length;
    expect([await soon(79_999), await soon(80_000)]).toEqual([2, 3]);
  });

  test("counts once a minute: nobody has an agent dial without end by telling of ever new ones", async () => {
    const often = Array.from({ length: 2_000 }, (_, index) => (index + 1) * 100);
    const waits = await waitsWhereFound(often);
    expect(waits.filter((ms) => ms <= 1_000).length).toBeLessThanOrEqual(2 * (200_000 / 60_000) + 2);
  });
});

test("a new place to dial that is heard of while one is dialled starts no wait of its own", async () => {
  const clock = new FakeClock();
  let dials = 0;
  const link = linkOf({
    clock,
    random: () => 1,
    dial: async (signal) => {
      dials += 1;
      if (dials === 2) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw new Error("ECONNREFUSED");
    },
  });
  link.start();
  await clock.advance(0);
  await clock.advance(1_000);
  link.comeSooner();
  expect([dials, clock.pendingTimers]).toEqual([2, 0]);
  await link.stop();
});

test("an orchestrator that took the agent in between is obeyed each time, however often in the agent's life", async () => {
  const clock = new FakeClock();
  const transport = new MemoryTransport();
  const start = (): Promise<void> => {
    const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(2));
    const orchestratorTime = (): string => new Date(clock.now()).toISOString();
    return transport.start(
      { clock, crypto: nodeCrypto, logger: silentLogger, signer, orchestratorTime },
      {
        admit: async () => ({ status: "approved" }),
        connected: async () => {},
        message: async () => {},
        stream: async () => {},
        disconnected() {},
        refused() {},
      },
    );
  };
  let turnAway = 0;
  let endedMs = 0;
  const waits: number[] = [];
  const link = linkOf({
    clock,
    random: () => 0,
    dial: async () => {
      if (turnAway === 0) return transport.connect();
      waits.push(clock.monotonic() - endedMs);
      endedMs = clock.monotonic();
      turnAway -= 1;
      const [near, far] = createSocketPair();
      far.close(1013, "RATE_LIMITED retry=3000");
      return near;
    },
  });
  await start();
  link.start();
  for (let restart = 0; restart < 3; restart += 1) {
    await waitFor(() => expect(link.status).toBe("approved"));
    await clock.advance(20_000);
    turnAway = 6;
    endedMs = clock.monotonic();
    await transport.stop();
    await start();
    for (let second = 0; second < 20; second += 1) await clock.advance(1_000);
    expect(turnAway).toBe(0);
  }
  // The first of each row is by what was before it; each of the others is by what the server said.
  expect(waits.filter((_, at) => at % 6 > 0)).toEqual(Array.from({ length: 15 }, () => 3_000));
  await link.stop();
  await transport.stop();
});

test("a connection that is there only when the agent has been stopped is closed, and nothing is dialled any more", async () => {
  const [near, far] = createSocketPair();
  let closed = false;
  far.listen({ frame() {}, closed: () => void (closed = true) });
  let dials = 0;
  let arrive = (): void => {};
  const link = linkOf({
    clock: new FakeClock(),
    random: () => 0,
    dial: () => {
      dials += 1;
      return new Promise((resolve) => (arrive = () => resolve(near)));
    },
  });
  link.start();
  const stopped = link.stop();
  arrive();
  await stopped;
  await settleAll();
  expect([closed, dials]).toEqual([true, 1]);
});

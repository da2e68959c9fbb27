import { describe, expect, test } from "vitest";
import { createAgentLink, type AgentLink, type AgentLinkOptions } from "../../lib/agent/agent-link.ts";
import { nodeIdOf } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { EventLog } from "../../lib/testing/event-log.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { Admission, TransportHandlers } from "../../lib/transport/transport.ts";
import type { AgentMessage, OrchestratorMessage } from "../../lib/wire/messages.ts";
import { deferred, settleAll } from "../support/deferred.ts";
import { codeOf } from "../wire/support/peers.ts";

const command = { id: "01890000-0000-7000-8000-000000000001", not_after: "2030-01-01T00:05:00.000Z" };
const config = (seconds: number): OrchestratorMessage => ({
  type: "config",
  ...command,
  metrics_interval_seconds: seconds,
});
const log = (message: string): AgentMessage => ({ type: "log", level: "info", message });
const agentSigner = nodeCrypto.createSigner(new Uint8Array(32).fill(1));
const nodeId = nodeIdOf(agentSigner.publicKey, nodeCrypto);

type LinkEvent =
  | { kind: "accepted"; status: string; time: string }
  | { kind: "statusChanged"; status: string; hasSentToken: boolean }
  | { kind: "command"; message: OrchestratorMessage }
  | { kind: "stream"; streamId: string; data: Uint8Array }
  | { kind: "down"; code: string | null; message: string }
  | { kind: "dial" };
type TransportEvent =
  { kind: "message"; message: AgentMessage } | { kind: "disconnected" } | { kind: "connected" };

/** A link and an orchestrator's transport in one process. */
async function scene(changes: Partial<AgentLinkOptions> = {}) {
  const clock = new FakeClock();
  const heard = new EventLog<LinkEvent>();
  const seen = new EventLog<TransportEvent>();
  const transport = new MemoryTransport();
  const orchestrator = { status: "approved" as Admission["status"], seed: 2 };
  const start = (): Promise<void> => {
    const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(orchestrator.seed));
    const handlers: TransportHandlers = {
      admit: async () => ({ status: orchestrator.status }),
      connected: async () => seen.add({ kind: "connected" }),
      message: async (_, message) => seen.add({ kind: "message", message }),
      stream: async () => {},
      disconnected: () => seen.add({ kind: "disconnected" }),
      refused: () => {},
    };
    const orchestratorTime = (): string => new Date(clock.now()).toISOString();
    const context = { clock, crypto: nodeCrypto, logger: silentLogger, signer, orchestratorTime };
    return transport.start(context, handlers);
  };
  await start();
  let pinned: Uint8Array | null = null;
  const link: AgentLink = createAgentLink({
    dial: async () => {
      heard.add({ kind: "dial" });
      return transport.connect();
    },
    clock,
    crypto: nodeCrypto,
    random: () => 0.5,
    logger: silentLogger,
    identity: { signer: agentSigner, boxPublicKey: nodeCrypto.createExchangeKeyPair().publicKey },
    pin: {
      get: () => pinned,
      set: async (key) => {
        pinned = key;
      },
    },
    description: { agent_version: "1.0.0", hostname: "web-1", platform: "linux" },
    handlers: {
      accepted: (status, time) => heard.add({ kind: "accepted", status, time }),
      statusChanged: (status, answer) => heard.add({ kind: "statusChanged", status, ...answer }),
      command: async (message) => heard.add({ kind: "command", message }),
      stream: async (streamId, data) => heard.add({ kind: "stream", streamId, data }),
      down: ({ code, message }) => heard.add({ kind: "down", code, message }),
    },
    ...changes,
  });
  const pin = { get: () => pinned, set: (key: Uint8Array) => (pinned = key) };
  return { clock, heard, seen, transport, orchestrator, start, link, pin };
}

/** Serves, for so long each time, an agent that draws the longest wait; tells how long it waited before each dial. */
async function waitsBetween(connections: number, lastMs: number): Promise<number[]> {
  const { clock, heard, transport, start, link } = await scene({ random: () => 1 });
  const waits: number[] = [];
  link.start();
  await heard.next("accepted");
  for (let count = 0; count < connections; count += 1) {
    await clock.advance(lastMs);
    await transport.stop();
    await heard.next("down");
    await start();
    const dials = heard.of("dial").length;
    let waited = 0;
    for (; heard.of("dial").length === dials; waited += 500) await clock.advance(500);
    waits.push(waited);
    await heard.next("accepted");
  }
  await link.stop();
  await transport.stop();
  return waits;
}

describe("a link", () => {
  test("connects, pins the orchestrator it saw first, and speaks both ways", async () => {
    const { heard, seen, transport, link, pin } = await scene();
    expect(link.status).toBe("offline");
    link.start();
    const accepted = await heard.next("accepted");
    expect(accepted).toMatchObject({ status: "approved", time: "2030-01-01T00:00:00.000Z" });
    expect(pin.get()).toEqual(nodeCrypto.createSigner(new Uint8Array(32).fill(2)).publicKey);
    expect(link.status).toBe("approved");
    link.send(log("hello"));
    expect((await seen.next("message")).message).toEqual(log("hello"));
    await transport.send(nodeId, config(5));
    expect((await heard.next("command")).message).toEqual(config(5));
    await transport.sendStream(nodeId, command.id, new Uint8Array([7]));
    expect(await heard.next("stream")).toMatchObject({ streamId: command.id, data: new Uint8Array([7]) });
    await link.stop();
    await transport.stop();
  });

  test("waits while it is pending, and speaks once it is approved, on the same connection", async () => {
    const { heard, seen, transport, orchestrator, link } = await scene();
    orchestrator.status = "pending";
    link.start();
    await heard.next("accepted");
    expect(codeOf(() => link.send(log("too early")))).toBe("AGENT_NOT_APPROVED");
    await transport.send(nodeId, { type: "status", ...command, status: "approved" });
    // No token was sent over it, so none can have failed to count.
    expect(await heard.next("statusChanged")).toMatchObject({ status: "approved", hasSentToken: false });
    link.send(log("thanks"));
    expect((await seen.next("message")).message).toEqual(log("thanks"));
    expect(heard.of("command")).toEqual([]);
    expect(heard.of("dial")).toHaveLength(1);
    await link.stop();
    await transport.stop();
  });

  test("hands commands over one at a time", async () => {
    let running = 0;
    let most = 0;
    const base = await scene();
    const handlers = {
      accepted: () => {},
      statusChanged: () => {},
      stream: async () => {},
      down: () => {},
      async command(message: OrchestratorMessage) {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        base.heard.add({ kind: "command", message });
      },
    };
    const { seen, transport, link } = base;
    await link.stop();
    const other = await scene({ handlers, dial: async () => transport.connect() });
    other.link.start();
    await seen.next("connected");
    for (let seconds = 1; seconds <= 5; seconds += 1) await transport.send(nodeId, config(seconds));
    for (let seconds = 1; seconds <= 5; seconds += 1) {
      expect((await base.heard.next("command")).message).toEqual(config(seconds));
    }
    expect(most).toBe(1);
    await other.link.stop();
    await transport.stop();
  });

  test("keeps a living connection by pings alone, both ways", async () => {
    const { clock, heard, seen, transport, link } = await scene();
    link.start();
    await heard.next("accepted");
    await clock.advance(10 * 60_000);
    expect(link.status).toBe("approved");
    expect(heard.of("down")).toEqual([]);
    expect(seen.of("disconnected")).toEqual([]);
    await link.stop();
    await transport.stop();
  });

  test("notices an orchestrator that went silent, and dials again", async () => {
    const { clock, heard, link, transport } = await scene();
    link.start();
    await heard.next("accepted");
    await transport.stop();
    await heard.next("down");
    await link.stop();

    const [near, far] = createSocketPair();
    const deaf = await scene({ dial: async () => near });
    far.listen({ frame: () => {}, closed: () => {} });
    deaf.link.start();
    await clock.advance(0);
    await deaf.clock.advance(10_001);
    expect(await deaf.heard.next("down")).toMatchObject({ code: "AGENT_TIMEOUT" });
    await deaf.link.stop();
  });
});

describe("after a connection has ended", () => {
  test("dials again and again, waiting longer each time up to a minute", async () => {
    const waits: number[] = [];
    const clock = new FakeClock();
    let lastMs = 0;
    const { link, heard } = await scene({
      clock,
      random: () => 0.999_999,
      dial: async () => {
        waits.push(Math.round((clock.monotonic() - lastMs) / 1000));
        lastMs = clock.monotonic();
        throw new Error("ECONNREFUSED");
      },
    });
    link.start();
    expect((await heard.next("down")).message).toContain("ECONNREFUSED");
    await clock.advance(400_000);
    expect(waits.slice(0, 9)).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60]);
    await link.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  test("dials again although the listener throws", async () => {
    const errors: string[] = [];
    const base = await scene();
    let dials = 0;
    const handlers = {
      accepted: () => {},
      statusChanged: () => {},
      command: async () => {},
      stream: async () => {},
      down: () => {
        throw new Error("broken listener");
      },
    };
    const { link, clock } = await scene({
      handlers,
      logger: { ...silentLogger, error: (message) => errors.push(message) },
      dial: () => {
        dials += 1;
        base.heard.add({ kind: "dial" });
        return Promise.reject(new Error("no"));
      },
    });
    link.start();
    await base.heard.next("dial");
    await clock.advance(0);
    await clock.advance(5000);
    expect(dials).toBeGreaterThan(1);
    expect(errors.length).toBeGreaterThan(0);
    await link.stop();
  });

  test("begins with short waits again once a connection has lasted", async () => {
    const { clock, heard, transport, start, link } = await scene();
    link.start();
    await heard.next("accepted");
    await clock.advance(120_000);
    await transport.stop();
    await heard.next("down");
    await start();
    await clock.advance(500);
    await heard.next("accepted");
    expect(heard.of("dial")).toHaveLength(2);
    await link.stop();
    await transport.stop();
  });

  test("is back within seconds, however often a server is restarted that serves for a while", async () => {
    expect(await waitsBetween(6, 30_000)).toEqual([2000, 4000, 8000, 8000, 8000, 8000]);
  });

  test("waits longer each time, up to a minute, for a server that accepts and drops", async () => {
    expect(await waitsBetween(8, 1000)).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  });

  test.each([
    [9_999, [1000, 2000, 4000]],
    [10_000, [2000, 4000, 8000]],
    [59_999, [2000, 4000, 8000]],
    [60_000, [1000, 1000, 1000]],
  ])("waits by how long it was served: %i ms each time", async (lastMs, waits) => {
    expect(await waitsBetween(3, lastMs)).toEqual(waits);
  });

  test("forgets what failed before once a server has taken it in again", async () => {
    const { clock, heard, transport, start, link } = await scene({ random: () => 1 });
    link.start();
    await heard.next("accepted");
    await clock.advance(120_000);
    await transport.stop();
    await clock.advance(300_000);
    await start();
    await clock.advance(60_000);
    await heard.next("accepted");
    await clock.advance(15_000);
    await transport.stop();
    await heard.next("down");
    await start();
    const dials = heard.of("dial").length;
    await clock.advance(2000);
    expect(heard.of("dial")).toHaveLength(dials + 1);
    await link.stop();
    await transport.stop();
  });

  test("does not send, and says so", async () => {
    const { heard, transport, link } = await scene();
    link.start();
    await heard.next("accepted");
    await transport.stop();
    await heard.next("down");
    expect(link.status).toBe("offline");
    expect(codeOf(() => link.send(log("nobody there")))).toBe("AGENT_OFFLINE");
    await link.stop();
  });
});

describe("an orchestrator with another key", () => {
  test("is refused and reported, and the pinned key stays", async () => {
    const { clock, heard, link, pin, transport } = await scene();
    pin.set(agentSigner.publicKey);
    link.start();
    expect(await heard.next("down")).toMatchObject({ code: "ORCHESTRATOR_KEY_CHANGED" });
    expect(pin.get()).toEqual(agentSigner.publicKey);
    expect(heard.of("accepted")).toEqual([]);
    // Half of the whole minute at once: it will hardly be better in a second.
    await clock.advance(29_999);
    expect(heard.of("dial")).toHaveLength(1);
    await clock.advance(2);
    expect(heard.of("dial")).toHaveLength(2);
    await link.stop();
    await transport.stop();
  });

  test("gets no say when the first key can't be kept", async () => {
    const { heard, link, transport } = await scene({
      pin: { get: () => null, set: () => Promise.reject(new Error("disk full")) },
    });
    link.start();
    expect(await heard.next("down")).toMatchObject({ code: "INTERNAL", message: "disk full" });
    expect(heard.of("accepted")).toEqual([]);
    await link.stop();
    await transport.stop();
  });

  test("is not up where it ended while its key was being kept", async () => {
    const gate = deferred();
    const { heard, seen, link, transport } = await scene({
      pin: { get: () => null, set: () => gate.promise },
    });
    link.start();
    await seen.next("connected");
    await transport.stop();
    await heard.next("down");
    gate.resolve();
    await settleAll();
    expect(heard.of("accepted")).toEqual([]);
    expect(link.status).toBe("offline");
    await link.stop();
  });
});

describe("stop", () => {
  test("settles before start, while dialling, while waiting and while connected, and twice", async () => {
    const idle = await scene();
    await idle.link.stop();
    await idle.link.stop();

    const dialing = await scene({
      dial: (signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
    });
    dialing.link.start();
    await dialing.link.stop();

    const waiting = await scene({ dial: () => Promise.reject(new Error("no")) });
    waiting.link.start();
    await waiting.heard.next("down");
    await waiting.link.stop();
    expect(waiting.clock.pendingTimers).toBe(0);

    const connected = await scene();
    connected.link.start();
    await connected.heard.next("accepted");
    await Promise.all([connected.link.stop(), connected.link.stop()]);
    await connected.seen.next("disconnected");
    await connected.link.done;
    await connected.transport.stop();
    expect(connected.clock.pendingTimers).toBe(0);
  });
});

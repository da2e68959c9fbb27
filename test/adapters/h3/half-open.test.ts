/**
 * An agent whose path dies without a word while both sides live, over real sockets: how soon it is back. Three times are told apart:
 *
 *   from its next dial     about 2 s: the server asks the connection that it has for a sign of life, and gives its place away
 *   from the cut           45 s more, where nothing but the heartbeat tells the agent that its path is dead
 *   from the mending       of a network that let no new connection through either: what is left of a dial that hangs, and of a wait
 */
import { expect, test } from "vitest";
import { startServer } from "../../../adapters/h3/server.ts";
import { createAgentLink, type AgentLink } from "../../../lib/agent/agent-link.ts";
import { dialWebSocket } from "../../../lib/agent/websocket-dial.ts";
import { createSystemClock } from "../../../lib/clock.ts";
import { nodeCrypto } from "../../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { EventLog } from "../../../lib/testing/event-log.ts";
import { OwnTime } from "../../support/own-time.ts";
import { openSilentPath } from "../../support/silent-path.ts";
import { isSoak } from "../../support/soak.ts";

type LinkEvent = { kind: "up" } | { kind: "down"; message: string };

interface OwnLink {
  link: AgentLink;
  heard: EventLog<LinkEvent>;
}

/** The agent of the one key, not started. */
function createLink(port: () => number): OwnLink {
  const heard = new EventLog<LinkEvent>();
  let pinned: Uint8Array | null = null;
  const link = createAgentLink({
    clock: createSystemClock({ keepsAlive: true }),
    crypto: nodeCrypto,
    identity: {
      signer: nodeCrypto.createSigner(new Uint8Array(32).fill(1)),
      boxPublicKey: nodeCrypto.createExchangeKeyPair().publicKey,
    },
    pin: { get: () => pinned, set: async (key) => void (pinned = key) },
    description: { agent_version: "0.0.0", hostname: "web-1", platform: "linux" },
    logger: silentLogger,
    random: Math.random,
    dial: (signal) => dialWebSocket(`ws://127.0.0.1:${port()}/agent/v1`, { signal }),
    handlers: {
      accepted: () => heard.add({ kind: "up" }),
      statusChanged() {},
      command: async () => {},
      stream: async () => {},
      down: ({ message }) => heard.add({ kind: "down", message }),
    },
  });
  return { link, heard };
}

async function scene() {
  const server = await startServer({ storage: new MemoryStorage(), listen: { port: 0, graceMs: 0 } });
  const port = Number(new URL(server.url).port);
  const path = await openSilentPath(port);
  return { server, port, path };
}

const secondsSince = (startMs: number): number => (performance.now() - startMs) / 1000;

test("an agent that dials anew after its path died is back in less than five seconds", async () => {
  const { server, port, path } = await scene();
  await using _ = server;
  await using silent = path;
  const before = createLink(() => silent.port);
  before.link.start();
  await before.heard.next("up");
  silent.swallow();
  const startMs = performance.now();
  using time = new OwnTime();
  const after = createLink(() => port);
  after.link.start();
  await after.heard.next("up");
  console.info(`Back ${secondsSince(startMs).toFixed(1)} s after the dial.`);
  expect(time.ms).toBeLessThan(5_000);
  expect(after.heard.of("down")).toEqual([]);
  await Promise.all([before.link.stop(), after.link.stop()]);
});

test.runIf(isSoak)(
  "an agent notices itself that its path died, and is back a few seconds later",
  { timeout: 120_000 },
  async () => {
    const { server, port, path } = await scene();
    await using _ = server;
    await using silent = path;
    let through = silent.port;
    const { link, heard } = createLink(() => through);
    link.start();
    await heard.next("up");
    silent.swallow();
    through = port;
    const startMs = performance.now();
    await heard.next("down");
    const noticedS = secondsSince(startMs);
    await heard.next("up");
    const backS = secondsSince(startMs);
    console.info(`Noticed after ${noticedS.toFixed(1)} s, back after ${backS.toFixed(1)} s.`);
    expect(backS).toBeLessThan(noticedS + 5);
    expect(heard.of("down")).toHaveLength(1);
    await link.stop();
  },
);

test.runIf(isSoak)(
  "an agent whose network was cut for a minute and a half is back within twenty seconds of its mending",
  { timeout: 180_000 },
  async () => {
    const { server, path } = await scene();
    await using _ = server;
    await using silent = path;
    const { link, heard } = createLink(() => silent.port);
    link.start();
    await heard.next("up");
    silent.cut();
    await new Promise((resolve) => setTimeout(resolve, 90_000));
    expect(heard.of("down").length).toBeGreaterThan(1);
    silent.mend();
    const startMs = performance.now();
    await heard.next("up");
    console.info(`Back ${secondsSince(startMs).toFixed(1)} s after the mending.`);
    expect(secondsSince(startMs)).toBeLessThan(20);
    await link.stop();
  },
);

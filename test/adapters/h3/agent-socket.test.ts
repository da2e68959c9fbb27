import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { ResolveHooks } from "crossws";
import crossws from "crossws/adapters/node";
import { H3 } from "h3";
import { toNodeHandler } from "h3/node";
import { listen } from "listhen";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { agentSocketHandler, agentSocketMaxPayload } from "../../../adapters/h3/agent-socket.ts";
import { dialWebSocket } from "../../../lib/agent/websocket-dial.ts";
import { toHex } from "../../../lib/crypto/encoding.ts";
import { EventLog } from "../../../lib/testing/event-log.ts";
import { SocketTransport } from "../../../lib/transport/socket-transport.ts";
import type { FrameSocket } from "../../../lib/transport/socket.ts";
import { listenForAgents } from "../../support/agent-listener.ts";

type SocketEvent =
  { kind: "frame"; frame: Uint8Array | string } | { kind: "closed"; code: number; reason: string };

/** Takes connections and keeps what comes. */
class Taker extends SocketTransport {
  readonly taken = new EventLog<{ kind: "socket"; socket: FrameSocket }>();
  override accept(socket: FrameSocket): void {
    this.taken.add({ kind: "socket", socket });
  }
}

function hear(socket: FrameSocket): EventLog<SocketEvent> {
  const heard = new EventLog<SocketEvent>();
  socket.listen({
    frame: (frame) => heard.add({ kind: "frame", frame }),
    closed: (code, reason) => heard.add({ kind: "closed", code, reason }),
  });
  return heard;
}

async function pair() {
  const taker = new Taker();
  const listener = await listenForAgents(taker);
  const agent = await dialWebSocket(listener.url);
  const { socket: orchestrator } = await taker.taken.next("socket");
  return { agent, orchestrator, close: () => listener.close() };
}

describe("a socket over WebSocket", () => {
  test("carries text and bytes both ways, in order, also what came before there was an owner", async () => {
    const { agent, orchestrator, close } = await pair();
    agent.send("one");
    agent.send(Uint8Array.of(2));
    const atAgent = hear(agent);
    orchestrator.send("three");
    orchestrator.send(new Uint8Array());
    expect((await atAgent.next("frame")).frame).toBe("three");
    expect(Buffer.from((await atAgent.next("frame")).frame as Uint8Array)).toEqual(Buffer.alloc(0));
    const atOrchestrator = hear(orchestrator);
    expect((await atOrchestrator.next("frame")).frame).toBe("one");
    expect(Buffer.from((await atOrchestrator.next("frame")).frame as Uint8Array)).toEqual(Buffer.of(2));
    expect(orchestrator.remoteAddress).toContain("127.0.0.1");
    expect(orchestrator.tlsExporter).toBe(null);
    await close();
  });

  test.each(["agent", "orchestrator"] as const)("closed by the %s, both ends hear it once", async (side) => {
    const sockets = await pair();
    const [agent, orchestrator] = [hear(sockets.agent), hear(sockets.orchestrator)];
    sockets[side].close(1008, "RATE_LIMITED");
    sockets[side].close(1000, "again");
    const seen = { kind: "closed", code: 1008, reason: "RATE_LIMITED" };
    expect(await agent.next("closed")).toEqual(seen);
    expect(await orchestrator.next("closed")).toEqual(seen);
    sockets[side].send("nobody hears this");
    sockets[side].destroy();
    await sockets.close();
    expect(agent.of("closed")).toHaveLength(1);
    expect(orchestrator.of("closed")).toHaveLength(1);
  });

  test.each(["agent", "orchestrator"] as const)(
    "a pause of the %s holds the other's frames back",
    async (side) => {
      const sockets = await pair();
      const reader = sockets[side];
      const writer = side === "agent" ? sockets.orchestrator : sockets.agent;
      const heard = hear(reader);
      hear(writer);
      reader.pause();
      for (let count = 0; count < 200; count += 1) writer.send(new Uint8Array(256 * 1024));
      expect(writer.bufferedBytes).toBeGreaterThan(0);
      reader.resume();
      for (let count = 0; count < 200; count += 1) await heard.next("frame");
      await sockets.close();
    },
  );

  // A side that does not read what the other says to it gives up after 30 seconds.
  test.each(["agent", "orchestrator"] as const)(
    "closed by the %s that has asked the other to wait, both ends hear it at once",
    { timeout: 20_000 },
    async (side) => {
      const sockets = await pair();
      const [agent, orchestrator] = [hear(sockets.agent), hear(sockets.orchestrator)];
      sockets[side].pause();
      sockets[side].close(1008, "RATE_LIMITED");
      const seen = { kind: "closed", code: 1008, reason: "RATE_LIMITED" };
      expect(await agent.next("closed")).toEqual(seen);
      expect(await orchestrator.next("closed")).toEqual(seen);
      await sockets.close();
    },
  );

  test("cut off, the other end hears it", async () => {
    const { agent, orchestrator, close } = await pair();
    const heard = hear(agent);
    hear(orchestrator);
    orchestrator.destroy();
    expect((await heard.next("closed")).code).toBe(1006);
    await close();
  });

  test.each(["ping", "pong"] as const)("a peer that sends %ss without end is cut off", async (kind) => {
    const taker = new Taker();
    const listener = await listenForAgents(taker);
    const peer = new WebSocket(listener.url);
    await once(peer, "open");
    const heard = hear((await taker.taken.next("socket")).socket);
    for (let count = 0; count < 1_000; count += 1) peer[kind]();
    peer.send("still heard");
    expect((await heard.next("frame")).frame).toBe("still heard");
    peer[kind]();
    expect((await heard.next("closed")).code).toBe(1006);
    await listener.close();
  });

  test("a peer that gives every sign of life that it is asked for is not cut off", async () => {
    const { agent, orchestrator, close } = await pair();
    const atOrchestrator = hear(orchestrator);
    hear(agent);
    for (let count = 0; count < 1_100; count += 1)
      await Promise.race([orchestrator.probe(), atOrchestrator.next("closed")]);
    agent.send("still here");
    expect((await atOrchestrator.next("frame")).frame).toBe("still here");
    expect(atOrchestrator.of("closed")).toEqual([]);
    await close();
  });

  test("a peer that answers each sign of life a hundred times is cut off", async () => {
    const taker = new Taker();
    const listener = await listenForAgents(taker);
    const peer = new WebSocket(listener.url);
    await once(peer, "open");
    const { socket } = await taker.taken.next("socket");
    const heard = hear(socket);
    peer.on("ping", () => {
      for (let count = 0; count < 100; count += 1) peer.pong();
    });
    for (let count = 0; count < 20; count += 1) void socket.probe();
    expect((await heard.next("closed")).code).toBe(1006);
    await listener.close();
  });

  test.each(["agent", "orchestrator"] as const)("the %s may ask for a sign of life", async (side) => {
    const sockets = await pair();
    const [agent, orchestrator] = [hear(sockets.agent), hear(sockets.orchestrator)];
    const other = side === "agent" ? sockets.orchestrator : sockets.agent;
    await Promise.all([sockets[side].probe(), sockets[side].probe()]);
    other.pause();
    let isAnswered = false;
    const late = sockets[side].probe().then(() => (isAnswered = true));
    other.send("written by one that does not read");
    await (side === "agent" ? agent : orchestrator).next("frame");
    expect(isAnswered).toBe(false);
    other.resume();
    await late;
    await sockets.close();
  });

  test("a frame above the limit ends the connection", async () => {
    const { agent, orchestrator, close } = await pair();
    const heard = hear(orchestrator);
    hear(agent);
    agent.send(new Uint8Array(agentSocketMaxPayload + 1));
    await heard.next("closed");
    expect(heard.of("frame")).toEqual([]);
    await close();
  });
});

test("a plain request is told to upgrade", async () => {
  const listener = await listenForAgents(new Taker());
  const response = await fetch(listener.url.replace("ws:", "http:"));
  expect(response.status).toBe(426);
  await listener.close();
});

test("over TLS both ends export the same secret, each connection another", async () => {
  const taker = new Taker();
  const app = new H3().get("/agent/v1", agentSocketHandler(taker));
  const resolve = async (request: Request): Promise<unknown> =>
    ((await app.fetch(request)) as Response & { crossws?: unknown }).crossws;
  const sockets = crossws({ resolve: resolve as ResolveHooks });
  const listener = await listen(toNodeHandler(app), {
    hostname: "127.0.0.1",
    port: 0,
    https: true,
    showURL: false,
    qr: false,
    autoClose: false,
    public: false,
    // It is called with the socket too, whatever its type says.
    ws: sockets.handleUpgrade as unknown as (request: IncomingMessage, head: Buffer) => void,
  });
  const url = `${listener.url.replace("https:", "wss:")}agent/v1`;
  await expect(dialWebSocket(url)).rejects.toThrow("certificate");
  const seen = new Set<string>();
  for (let count = 0; count < 2; count += 1) {
    const agent = await dialWebSocket(url, { allowUntrustedCertificate: true });
    const { socket } = await taker.taken.next("socket");
    expect(agent.tlsExporter).toHaveLength(32);
    expect(toHex(socket.tlsExporter ?? new Uint8Array())).toBe(toHex(agent.tlsExporter ?? new Uint8Array()));
    seen.add(toHex(agent.tlsExporter ?? new Uint8Array()));
    agent.destroy();
  }
  expect(seen.size).toBe(2);
  sockets.closeAll(1001, "", true);
  await listener.close();
  await sockets.close();
});

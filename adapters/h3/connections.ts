/** What a listening server does with connections that are slow, or half done when it closes. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { endsOf } from "./proxied-connections.ts";
import { Turns, type Served } from "./turns.ts";

/** How often a server that closes looks what has become idle. */
const lookEveryMs = 50;

/** How long a request that is half sent gets to come in whole when the server closes. */
const halfSentMs = 1_000;

/** The connections of one server. */
export interface Connections {
  /** Serves as before, the requests of each connection one after the other, and notes what is being answered. */
  listener: RequestListener;
  /** Begins to watch a server that listens. */
  watch(server: Server): void;
  /**
   * Calls back when a connection of which no more can be read has its answers; with false where one of them broke off.
   */
  whenAnswered(socket: Duplex, done: (isOpen: boolean) => void): void;
  /**
   * Whether a connection has requests whose answers are not out yet. Another protocol can't begin behind them: what it says would
   * come before, or in the place of, an answer.
   */
  isBusy(socket: Duplex): boolean;
  /** Those with an answer that is not out yet. */
  unread(): Iterable<Socket>;
  /**
   * Resolves when no request is being answered any more, or the grace is over; new ones may come meanwhile. Answers that have not begun
   * end their connections.
   */
  answered(graceMs: number): Promise<void>;
  /**
   * Ends connections as they have nothing left to do: idle ones at once, those with a half-sent request after a second, the rest when
   * they are answered or the grace is over. Call it when no new ones are taken; the function returned ends it.
   */
  drain(server: Server, graceMs: number): () => void;
}

/** Watches the connections whose requests are served. */
export function createConnections(served: Served): Connections {
  // By both ends: with TLS the socket of the requests takes the place of the one below it, which has the same.
  const sockets = new Map<string | Socket, Socket>();
  const turns = new Turns(served);

  /** Whether somebody works on a request of this connection that came in whole. */
  function isAnswering(socket: Duplex): boolean {
    if (turns.areWaiting(socket)) return true;
    const answer = turns.answerOn(socket);
    return answer !== undefined && !answer.writableFinished && !answer.destroyed && answer.req.complete;
  }

  return {
    listener: (request, response) => turns.take(request, response),
    watch(server) {
      const take = (socket: Socket): void => {
        const place = endsOf(socket) ?? socket;
        if (sockets.get(place) === socket) return;
        sockets.set(place, socket);
        socket.once("close", () => {
          if (sockets.get(place) === socket) sockets.delete(place);
        });
      };
      server.on("connection", take);
      server.on("secureConnection", take);
    },
    whenAnswered: (socket, done) => turns.whenAnswered(socket, done),
    isBusy: (socket) => turns.areWaiting(socket) || turns.answerOn(socket)?.closed === false,
    *unread() {
      for (const socket of sockets.values())
        if (turns.answerOn(socket)?.writableFinished === false) yield socket;
    },
    answered: (graceMs) =>
      whenIdle(graceMs, () => {
        const busy = [...sockets.values()].filter(isAnswering);
        for (const socket of busy) if (!turns.areWaiting(socket)) endAfter(turns.answerOn(socket));
        return busy.length === 0;
      }),
    drain(server, graceMs) {
      const startedAt = performance.now();
      const look = (): void => {
        server.closeIdleConnections();
        const elapsedMs = performance.now() - startedAt;
        if (elapsedMs < Math.min(halfSentMs, graceMs)) return;
        for (const socket of sockets.values())
          if (elapsedMs >= graceMs || !isAnswering(socket)) socket.destroy();
      };
      look();
      const timer = setInterval(look, lookEveryMs);
      return () => clearInterval(timer);
    },
  };
}

/** Looks again and again until nothing is going on, or the grace is over. */
async function whenIdle(graceMs: number, isIdle: () => boolean): Promise<void> {
  const endAt = performance.now() + graceMs;
  while (!isIdle() && performance.now() < endAt)
    await new Promise((resolve) => setTimeout(resolve, Math.min(lookEveryMs, endAt - performance.now())));
}

/** Has an answer that has not begun end its connection. */
function endAfter(answer: ServerResponse | undefined): void {
  if (answer !== undefined && !answer.headersSent) answer.shouldKeepAlive = false;
}

/**
 * Takes what listhen knows of connections out of a server: it reads the socket of a request when its answer is sent, and fails
 * there, and with it the process, where Node took it away because the body was given up. `drain` ends connections in its place.
 */
export function leaveConnectionsAlone(server: Server, listener: RequestListener): void {
  for (const other of server.listeners("request"))
    if (other !== listener) server.off("request", other as RequestListener);
  Object.assign(server, { shutdown: (closed: (error?: Error) => void) => server.close(closed) });
}

/** How long a connection without a request is kept for the next one: longer than proxies keep it. */
const keepAliveMs = 65_000;

/** Reading a request must not take for ever; writing an answer may (a stream, an apply that is waited for). */
export function limitReading(
  server: Server,
  { headersMs, requestMs }: { headersMs: number; requestMs: number },
): void {
  const connectionsCheckingInterval = Math.ceil(Math.min(headersMs, requestMs) / 4);
  Object.assign(server, {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval,
  });
  // Node looks for late requests from when it listens, every 30 seconds, and only then reads how often it is to look.
  for (const listener of server.listeners("listening")) listener.call(server);
}

/** Connections that were given back to the server once. */
const givenBack = new WeakSet<Duplex>();

/**
 * Serves a request that asked for another protocol than WebSocket (`Upgrade: h2c`) as if it had not asked: a server may
 * ignore that header (RFC 9110, 7.8), Node can't. The head is put back in front of the connection, without the wish, as the last
 * request on it: each time the server takes a connection anew costs memory for as long as the connection lives.
 */
export function serveWithoutUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { server } = socket as unknown as { server?: Server };
  if (server === undefined || givenBack.has(socket)) {
    socket.destroy();
    return;
  }
  givenBack.add(socket);
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const [name = "", value = ""] = request.rawHeaders.slice(index, index + 2);
    if (!dropped.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  lines.push("Connection: close");
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit(socket instanceof TLSSocket ? "secureConnection" : "connection", socket);
}

const dropped: ReadonlySet<string> = new Set(["upgrade", "connection", "http2-settings"]);

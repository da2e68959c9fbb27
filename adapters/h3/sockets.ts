/** The WebSocket endpoints of the server, by path. */
import { STATUS_CODES } from "node:http";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Hooks } from "crossws";
import type { OrchestratorError } from "fleetwright";
import crossws from "crossws/adapters/node";
import { serveWithoutUpgrade } from "./connections.ts";
import { httpStatusOf } from "../trpc/error-map.ts";
import type { HostCheck } from "./hosts.ts";

/** What answers the WebSockets at each path. A hook that throws or rejects ends its own connection only if it sees to that itself. */
export type SocketRoutes = ReadonlyMap<string, Partial<Hooks>>;

/** Limits of every WebSocket. */
export interface SocketLimits {
  /** Largest message in bytes; default 1 MiB. A larger one closes the connection with 1009. */
  maxMessageBytes?: number;
  /**
   * Seconds of silence after which a peer is pinged, and dropped when it stays silent; default 30. Agents are left alone: their
   * protocol has a heartbeat of its own.
   */
  idleTimeoutSeconds?: number;
}

/** All WebSockets of a server. */
export interface Sockets {
  /** Takes over a connection that asks for an upgrade. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Closes every connection (1001, going away). */
  closeAll(): void;
}

/** What sockets are made of beside their routes. */
export interface SocketsOptions extends SocketLimits {
  /** Says which hosts and web pages may open one. */
  checkHost: HostCheck;
}

const selfKeeping = new WeakSet<object>();

/**
 * Says that the protocol of these sockets finds silent peers by itself. To ping them too would be twice the work, and all of it in
 * one moment: of 10,000 agents it held the server for a third of a second.
 */
export function markSelfKeeping(hooks: Partial<Hooks>): Partial<Hooks> {
  selfKeeping.add(hooks);
  return hooks;
}

/** Prepares the sockets. A path that has none is refused with 404, a foreign web page (`Origin`) with 403. */
export function createSockets(routes: SocketRoutes, options: SocketsOptions): Sockets {
  const find = (request: Request): Partial<Hooks> => routes.get(new URL(request.url).pathname) ?? refuse(404);
  const createAdapter = (idleTimeout: number): ReturnType<typeof crossws> =>
    crossws({
      idleTimeout,
      serverOptions: { maxPayload: options.maxMessageBytes ?? 1 << 20, perMessageDeflate: false },
      resolve: find,
    });
  const pinging = createAdapter(options.idleTimeoutSeconds ?? 30);
  const quiet = createAdapter(0);
  return {
    upgrade(request, socket, head) {
      // A peer that resets in mid-handshake must not become an uncaught error.
      socket.on("error", () => socket.destroy());
      const { host, origin, upgrade = "" } = request.headers;
      if (upgrade.toLowerCase() !== "websocket") return serveWithoutUpgrade(request, socket, head);
      const refusal = options.checkHost({ host, origin });
      if (refusal !== null) return endRefused(socket, refusal);
      const path = (request.url ?? "/").split("?")[0]!;
      const adapter = selfKeeping.has(routes.get(path) ?? {}) ? quiet : pinging;
      adapter.handleUpgrade(request, socket, head).catch(() => socket.destroy());
    },
    closeAll() {
      for (const adapter of [quiet, pinging]) adapter.closeAll(1001, "going away");
    },
  };
}

function refuse(status: number): Partial<Hooks> {
  return { upgrade: () => new Response(null, { status }) };
}

/** Before a request is looked at any closer. */
function endRefused(socket: Duplex, { code }: OrchestratorError): void {
  const status = httpStatusOf[code];
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

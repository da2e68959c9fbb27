/** The WebSocket endpoints of the server, by path. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Hooks } from "crossws";
import crossws from "crossws/adapters/node";

/** What answers the WebSockets at each path. A hook that throws or rejects ends its own connection only if it sees to that itself. */
export type SocketRoutes = ReadonlyMap<string, Partial<Hooks>>;

/** Limits of every WebSocket. */
export interface SocketLimits {
  /** Largest message in bytes; default 1 MiB. A larger one closes the connection with 1009. */
  maxMessageBytes?: number;
  /** Seconds of silence after which a peer is pinged, and dropped when it stays silent; default 30. */
  idleTimeoutSeconds?: number;
}

/** All WebSockets of a server. */
export interface Sockets {
  /** Takes over a connection that asks for an upgrade. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Closes every connection (1001, going away). */
  closeAll(): void;
}

/** Prepares the sockets. A path that has none is refused with 404, a foreign web page (`Origin`) with 403. */
export function createSockets(routes: SocketRoutes, limits: SocketLimits = {}): Sockets {
  const adapter = crossws({
    idleTimeout: limits.idleTimeoutSeconds ?? 30,
    serverOptions: { maxPayload: limits.maxMessageBytes ?? 1 << 20, perMessageDeflate: false },
    resolve(request) {
      const { pathname, host } = new URL(request.url);
      const hooks = routes.get(pathname);
      if (hooks === undefined) return refuse(404);
      return isForeign(request.headers.get("origin"), host) ? refuse(403) : hooks;
    },
  });
  return {
    upgrade(request, socket, head) {
      // A peer that resets in mid-handshake must not become an uncaught error.
      socket.on("error", () => socket.destroy());
      adapter.handleUpgrade(request, socket, head).catch(() => socket.destroy());
    },
    closeAll: () => adapter.closeAll(1001, "going away"),
  };
}

function refuse(status: number): Partial<Hooks> {
  return { upgrade: () => new Response(null, { status }) };
}

/** Only browsers send an `Origin`: a page of another site has no business here. */
function isForeign(origin: string | null, host: string): boolean {
  if (origin === null) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host;
}

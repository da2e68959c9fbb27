/** The WebSocket endpoints of the server, by path. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Hooks } from "crossws";
import crossws from "crossws/adapters/node";
import { OrchestratorError } from "fleetwright";
import { acceptedRequestId } from "../http/request-id.ts";
import { serveWithoutUpgrade } from "./connections.ts";
import type { HostCheck } from "./hosts.ts";
import { endRefused } from "./raw-refusal.ts";
import { checkForm } from "./request-form.ts";

/** What answers the WebSockets at each path; a part of it in braces, as `{session_id}`, stands for any UUID there. */
export type SocketRoutes = ReadonlyMap<string, SocketHooks>;

/** What answers the WebSockets of one path. A hook that throws or rejects ends its own connection only if it sees to that itself. */
export interface SocketHooks extends Partial<Hooks> {
  /**
   * Whether its protocol finds silent peers by itself. To ping them too would be twice the work, and all of it in one moment: of
   * 10,000 agents it held the server for a third of a second. Default: no, and silent peers are pinged.
   */
  findsSilentPeers?: boolean;
}

/** Limits of every WebSocket. */
export interface SocketLimits {
  /** Largest message in bytes, 1 to 1,073,741,824; a larger one closes the connection with 1009. Default 1 MiB. */
  maxMessageBytes?: number;
  /**
   * Seconds of silence after which a peer is pinged, and dropped when it stays silent, 0.01 to 86,400; 0: silent peers are not
   * looked for. Default 30. Agents are left alone: their protocol has a heartbeat of its own.
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
  /** Makes the id of a request that brings none. */
  createRequestId: () => string;
}

/**
 * What a stranger may cost beside one message. A message in very many parts takes many times the memory of its bytes, and a socket
 * that is told to go keeps what it holds until it went: crossws leaves it half a minute.
 */
const againstFloods = { perMessageDeflate: false, maxFragments: 256, closeTimeout: 5_000 };

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What answers at a path; undefined where nothing does. */
function hooksAt(routes: SocketRoutes, path: string): SocketHooks | undefined {
  const exact = routes.get(path);
  if (exact !== undefined) return exact;
  const parts = path.split("/");
  for (const [pattern, hooks] of routes) {
    const wanted = pattern.split("/");
    const fits = (part: string, index: number): boolean =>
      part.startsWith("{") ? uuid.test(parts[index] ?? "") : part === parts[index];
    if (wanted.length === parts.length && wanted.every(fits)) return hooks;
  }
  return undefined;
}

/** Prepares the sockets. A path that has none is refused with 404, a foreign web page (`Origin`) with 403. */
export function createSockets(routes: SocketRoutes, options: SocketsOptions): Sockets {
  // Made with the first connection: it refuses to be made on Bun and Deno, where `fetch` alone is served.
  const adapters = new Map<number, ReturnType<typeof crossws>>();
  const adapterOf = (idleTimeout: number): ReturnType<typeof crossws> => {
    const adapter = adapters.get(idleTimeout) ?? createAdapter(idleTimeout);
    adapters.set(idleTimeout, adapter);
    return adapter;
  };
  const createAdapter = (idleTimeout: number): ReturnType<typeof crossws> =>
    crossws({
      idleTimeout,
      serverOptions: { maxPayload: options.maxMessageBytes ?? 1 << 20, ...againstFloods },
      resolve: (request) => hooksAt(routes, new URL(request.url).pathname) ?? {},
    });
  // As it was sent: a path that is the same only when dot segments are taken out is another.
  const find = ({ url = "" }: IncomingMessage) => hooksAt(routes, url.split("?", 1)[0] ?? "");
  const refusalOf = (request: IncomingMessage) => {
    const { host, origin } = request.headers;
    const refusal = checkForm(request) ?? options.checkHost({ host, origin });
    if (refusal !== null) return refusal;
    if (!find(request)) {
      return new OrchestratorError("NOT_FOUND", { message: "No socket is at this path." });
    }
    return request.method === "GET" ? null : new OrchestratorError("METHOD_NOT_ALLOWED");
  };
  return {
    upgrade(request, socket, head) {
      // A peer that resets in mid-handshake must not become an uncaught error.
      socket.on("error", () => socket.destroy());
      const { upgrade = "", "x-request-id": given } = request.headers;
      if (upgrade.toLowerCase() !== "websocket") return serveWithoutUpgrade(request, socket, head);
      const refusal = refusalOf(request);
      if (refusal !== null) {
        const requestId = acceptedRequestId(typeof given === "string" ? given : undefined);
        return endRefused(socket, refusal, requestId ?? options.createRequestId());
      }
      const isPinged = find(request)?.findsSilentPeers !== true;
      adapterOf(isPinged ? (options.idleTimeoutSeconds ?? 30) : 0)
        .handleUpgrade(request, socket, head)
        .catch(() => socket.destroy());
    },
    closeAll() {
      for (const adapter of adapters.values()) adapter.closeAll(1001, "going away");
    },
  };
}

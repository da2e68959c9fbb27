/** A WebSocket of crossws as a socket of whole frames. */
import { TLSSocket } from "node:tls";
import type { Message, Peer } from "crossws";
import { tlsExporterLabel } from "fleetwright";
import type { FrameSocket, SocketHandlers } from "fleetwright";
import type { SocketHooks } from "./sockets.ts";
import { createSourceAddress, type SourceAddress } from "./source-address.ts";

/**
 * Hooks that hand each connection over as a socket.
 *
 * @param accept - Takes it over, with the path that was asked for.
 * @param sourceAddress - Finds the address that it really comes from. Default: the other end of the connection.
 */
export function createSocketHooks(
  accept: (socket: FrameSocket, path: string) => void,
  sourceAddress: SourceAddress = createSourceAddress(),
): SocketHooks {
  const sockets = new WeakMap<Peer, PeerSocket>();
  return {
    open(peer) {
      // Headers that are asked for are kept for as long as the connection.
      const forwardedFor = (): string | null | undefined => peer.request?.headers.get("x-forwarded-for");
      const socket = new PeerSocket(peer, sourceAddress(peer.remoteAddress ?? null, forwardedFor));
      sockets.set(peer, socket);
      accept(socket, new URL(peer.request?.url ?? "http://localhost/").pathname);
    },
    message: (peer, message) => sockets.get(peer)?.deliver(message),
    ping: (peer) => sockets.get(peer)?.bear(),
    pong: (peer) => sockets.get(peer)?.answered(),
    close: (peer, { code = 1005, reason = "" }) => sockets.get(peer)?.end(code, reason),
  };
}

/**
 * Frames that nobody reads and a peer may send all the same, in so many milliseconds: WebSocket's own pings, and what was on the way
 * when the socket was told to go. Agents send no such pings. Whoever sends them without end, be it a stranger, would hold up
 * everybody else: hundreds of thousands fit into one turn of the event loop.
 */
const mostUnread = 1_000;
const unreadWindowMs = 15_000;

/** What crossws shows of the `ws` socket below it in Node. */
interface NodeWebSocket {
  pause?(): void;
  resume?(): void;
  _socket?: unknown;
}

class PeerSocket implements FrameSocket {
  readonly remoteAddress: string | null;
  readonly tlsExporter: Uint8Array | null;
  readonly #peer: Peer;
  #handlers: SocketHandlers | null = null;
  /** What came before there was an owner. */
  #early: (Uint8Array | string)[] = [];
  #state: "open" | "closing" | "closed" = "open";
  #unread = { count: 0, since: performance.now() };
  /** Who waits for a sign of life. */
  #probing: (() => void)[] = [];
  /** Pings that no pong came for yet. */
  #pinged = 0;

  constructor(peer: Peer, remoteAddress: string | null) {
    this.#peer = peer;
    this.remoteAddress = remoteAddress;
    this.tlsExporter = exporterOf(this.#node._socket);
  }

  get bufferedBytes(): number {
    return this.#peer.bufferedAmount;
  }

  listen(handlers: SocketHandlers): void {
    this.#handlers = handlers;
    for (const frame of this.#early) this.#hand(frame);
    this.#early = [];
  }

  deliver(message: Message): void {
    if (this.#state !== "open") return this.bear();
    const frame = typeof message.rawData === "string" ? message.rawData : message.uint8Array();
    if (this.#handlers) this.#hand(frame);
    else this.#early.push(frame);
  }

  /** Takes note of a frame that nobody reads. */
  bear(): void {
    const now = performance.now();
    if (now - this.#unread.since > unreadWindowMs) this.#unread = { count: 0, since: now };
    this.#unread.count += 1;
    if (this.#unread.count > mostUnread) this.#peer.terminate();
  }

  end(code: number, reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#handlers?.closed(code, reason);
  }

  send(frame: Uint8Array | string): void {
    if (this.#state === "open") this.#peer.send(frame, { compress: false });
  }

  pause(): void {
    if (this.#state === "open") this.#node.pause?.();
  }

  resume(): void {
    this.#node.resume?.();
  }

  probe(): Promise<void> {
    return new Promise((resolve) => {
      this.#probing.push(resolve);
      if (this.#state !== "open") return;
      this.#pinged += 1;
      this.#peer.ping();
    });
  }

  /** The peer sent a pong, be it asked for or not. */
  answered(): void {
    // What was asked for is no flood, however often: whoever dials with a copy of a key makes this side ask.
    if (this.#pinged > 0) this.#pinged -= 1;
    else this.bear();
    for (const resolve of this.#probing.splice(0)) resolve();
  }

  close(code: number, reason: string): void {
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.#peer.close(code, reason);
    // The other half of closing is a frame too: a paused socket would not see it.
    this.resume();
  }

  destroy(): void {
    if (this.#state === "closed") return;
    this.#state = "closing";
    this.#peer.terminate();
  }

  get #node(): NodeWebSocket {
    return this.#peer.websocket as NodeWebSocket;
  }

  #hand(frame: Uint8Array | string): void {
    if (this.#state === "open") this.#handlers?.frame(frame);
  }
}

/** Null behind a proxy that ends TLS, or where crossws hides the socket: then the handshake is not bound to TLS. */
function exporterOf(socket: unknown): Uint8Array | null {
  if (!(socket instanceof TLSSocket)) return null;
  return socket.exportKeyingMaterial(32, tlsExporterLabel, Buffer.alloc(0));
}

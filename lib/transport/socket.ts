/** A connection that carries whole frames both ways, whatever it runs over: a WebSocket, or a pair in memory. */

/** What the owner of a socket hears from it. */
export interface SocketHandlers {
  /** The next frame of the peer, whole and in order. Never called after `closed`, nor after the owner closed it. */
  frame(frame: Uint8Array | string): void;
  /** The connection is over; called once, also where the owner closed it. */
  closed(code: number, reason: string): void;
}

/** One end of a connection. */
export interface FrameSocket {
  /** The address of the peer; null where there is none. */
  readonly remoteAddress: string | null;
  /** 32 bytes that only the two ends of one TLS connection share ({@link tlsExporterLabel}); null without TLS. */
  readonly tlsExporter: Uint8Array | null;
  /** Bytes that were sent and are still in this process, because the peer does not read. */
  readonly bufferedBytes: number;
  /** Names the owner, once. Frames that came before are kept for it. */
  listen(handlers: SocketHandlers): void;
  /** Sends a frame; never waits, never throws. Does nothing once the socket is closed. */
  send(frame: Uint8Array | string): void;
  /** Asks for no more frames for a while: a few that are on the way may still come. */
  pause(): void;
  /** Asks for frames again. */
  resume(): void;
  /**
   * Asks the peer for a sign of life that its end gives by itself, as for a ping of WebSocket. Resolves when that has come; stays
   * open where none comes, and never rejects. A peer that is paused gives none, and none is heard while this end is paused.
   */
  probe(): Promise<void>;
  /**
   * Ends the connection after what was sent.
   *
   * @param code - 1000-1014 or 3000-4999, as in RFC 6455.
   * @param reason - At most 123 bytes.
   */
  close(code: number, reason: string): void;
  /** Ends the connection at once and drops what was not sent. */
  destroy(): void;
}

/** The label under which both ends export keying material (RFC 5705), without context. */
export const tlsExporterLabel = "EXPORTER-fleetwright-1";

/** Why a connection is closed, as RFC 6455 numbers it. */
export const closeCode = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  refused: 1008,
  internalError: 1011,
  tryAgainLater: 1013,
} as const;

/**
 * Connections to where an operator said that messages go. Whoever may write a channel could otherwise have the server call
 * its own network: an implementation looks at every address before it connects.
 *
 * What goes wrong is an answer, never a rejected promise.
 */
export interface Outbound {
  /** Certificates of authorities (PEM) that are trusted instead of those that Node trusts; absent = those. */
  readonly certificateAuthorities?: readonly string[];
  /**
   * Makes one HTTP request on a connection of its own and waits for the status. Follows no redirect, and keeps nothing of the
   * answer's body.
   */
  request(url: string, request: OutboundRequest): Promise<Answered>;
  /** Opens a connection; the caller destroys it. */
  connect(host: string, port: number, options: ConnectOptions): Promise<Connected>;
}

/** A request to make. */
export interface OutboundRequest {
  method: "GET" | "POST" | "PUT";
  /** Beside `host`, `content-length` and those of the connection, which are not to be given. */
  headers?: Readonly<Record<string, string>>;
  /** Sent as UTF-8 where it is a text. */
  body?: string | Uint8Array;
  /** Ends the request. */
  signal?: AbortSignal;
}

/** How a connection is to be. */
export interface ConnectOptions {
  /** Whether TLS begins at once, with a certificate of the given host. */
  tls: boolean;
  /** Ends the attempt to connect; a connection that is open stays. */
  signal?: AbortSignal;
}

/** An open connection: a `net.Socket` of Node, with TLS a `tls.TLSSocket`, of which these are what a sender needs. */
export interface OutboundSocket {
  /** Writes; false while more should wait for `drain`. */
  write(data: string | Uint8Array, written?: () => void): boolean;
  /** Writes, and closes this side. */
  end(data: string | Uint8Array, written?: () => void): unknown;
  /** Gives up what is not written and closes the connection. */
  destroy(): unknown;
  /** Reads and drops what comes: the end of the other side is not noticed otherwise. */
  resume(): unknown;
  /** Has a listener hear why the connection broke. */
  once(event: "error", listener: (error: Error) => void): unknown;
  /** Has a listener hear that the connection, or the other side, is over, or that more may be written. */
  once(event: "close" | "end" | "drain", listener: () => void): unknown;
  /** Has a listener hear what comes. */
  on(event: "data", listener: (data: Uint8Array) => void): unknown;
}

/** Why there is no answer or no connection. */
export interface OutboundFailure {
  ok: false;
  /** In words for an operator: nothing that the other side sent, and no address that a name led to. */
  error: string;
  /** What was asked for is wrong, so that asking again changes nothing. */
  permanent: boolean;
}

/** What came of a request. */
export type Answered =
  | {
      ok: true;
      status: number;
      /** The header `retry-after` as it came. */
      retryAfter?: string;
    }
  | OutboundFailure;

/** What came of a connection. */
export type Connected = { ok: true; socket: OutboundSocket } | OutboundFailure;

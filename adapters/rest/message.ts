/** A REST request and its answer, apart from how they travel: node.ts and fetch.ts carry them. */

import type { Connection } from "../trpc/context.ts";

/** One request. Nothing of it is trusted or decoded yet. */
export interface RestRequest extends Connection {
  /** As sent; methods are case-sensitive. */
  readonly method: string;
  /** The whole path, percent-encoded, without the query. */
  readonly path: string;
  /** What stands after the question mark; empty where nothing does. */
  readonly query: string;
  /** The address at the other end of the connection; null where there is none. */
  readonly remoteAddress: string | null;
  /** Whether it came over TLS to this server. */
  readonly isEncrypted: boolean;
  /** The value of a header by its lower-case name. */
  header(name: string): string | undefined;
  /** Whether a body was announced. */
  hasBody(): boolean;
  /**
   * Reads the body, once.
   *
   * @throws {OrchestratorError} `PAYLOAD_TOO_LARGE` past the limit; `VALIDATION_FAILED` when it broke off, or was read before.
   */
  readBody(limitBytes: number): Promise<Uint8Array>;
}

/** An answer in one piece. */
export interface RestReply {
  readonly status: number;
  /** Names and values in turn, without `content-length`: whoever sends the reply adds that. */
  readonly headers: string[];
  /** Null where the answer has no body. */
  readonly body: string | Uint8Array | null;
}

/** Answers every request, errors included: it never rejects. A `Response` is what a procedure made itself, e.g. a stream. */
export type RestHandler = (request: RestRequest) => Promise<RestReply | Response>;

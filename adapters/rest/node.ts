/** Carries REST over `node:http` as directly as can be: no `Request`, `Response` or stream adapters on the way. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { TLSSocket } from "node:tls";
import { isOrchestratorError, OrchestratorError } from "fleetwright";
import type { Logger } from "fleetwright";
import type { LocalEnd } from "../http/audience.ts";
import { readBefore, readLimited, refusesAtOnce, tooLarge } from "../http/body-limit.ts";
import type { RestHandler, RestReply, RestRequest } from "./message.ts";

/** Serves a REST surface as a listener of a `node:http` server. */
export function createRestListener(handler: RestHandler, logger: Logger): RequestListener {
  return (request, response) => {
    const carried = new NodeRestRequest(request);
    void send({ carried, response, logger }, handler(carried));
  };
}

/** An answer whose body is in pieces, which are sent as they are: to copy a long list costs more than all else about it. */
export interface PiecedReply extends Omit<RestReply, "body"> {
  readonly pieces: readonly (string | Uint8Array)[];
}

/** Serves what a handler answers; what it does not (null, and then it has not read the body) is another listener's. */
export function createPartialListener(
  handler: (request: RestRequest) => Promise<PiecedReply> | null,
  otherwise: RequestListener,
  logger: Logger,
): RequestListener {
  return (request, response) => {
    const carried = new NodeRestRequest(request);
    const reply = handler(carried);
    if (reply === null) otherwise(request, response);
    else void send({ carried, response, logger }, reply);
  };
}

/** What an answer is sent with. */
interface Exchange {
  carried: NodeRestRequest;
  response: ServerResponse;
  logger: Logger;
}

type Made = RestReply | PiecedReply | Response;

async function send({ carried, response, logger }: Exchange, reply: Promise<Made>): Promise<void> {
  try {
    const made = await reply;
    if (carried.isCutOff) response.shouldKeepAlive = false;
    if (made instanceof Response) await sendStream(response, made);
    else if ("pieces" in made) sendPieces(response, made);
    else sendReply(response, made);
  } catch (error) {
    // The client went away, or its stream broke: too late for an answer.
    logger.debug("An answer could not be sent", { path: carried.path, error });
    response.destroy();
  }
}

class NodeRestRequest implements RestRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Whether the rest of the body is not going to be read: the connection can't be used again. */
  isCutOff = false;
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage) {
    const { method = "GET", url = "/" } = request;
    const cut = url.indexOf("?");
    this.#request = request;
    this.method = method;
    this.path = cut === -1 ? url : url.slice(0, cut);
    this.query = cut === -1 ? "" : url.slice(cut + 1);
  }

  get remoteAddress(): string | null {
    return this.#request.socket.remoteAddress ?? null;
  }

  get isEncrypted(): boolean {
    return this.#request.socket instanceof TLSSocket;
  }

  get localEnd(): LocalEnd | null {
    const { localAddress: address, localPort: port } = this.#request.socket;
    return address === undefined || port === undefined ? null : { address, port };
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  hasBody(): boolean {
    const { headers, httpVersionMajor } = this.#request;
    if (headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0") return true;
    // HTTP/2 needs no length: a body may come wherever the head was not the end. Reads take none, so none is waited for.
    if (httpVersionMajor === 1 || this.method === "GET" || this.method === "HEAD") return false;
    return asHttp2(this.#request).stream?.endAfterHeaders !== true;
  }

  async readBody(limitBytes: number): Promise<Uint8Array> {
    const request = this.#request;
    if (request.readableDidRead) throw readBefore();
    if (refusesAtOnce(request.headers["content-length"], limitBytes)) {
      this.isCutOff = true;
      throw tooLarge(limitBytes);
    }
    try {
      const pieces = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
      const bytes = await readLimited(pieces, limitBytes);
      // Over HTTP/2 a body that broke off before it was read ends like a whole one.
      if (request.httpVersionMajor > 1 && asHttp2(request).aborted === true) throw new Error("aborted");
      return bytes;
    } catch (error) {
      this.isCutOff = !request.complete;
      if (isOrchestratorError(error)) throw error;
      throw new OrchestratorError("VALIDATION_FAILED", { message: "The body broke off.", cause: error });
    }
  }
}

/** What a request of a server of `node:http2` is; its stream may be gone. */
function asHttp2(request: IncomingMessage): Partial<Http2ServerRequest> {
  return request as unknown as Partial<Http2ServerRequest>;
}

/** Sends an answer that is in one piece. */
export function sendReply(response: ServerResponse, { status, headers, body }: RestReply): void {
  if (body === null) {
    response.writeHead(status, headers).end();
    return;
  }
  // Node leaves the body out for HEAD and keeps the length.
  const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
  headers.push("content-length", String(bytes));
  // A text of as many bytes as characters is ASCII, which Node sends faster when it is told.
  if (typeof body === "string" && bytes === body.length)
    response.writeHead(status, headers).end(body, "latin1");
  else response.writeHead(status, headers).end(body);
}

function sendPieces(response: ServerResponse, { pieces, ...head }: PiecedReply): void {
  if (pieces.every((piece) => typeof piece === "string"))
    return sendReply(response, { ...head, body: pieces.join("") });
  const bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  head.headers.push("content-length", String(bytes));
  response.writeHead(head.status, head.headers);
  // One write to the socket for all.
  response.cork();
  for (const piece of pieces) response.write(piece);
  response.end();
}

async function sendStream(response: ServerResponse, reply: Response): Promise<void> {
  response.writeHead(reply.status, [...reply.headers].flat());
  if (reply.body === null) response.end();
  else await pipeline(Readable.fromWeb(reply.body), response);
}

/** Carries REST over the Fetch API, for servers other than Node's and for calls within the process. */
import { isOrchestratorError, OrchestratorError } from "fleetwright";
import { readBefore, readElsewhere, readLimited, refusesAtOnce, tooLarge } from "../http/body-limit.ts";
import type { RestHandler, RestReply, RestRequest } from "./message.ts";

/** Serves a REST surface as a function from `Request` to `Response`. */
export function createRestFetch(
  handler: RestHandler,
  remoteAddress: (request: Request) => string | null = () => null,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const reply = await handler(new FetchRestRequest(request, remoteAddress(request)));
    // The handler makes none with a body for HEAD.
    if (reply instanceof Response) return reply;
    return request.method === "HEAD" ? new Response(null, toResponse(reply)) : toResponse(reply);
  };
}

/** A reply as the Fetch API has it. */
export function toResponse({ status, headers: pairs, body }: RestReply): Response {
  const headers = new Headers();
  for (let index = 0; index < pairs.length; index += 2) {
    headers.append(pairs[index] ?? "", pairs[index + 1] ?? "");
  }
  if (body !== null) headers.set("content-length", String(Buffer.byteLength(body)));
  return new Response(body, { status, headers });
}

class FetchRestRequest implements RestRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remoteAddress: string | null;
  readonly isEncrypted: boolean;
  readonly localEnd = null;
  readonly #request: Request;

  constructor(request: Request, remoteAddress: string | null) {
    const url = new URL(request.url);
    this.#request = request;
    this.method = request.method;
    this.path = url.pathname;
    this.query = url.search.slice(1);
    this.remoteAddress = remoteAddress;
    this.isEncrypted = url.protocol === "https:";
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined;
  }

  hasBody(): boolean {
    // The requests of some servers have no body any more once it was read.
    return this.#request.bodyUsed || this.#request.body !== null;
  }

  async readBody(limitBytes: number): Promise<Uint8Array> {
    if (this.#request.bodyUsed) {
      if (this.header("content-length") === "0") return new Uint8Array();
      throw readBefore();
    }
    const { body } = this.#request;
    if (body === null) return new Uint8Array();
    if (body.locked) throw readElsewhere();
    if (refusesAtOnce(this.header("content-length"), limitBytes)) throw tooLarge(limitBytes);
    try {
      const bytes = await readLimited(body as AsyncIterable<Uint8Array>, limitBytes);
      // With some servers a body that broke off before it was read ends like a whole one; others bring requests without a signal.
      const { signal } = this.#request as { signal?: AbortSignal };
      signal?.throwIfAborted();
      return bytes;
    } catch (error) {
      if (isOrchestratorError(error)) throw error;
      throw new OrchestratorError("VALIDATION_FAILED", { message: "The body broke off.", cause: error });
    }
  }
}

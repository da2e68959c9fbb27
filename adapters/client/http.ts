/** One JSON request and its answer. */
import { toApiError, unreachable } from "./api-error.ts";

/** What `createClient` needs of `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Values of a query; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** What goes with a request beside method and path. */
export interface RequestExtras {
  query?: Query | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** Whether the answer is bytes to be read as they come, a `ReadableStream`; else it is JSON. */
  asStream?: boolean;
  /** Headers beside those that every request has. */
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
  /**
   * The version of what is to be changed, as it was read: refused with `PRECONDITION_FAILED` where somebody changed it since. It is
   * the `version` of an agent, an operator, an assignment and the retention of the audit log, and the `revision` of a module.
   */
  ifVersion?: number | undefined;
  /**
   * Under which a change is carried out once, however often it is sent: 1 to 255 visible ASCII characters. Default: a new one for each
   * call. What no header can hold is not sent: the call rejects with a `TypeError`. Any other key that is none is refused by the server
   * with `VALIDATION_FAILED`.
   */
  idempotencyKey?: string | undefined;
  /** Once it is aborted no attempt follows one that failed; one that is under way is waited for, as `signal` would not. */
  noRetry?: AbortSignal | undefined;
}

/** What every call may be told beside its input. */
export type CallOptions = Pick<RequestExtras, "signal" | "ifVersion" | "idempotencyKey" | "noRetry">;

/** One request, whole. */
export interface HttpRequest extends RequestExtras {
  method: string;
  /** Below `/api/v1`, e.g. `/agents`; its parts percent-encoded. */
  path: string;
  token: string | null;
}

/**
 * Reads an address; null for what is none. Not by `URL.canParse`, which in Node 20 takes every address with a letter such as `ü` for none once
 * its caller has been optimized.
 */
export function parsedUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}

/**
 * Why no call can be made below an address; null where one can, or where only a page knows what it means. Says nothing of a user that it
 * names: a password may be among it.
 */
export function faultOfUrl(url: string): string | null {
  const parsed = parsedUrl(url);
  if (parsed === null) return null;
  const { username, password } = parsed;
  if (`${username}${password}` !== "")
    return "The address of the server must not name a user: an operator signs in with a key.";
  return /[?#]/.test(url) ? "The address of the server must have no query and no fragment." : null;
}

/** Sends requests to one server. */
export type Send = (request: HttpRequest) => Promise<unknown>;

/** Where every path of the REST surface begins. */
const basePath = "/api/v1";

/**
 * Prepares to send. The answer is the parsed body, null where there is none; a refusal is thrown as `ApiError`.
 *
 * @throws {TypeError} For an address that no call can be made below.
 */
export function createSend(url: string, fetch: Fetch): Send {
  const fault = faultOfUrl(url);
  if (fault !== null) throw new TypeError(fault);
  const root = `${url.replace(/\/+$/, "")}${basePath}`;
  return async (request) => {
    const { method, path, query, body, asStream = false, signal } = request;
    const headers = headersOf(request);
    requireSendable(headers);
    const init: RequestInit = {
      method,
      headers,
      // A redirect would carry the token to wherever it points.
      redirect: "error",
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    };
    const target = `${root}${path}${toSearch(query)}`;
    const answer = await exchange(fetch, { target, init, asStream }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw unreachable(url, error);
    });
    const { status, ok, text, stream } = answer;
    if (!ok) throw toApiError(status, text, answer.headers.get("retry-after"));
    return stream ?? parseBody(status, text);
  };
}

function headersOf({ headers, token, body, ifVersion, idempotencyKey }: HttpRequest): Record<string, string> {
  return {
    accept: "application/json",
    ...headers,
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(ifVersion !== undefined && { "if-match": `"${ifVersion}"` }),
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
  };
}

/**
 * Refuses what `fetch` would refuse before it sends anything, which must not pass for a server that can't be reached. As there, a value is
 * made a text and stripped of HTTP's white space, less than `trim` takes off. It may be a token, so it is not quoted.
 */
function requireSendable(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers))
    if (/[^\t\u0020-\u007e\u0080-\u00ff]/.test(String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "")))
      throw new TypeError(
        `A header can't hold the value of "${name}": it has characters that none may have.`,
      );
}

interface Exchange {
  target: string;
  init: RequestInit;
  asStream: boolean;
}

interface Exchanged {
  status: number;
  ok: boolean;
  text: string;
  stream: ReadableStream<Uint8Array> | null;
  headers: Headers;
}

async function exchange(fetch: Fetch, { target, init, asStream }: Exchange): Promise<Exchanged> {
  const response = await fetch(target, init);
  const { status, ok, headers } = response;
  if (asStream && ok) return { status, ok, headers, text: "", stream: response.body };
  return { status, ok, headers, text: await response.text(), stream: null };
}

function parseBody(status: number, text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw toApiError(status, text);
  }
}

function toSearch(query: Query | undefined): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (Array.isArray(value)) for (const each of value) search.append(name, String(each));
    else if (value !== undefined) search.set(name, String(value));
  }
  return search.size === 0 ? "" : `?${search.toString()}`;
}

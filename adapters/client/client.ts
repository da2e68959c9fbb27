/** A typed client of the REST surface, for programs, the command line and browsers: it needs nothing but `fetch`. */
import type { Session } from "fleetwright";
import type { ApiProblem } from "./api-error.ts";
import { ApiError } from "./api-error.ts";
import { readEvents } from "./event-stream.ts";
import type { OpenStream } from "./event-stream.ts";
import { toHex, toHexKey } from "./hex.ts";
import { createSend } from "./http.ts";
import type { Fetch, Query, RequestExtras, Send } from "./http.ts";
import { resolveRetry, unlessAborted, withRetries } from "./retry.ts";
import type { RetryOptions } from "./retry.ts";
import { openSession } from "./sign-in.ts";
import type { OperatorSigner } from "./signer.ts";
import { createVerbs } from "./verbs.ts";
import type { Verbs } from "./verbs.ts";

/** What a client is made of. */
export interface ClientOptions {
  /** Where the server is, e.g. `http://127.0.0.1:4748`, with the path that it is mounted at; without a user, a query or a fragment. */
  url: string;
  /** Signs in by itself when a call needs it, and once again when the session has ended. Default: nobody can. */
  signer?: OperatorSigner;
  /** Token of a session that was opened before. */
  token?: string;
  /** The orchestrator's public key, as 64 hex digits or base64: no other is signed in to. Default: the first that is proved. */
  orchestratorKey?: string;
  /**
   * Hears of the orchestrator's key (hex) where none was given, once it is proved and before anything is signed, e.g. to keep it. What
   * it throws ends the sign-in.
   */
  onOrchestratorKey?: (key: string) => void | Promise<void>;
  /**
   * How what fails by chance is sent again: reads, and changes, which carry an `Idempotency-Key` and so are carried out once. Waits
   * longer each time and as long as the server asks. Default: four times at most.
   */
  retry?: RetryOptions;
  /** Default the global `fetch`. */
  fetch?: Fetch;
  /**
   * Hears of each new token, e.g. to keep it. It is a secret. A promise is waited for, and so must not itself wait for `signIn`, or a
   * call that needs one; what it throws ends the session, and the call that needed it.
   */
  onToken?: (token: string) => unknown;
  /**
   * Hears why a stream waits for the server, once each time that it is away. A promise is waited for, unless the stream is ended; what it
   * throws ends the stream. Default: streams wait in silence.
   */
  onAway?: (error: ApiError) => unknown;
}

/** Calls one server as one operator. */
export interface Client extends Verbs {
  readonly url: string;
  /**
   * Calls any method of the REST surface.
   *
   * @param path - Below `/api/v1`, e.g. `/agents`; parts that come from outside percent-encoded.
   * @returns The parsed answer, null where there is none.
   * @throws {ApiError} When the server refuses or can't be reached.
   */
  request<Result>(method: string, path: string, extras?: RequestExtras): Promise<Result>;
  /**
   * Reads any stream of the REST surface, item by item, until the loop is left or the signal aborted. A connection that
   * breaks off is opened again where it left off.
   *
   * @param path - Below `/api/v1`, e.g. `/events`.
   * @throws {ApiError} When the server refuses. What the signer throws, where it has to sign in.
   */
  watch<Item>(path: string, query?: Query, signal?: AbortSignal): AsyncGenerator<Item, void>;
  /**
   * Opens a new session.
   *
   * @throws {ApiError} `UNAUTHENTICATED` without a signer; `SIGNATURE_INVALID` when the server does not know the key, or does not prove
   * its own; `ORCHESTRATOR_KEY_CHANGED` when that is not the one that was given or seen before; `ORIGIN_REFUSED` when the server does not
   * answer for `url`; `PROTOCOL_ERROR` when what it wants to have signed is not for this server and this key.
   */
  signIn(): Promise<Session>;
  /** Ends the session, if there is one. */
  signOut(): Promise<void>;
}

/**
 * Makes a client. Nothing is sent before the first call.
 *
 * @throws {TypeError} For an option that there is not; for an `orchestratorKey` that is none, and for a `url` that no call can be made below.
 */
export function createClient(options: ClientOptions): Client {
  refuseUnknown(options, knownOptions, "");
  refuseUnknown(options.retry ?? {}, knownRetryOptions, "retry.");
  const { url, signer, onToken } = options;
  const send = createSend(url, options.fetch ?? ((target, init) => fetch(target, init)));
  const retry = resolveRetry(options.retry);
  let token = options.token ?? null;
  const openAnew = createOpening(send, options);
  let signingIn: Promise<Session> | null = null;

  async function openOwnSession(): Promise<Session> {
    const session = await openAnew();
    token = session.token;
    try {
      await onToken?.(session.token);
    } catch (error) {
      // Nobody has kept it.
      await signOut().catch(() => {});
      throw error;
    }
    return session;
  }

  /** Calls that come together share one sign-in. */
  const signIn = (): Promise<Session> =>
    (signingIn ??= openOwnSession().finally(() => {
      signingIn = null;
    }));

  /** Sends once; signs in before where nobody has, and after where the session has ended. */
  async function sendSignedIn(method: string, path: string, extras: RequestExtras): Promise<unknown> {
    if (token === null && signer) await unlessAborted(signIn(), extras.signal);
    const used = token;
    try {
      return await send({ ...extras, method, path, token: used });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401 || !signer) throw error;
      // A 401 says that nothing was done, so that even a POST may be sent again.
      if (token === used) await unlessAborted(signIn(), extras.signal);
      return send({ ...extras, method, path, token });
    }
  }

  async function request<Result>(method: string, path: string, extras: RequestExtras = {}): Promise<Result> {
    // The server keeps keys by operator; a stranger has none.
    const isChange = method !== "GET" && method !== "HEAD" && (token !== null || signer !== undefined);
    const key = extras.idempotencyKey ?? (isChange ? randomKey() : undefined);
    const keyed = { ...extras, idempotencyKey: key };
    const attempt = () => sendSignedIn(method, path, keyed);
    return (await withRetries(attempt, retry, extras)) as Result;
  }

  async function signOut(): Promise<void> {
    if (token === null) return;
    const ended = token;
    token = null;
    await endSession(send, ended);
  }

  function watch<Item>(path: string, query?: Query, signal?: AbortSignal): AsyncGenerator<Item, void> {
    const open: OpenStream = (lastEventId, connection) =>
      // Once: the reader of the stream comes back by itself.
      sendSignedIn("GET", path, {
        query,
        asStream: true,
        signal: connection,
        headers: streamHeaders(lastEventId),
      }) as Promise<ReadableStream<Uint8Array>>;
    return readEvents<Item>(open, { signal, onAway: options.onAway });
  }

  return { url, request, watch, signIn, signOut, ...createVerbs(request, watch) };
}

const knownOptions: Record<keyof ClientOptions, true> = {
  url: true,
  signer: true,
  token: true,
  orchestratorKey: true,
  onOrchestratorKey: true,
  retry: true,
  fetch: true,
  onToken: true,
  onAway: true,
};
const knownRetryOptions: Record<keyof RetryOptions, true> = {
  attempts: true,
  firstPauseMs: true,
  longestPauseMs: true,
};

/** A mistyped option would be passed over in silence: `token` and `orchestratorKey` among them. What is undefined counts as not given. */
function refuseUnknown(given: object, known: object, place: string): void {
  const names = Object.entries(given).flatMap(([name, value]) =>
    value === undefined || Object.hasOwn(known, name) ? [] : [place + name],
  );
  if (names.length === 0) return;
  throw new TypeError(
    `createClient has no option ${names.join(", ")}. There are: ${Object.keys(known).join(", ")}.`,
  );
}

/** Makes what opens sessions; it holds on to the key of the first. */
function createOpening(send: Send, options: ClientOptions): () => Promise<Session> {
  const { url, signer, onOrchestratorKey } = options;
  let pinnedKey = readKey(options.orchestratorKey);
  const onKey = (key: string): void | Promise<void> => onOrchestratorKey?.(key);
  return async () => {
    if (!signer) throw new ApiError(notSignedIn);
    const opened = await openSession({ send, audience: originOf(url), pinnedKey, onKey }, signer);
    pinnedKey = opened.orchestratorKey;
    return opened.session;
  };
}

async function endSession(send: Send, token: string): Promise<void> {
  try {
    await send({ method: "DELETE", path: "/auth/session", token });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
  }
}

function streamHeaders(lastEventId: string | null): Record<string, string> {
  return { accept: "text/event-stream", ...(lastEventId !== null && { "last-event-id": lastEventId }) };
}

/** In a page, a server may be named by a path. */
function originOf(url: string): string {
  return new URL(url, (globalThis as { location?: { href: string } }).location?.href).origin;
}

function readKey(given: string | undefined): string | null {
  if (given === undefined) return null;
  const key = toHexKey(given);
  if (key === null)
    throw new TypeError("The orchestrator's key must be 32 bytes, as 64 hex digits or base64.");
  return key;
}

const notSignedIn: ApiProblem = {
  type: "about:blank",
  title: "Sign in first.",
  status: 401,
  detail: "Sign in first: the client has neither a key nor a session.",
  code: "UNAUTHENTICATED",
};

/** A UUID, version 4 (RFC 9562). `crypto.randomUUID` is not there in pages without a secure context. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return toHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** A typed client of the REST surface, for programs, the command line and browsers: it needs nothing but `fetch`. */
import type { Challenge, Session } from "fleetwright";
import type { ApiProblem } from "./api-error.ts";
import { ApiError } from "./api-error.ts";
import { createSend } from "./http.ts";
import { readEvents } from "./event-stream.ts";
import type { OpenStream } from "./event-stream.ts";
import type { Fetch, Query, RequestExtras, Send } from "./http.ts";
import { resolveRetry, withRetries } from "./retry.ts";
import type { RetryOptions } from "./retry.ts";
import { createVerbs } from "./verbs.ts";
import type { Verbs } from "./verbs.ts";

/** Signs as an operator. The private key may be kept anywhere, e.g. as a WebCrypto key that can't be exported. */
export interface OperatorSigner {
  /** Ed25519 public key, as 64 hex digits or base64. */
  publicKey: string;
  /** Ed25519 signature of the text as UTF-8, 64 bytes. */
  sign(message: string): Uint8Array | Promise<Uint8Array>;
}

/** What a client is made of. */
export interface ClientOptions {
  /** Where the server is, e.g. `http://127.0.0.1:4748`. */
  url: string;
  /** Signs in by itself when a call needs it, and once again when the session has ended. Default: nobody can. */
  signer?: OperatorSigner;
  /** Token of a session that was opened before. */
  token?: string;
  /**
   * How what fails by chance is sent again: reads, and changes, which carry an `Idempotency-Key` and so are carried out once. Waits
   * longer each time and as long as the server asks. Default: four times at most.
   */
  retry?: RetryOptions;
  /** Default the global `fetch`. */
  fetch?: Fetch;
  /** Hears of each new token, e.g. to keep it. It is a secret. */
  onToken?: (token: string) => void;
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
   * @throws {ApiError} When the server refuses.
   */
  watch<Item>(path: string, query?: Query, signal?: AbortSignal): AsyncGenerator<Item, void>;
  /**
   * Opens a new session.
   *
   * @throws {ApiError} `UNAUTHENTICATED` without a signer; `SIGNATURE_INVALID` when the server does not know the key.
   */
  signIn(): Promise<Session>;
  /** Ends the session, if there is one. */
  signOut(): Promise<void>;
}

/** Makes a client. Nothing is sent before the first call. */
export function createClient(options: ClientOptions): Client {
  const { url, signer, onToken } = options;
  const send = createSend(url, options.fetch ?? ((target, init) => fetch(target, init)));
  const retry = resolveRetry(options.retry);
  let token = options.token ?? null;
  let signingIn: Promise<Session> | null = null;

  async function openOwnSession(): Promise<Session> {
    const session = await openSession(send, signer);
    token = session.token;
    onToken?.(session.token);
    return session;
  }

  /** Calls that come together share one sign-in. */
  const signIn = (): Promise<Session> =>
    (signingIn ??= openOwnSession().finally(() => {
      signingIn = null;
    }));

  /** Sends once; signs in before where nobody has, and after where the session has ended. */
  async function sendSignedIn(method: string, path: string, extras: RequestExtras): Promise<unknown> {
    if (token === null && signer) await signIn();
    const used = token;
    try {
      return await send({ ...extras, method, path, token: used });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401 || !signer) throw error;
      // A 401 says that nothing was done, so that even a POST may be sent again.
      if (token === used) await signIn();
      return send({ ...extras, method, path, token });
    }
  }

  async function request<Result>(method: string, path: string, extras: RequestExtras = {}): Promise<Result> {
    // The server keeps keys by operator; a stranger has none.
    const isChange = method !== "GET" && method !== "HEAD" && (token !== null || signer !== undefined);
    const key = extras.idempotencyKey ?? (isChange ? crypto.randomUUID() : undefined);
    const keyed = { ...extras, idempotencyKey: key };
    const attempt = () => sendSignedIn(method, path, keyed);
    return (await withRetries(attempt, retry, extras.signal)) as Result;
  }

  async function signOut(): Promise<void> {
    if (token === null) return;
    const ended = token;
    token = null;
    try {
      await send({ method: "DELETE", path: "/auth/session", token: ended });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
    }
  }

  function watch<Item>(path: string, query?: Query, signal?: AbortSignal): AsyncGenerator<Item, void> {
    const open: OpenStream = (lastEventId, connection) =>
      // Once: the reader of the stream comes back by itself.
      sendSignedIn("GET", path, {
        query,
        asStream: true,
        signal: connection,
        headers: {
          accept: "text/event-stream",
          ...(lastEventId !== null && { "last-event-id": lastEventId }),
        },
      }) as Promise<ReadableStream<Uint8Array>>;
    return readEvents<Item>(open, signal);
  }

  return { url, request, watch, signIn, signOut, ...createVerbs(request, watch) };
}

/** Signs in by challenge. */
async function openSession(send: Send, signer: OperatorSigner | undefined): Promise<Session> {
  if (!signer) throw new ApiError(notSignedIn);
  const post = (path: string, body: object): Promise<unknown> =>
    send({ method: "POST", path, body, token: null });
  const challenge = (await post("/auth/challenge", { public_key: signer.publicKey })) as Challenge;
  const signature = toHex(await signer.sign(challenge.message));
  const { challenge_id } = challenge;
  return (await post("/auth/verify", { challenge_id, signature })) as Session;
}

const notSignedIn: ApiProblem = {
  type: "about:blank",
  title: "Sign in first.",
  status: 401,
  detail: "Sign in first: the client has neither a key nor a session.",
  code: "UNAUTHENTICATED",
};

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

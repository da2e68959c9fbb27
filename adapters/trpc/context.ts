/** What a procedure is given with each call, however the call came in. */
import { OrchestratorError } from "fleetwright";
import type { CallOrigin, ChangeOptions } from "fleetwright";
import { createAudienceCheck } from "../http/audience.ts";
import type { AudienceCheck, LocalEnd } from "../http/audience.ts";
import { toChangeOptions } from "../http/entity-tags.ts";

/** Where a call came from. */
export interface RequestInfo {
  /** The caller's own `X-Request-Id`, or one made here. Written to the audit log and into problems. */
  request_id: string;
  /** The address of the client; null where the call came from within the process. */
  source_address: string | null;
  /** The `If-Match` header as sent; null where there was none. A procedure that takes it says `rest: { conditional: true }`. */
  if_match: string | null;
  /** The `If-None-Match` header as sent; null or absent where there was none. No change takes it. */
  if_none_match?: string | null;
  /** The `Idempotency-Key` header as sent; null or absent where there was none. */
  idempotency_key?: string | null;
  /** What is wrong with the form of the input, told to those who may make the call; null or absent where nothing is. */
  input_fault?: OrchestratorError | null;
  /** Tells whether somebody on the way could read the request; absent where nobody could. */
  is_exposed?: (() => boolean) | undefined;
  /** The connection that the request came over; absent where there is none, or nobody knows it. */
  connection?: Connection | undefined;
}

/** What is looked up of a connection when it is needed: asking for it costs. */
export interface Connection {
  /** Where the request arrived; null where that is not known. */
  readonly localEnd: LocalEnd | null;
}

/** The context of every procedure. */
export interface RequestContext<Orchestrator = unknown, Caller = unknown> {
  orchestrator: Orchestrator;
  /**
   * Tells who calls, found out at the first call and kept for the request. Without an `Authorization` header it is the
   * anonymous caller: what that one may do is for the orchestrator to decide.
   *
   * @throws {OrchestratorError} `UNAUTHENTICATED` when the header is not a bearer token or the session is gone.
   */
  caller(): Promise<Caller>;
  /**
   * Asks whether the caller may use what needs a permission.
   *
   * @throws {OrchestratorError} `UNAUTHENTICATED`; `FORBIDDEN`, which is in the audit log then.
   */
  authorize(permission: string): Promise<void>;
  /** The anonymous caller, whatever the header says: for what needs no session, where an old token must not be in the way. */
  stranger(): Promise<Caller>;
  /**
   * Makes a call, at most once where the request carries an idempotency key.
   *
   * @param call - The procedure, by name, and its input as it came.
   */
  once<Output>(call: { name: string; input: unknown }, run: () => Promise<Output>): Promise<Output>;
  /** What the request demands of a change. */
  change(): ChangeOptions;
  /**
   * Refuses a sign-in that is meant for another server.
   *
   * @param audience - The origin that the caller means to talk to.
   * @throws {OrchestratorError} `ORIGIN_REFUSED`.
   */
  assertAudience(audience: string): void;
  /**
   * Refuses a request with a secret that somebody on the way could read.
   *
   * @throws {OrchestratorError} `INSECURE_CONNECTION`.
   */
  assertPrivate(): void;
  request: RequestInfo;
}

/** Makes the context of one request from where it came and its `Authorization` header. */
export type ContextFactory<Context> = (request: RequestInfo, authorization: string | undefined) => Context;

/** What the surface needs of an orchestrator beside its verbs. */
export interface AuthenticatesCallers<Caller> {
  access: {
    /**
     * Finds the session of a bearer token; without one it is the anonymous caller.
     *
     * @throws {OrchestratorError} `UNAUTHENTICATED` when there is no such session.
     */
    authenticate(token: string | null, origin: CallOrigin): Promise<Caller>;
    /**
     * Refuses a caller who may not use what needs a permission, and records the refusal.
     *
     * @throws {OrchestratorError} `UNAUTHENTICATED`; `FORBIDDEN`.
     */
    authorize(caller: Caller, permission: string): Promise<void>;
  };
  idempotency: {
    /** Runs a call, or answers as the first one with this key did. */
    once<Output>(
      caller: Caller,
      call: { key: string; permission: string; input: unknown; ifMatch?: string | null },
      run: (caller: Caller) => Promise<Output>,
    ): Promise<Output>;
  };
}

/**
 * Prepares the contexts of all requests to one orchestrator.
 *
 * @param allowedHosts - Host names of the service, for which sign-ins are made. Default: any name.
 */
export function createContextFactory<Caller, Orchestrator extends AuthenticatesCallers<Caller>>(
  orchestrator: Orchestrator,
  allowedHosts?: readonly string[],
): ContextFactory<RequestContext<Orchestrator, Caller>> {
  const service = { orchestrator, checkAudience: createAudienceCheck(allowedHosts ?? null) };
  return (request, authorization) => new CallContext(service, request, authorization);
}

/** What all contexts of one service share. */
interface Service<Orchestrator> {
  orchestrator: Orchestrator;
  checkAudience: AudienceCheck;
}

/** The context of one request. A class, so that its functions are not made anew for each. */
class CallContext<Caller, Orchestrator extends AuthenticatesCallers<Caller>> implements RequestContext<
  Orchestrator,
  Caller
> {
  readonly orchestrator: Orchestrator;
  readonly request: RequestInfo;
  readonly #service: Service<Orchestrator>;
  readonly #authorization: string | undefined;
  #caller: Promise<Caller> | undefined;

  constructor(service: Service<Orchestrator>, request: RequestInfo, authorization: string | undefined) {
    this.orchestrator = service.orchestrator;
    this.#service = service;
    this.request = request;
    this.#authorization = authorization;
  }

  caller(): Promise<Caller> {
    return (this.#caller ??= this.#authenticate());
  }

  async authorize(permission: string): Promise<void> {
    await this.orchestrator.access.authorize(await this.caller(), permission);
  }

  stranger(): Promise<Caller> {
    return this.orchestrator.access.authenticate(null, this.#origin());
  }

  async once<Output>(call: { name: string; input: unknown }, run: () => Promise<Output>): Promise<Output> {
    const { idempotency_key: key = null, if_match: ifMatch } = this.request;
    if (key === null) return run();
    const caller = await this.caller();
    const keyed = { key, permission: call.name, input: call.input, ifMatch };
    return this.orchestrator.idempotency.once(caller, keyed, (claiming) => {
      // There is one call in a request with a key.
      this.#caller = Promise.resolve(claiming);
      return run();
    });
  }

  change(): ChangeOptions {
    return toChangeOptions(this.request.if_match);
  }

  assertAudience(audience: string): void {
    this.#service.checkAudience(audience, this.request.connection?.localEnd ?? null);
  }

  assertPrivate(): void {
    if (this.request.is_exposed?.() === true) throw new OrchestratorError("INSECURE_CONNECTION");
  }

  async #authenticate(): Promise<Caller> {
    const token = this.#authorization === undefined ? null : bearerToken(this.#authorization);
    // Awaited here: a promise that an async function returns takes three steps to settle, not one.
    return await this.orchestrator.access.authenticate(token, this.#origin());
  }

  #origin(): CallOrigin {
    const { request_id, source_address } = this.request;
    return source_address === null ? { request_id } : { request_id, source_address };
  }
}

// The longest header that could hold a token of ours many times over; longer ones are not worth a hash.
const longestHeader = 512;

function bearerToken(authorization: string): string {
  const match = authorization.length <= longestHeader ? /^Bearer +(\S+) *$/i.exec(authorization) : null;
  if (match?.[1] === undefined) {
    throw new OrchestratorError("UNAUTHENTICATED", {
      message: "The Authorization header must be a bearer token.",
    });
  }
  return match[1];
}

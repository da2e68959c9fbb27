/** What a procedure is given with each call, however the call came in. */
import { OrchestratorError } from "fleetwright";
import type { CallOrigin } from "fleetwright";

/** Where a call came from. */
export interface RequestInfo {
  /** The caller's own `X-Request-Id`, or one made here. Written to the audit log and into problems. */
  request_id: string;
  /** The address of the client; null where the call came from within the process. */
  source_address: string | null;
  /** The `If-Match` header as sent; null where there was none. A procedure that takes it says `rest: { conditional: true }`. */
  if_match: string | null;
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
  request: RequestInfo;
}

/** Makes the context of one request from where it came and its `Authorization` header. */
export type ContextFactory<Context> = (request: RequestInfo, authorization: string | undefined) => Context;

/** What the surface needs of an orchestrator to know who calls. */
export interface AuthenticatesCallers<Caller> {
  access: {
    /**
     * Finds the session of a bearer token; without one it is the anonymous caller.
     *
     * @throws {OrchestratorError} `UNAUTHENTICATED` when there is no such session.
     */
    authenticate(token: string | null, origin: CallOrigin): Promise<Caller>;
  };
}

/** Prepares the contexts of all requests to one orchestrator. */
export function createContextFactory<Caller, Orchestrator extends AuthenticatesCallers<Caller>>(
  orchestrator: Orchestrator,
): ContextFactory<RequestContext<Orchestrator, Caller>> {
  return (request, authorization) => {
    let found: Promise<Caller> | undefined;
    const find = async (): Promise<Caller> => {
      const { request_id, source_address } = request;
      const origin = { request_id, ...(source_address !== null && { source_address }) };
      return orchestrator.access.authenticate(
        authorization === undefined ? null : bearerToken(authorization),
        origin,
      );
    };
    return { orchestrator, request, caller: () => (found ??= find()) };
  };
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

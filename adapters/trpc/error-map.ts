/** What each error is over tRPC. */
import { TRPCError } from "@trpc/server";
import type { TRPC_ERROR_CODE_KEY } from "@trpc/server/rpc";
import { isOrchestratorError, OrchestratorError, toIssues } from "fleetwright";
import type { ErrorCode, Issue, SchemaFault } from "fleetwright";
import { httpStatusOf, type ErrorStatus } from "../http/status.ts";

const trpcCodeOfStatus = {
  400: "BAD_REQUEST",
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  405: "METHOD_NOT_SUPPORTED",
  409: "CONFLICT",
  412: "PRECONDITION_FAILED",
  413: "PAYLOAD_TOO_LARGE",
  408: "TIMEOUT",
  // tRPC has no code for these four; nothing that it serves throws them.
  414: "PAYLOAD_TOO_LARGE",
  421: "BAD_REQUEST",
  426: "METHOD_NOT_SUPPORTED",
  431: "PAYLOAD_TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
  422: "UNPROCESSABLE_CONTENT",
  429: "TOO_MANY_REQUESTS",
  500: "INTERNAL_SERVER_ERROR",
  502: "BAD_GATEWAY",
  503: "SERVICE_UNAVAILABLE",
  504: "GATEWAY_TIMEOUT",
} as const satisfies Record<ErrorStatus, TRPC_ERROR_CODE_KEY>;

/** The tRPC code of an error code: the one that tRPC itself answers with the same HTTP status. */
export function trpcCodeOf(code: ErrorCode): TRPC_ERROR_CODE_KEY {
  return trpcCodeOfStatus[httpStatusOf[code]];
}

/** What tRPC itself throws before a procedure is reached. Its own texts are kept: they are about the request only. */
const codeOfTrpc: Partial<Record<TRPC_ERROR_CODE_KEY, ErrorCode>> = {
  BAD_REQUEST: "VALIDATION_FAILED",
  PARSE_ERROR: "VALIDATION_FAILED",
  UNAUTHORIZED: "UNAUTHENTICATED",
  FORBIDDEN: "FORBIDDEN",
  NOT_FOUND: "NOT_FOUND",
  METHOD_NOT_SUPPORTED: "METHOD_NOT_ALLOWED",
  PAYLOAD_TOO_LARGE: "PAYLOAD_TOO_LARGE",
  UNSUPPORTED_MEDIA_TYPE: "UNSUPPORTED_MEDIA_TYPE",
  TOO_MANY_REQUESTS: "RATE_LIMITED",
  SERVICE_UNAVAILABLE: "UNAVAILABLE",
};

/**
 * Turns whatever was thrown into an {@link OrchestratorError}. Faults that a schema found in the input become the issues of
 * a `VALIDATION_FAILED`; what nobody expected becomes `INTERNAL`, says nothing of itself and keeps the original as `cause`.
 */
export function toOrchestratorError(error: unknown): OrchestratorError {
  if (isOrchestratorError(error)) return error;
  if (!(error instanceof TRPCError)) return new OrchestratorError("INTERNAL", { cause: error });
  if (isOrchestratorError(error.cause)) return error.cause;
  if (isBodyTooLarge(error.cause)) return new OrchestratorError("PAYLOAD_TOO_LARGE", { cause: error });
  const code = codeOfTrpc[error.code];
  if (code === undefined) return new OrchestratorError("INTERNAL", { cause: error.cause ?? error });
  const faults = schemaFaults(error.cause);
  if (faults !== null) return new OrchestratorError(code, { issues: faults, cause: error });
  return new OrchestratorError(code, { message: error.message, cause: error });
}

/** A body whose length was not announced is found too large while tRPC reads it, which calls that a broken input. */
function isBodyTooLarge(cause: unknown): boolean {
  return typeof cause === "object" && cause !== null && "status" in cause && cause.status === 413;
}

/** Turns whatever was thrown into the error that tRPC expects, with the matching code. */
export function toTrpcError(error: unknown): TRPCError {
  if (error instanceof TRPCError && !isOrchestratorError(error.cause)) return error;
  const cause = toOrchestratorError(error);
  return new TRPCError({ code: trpcCodeOf(cause.code), message: cause.message, cause });
}

/** The faults that a schema found, or null where the error is not a schema's. */
function schemaFaults(error: unknown): Issue[] | null {
  if (typeof error !== "object" || error === null || !("issues" in error)) return null;
  if (!Array.isArray(error.issues)) return null;
  return toIssues(error.issues as SchemaFault[]);
}

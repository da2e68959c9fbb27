/** What the server answers when it refuses, as an error to catch. */
import type { ErrorCode } from "fleetwright";

/** A fault of the input: where it is and what is wrong. */
export interface ProblemFault {
  /** JSON Pointer (RFC 6901) to the faulty value. */
  pointer: string;
  message: string;
  /** Line in an uploaded text, from 1. */
  line?: number;
  /** Column in an uploaded text, from 1. */
  column?: number;
}

/** The problem document (RFC 9457) that the server sent. */
export interface ApiProblem {
  type: string;
  title: string;
  status: number;
  detail: string;
  /** Stable: decide by this. A newer server may send codes that this version does not know. */
  code: ErrorCode | (string & {});
  request_id?: string;
  errors?: ProblemFault[];
  details?: Record<string, unknown>;
}

/** The server refused, or could not be reached. `code` is stable; `message` is for people. */
export class ApiError extends Error {
  /** HTTP status; 0 where no answer came. */
  readonly status: number;
  readonly code: ApiProblem["code"];
  readonly problem: ApiProblem;
  /** After how many milliseconds the server wants to be asked again (`Retry-After`); null where it did not say. */
  readonly retryAfterMs: number | null;

  constructor(problem: ApiProblem, cause?: unknown, retryAfterMs: number | null = null) {
    super(problem.detail, cause === undefined ? {} : { cause });
    this.name = "ApiError";
    this.status = problem.status;
    this.code = problem.code;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The server could not be reached, or its answer could not be read. */
export function unreachable(url: string, cause: unknown): ApiError {
  const title = "The server can't be reached.";
  const reason = reasonOf(cause);
  const words = lastingReasons.find(([pattern]) => pattern.test(reason))?.[1];
  const why = words === undefined ? "" : `: ${words}`;
  const told = reason === "" ? "" : ` (${reason})`;
  const advice = distrusts.test(reason)
    ? " NODE_EXTRA_CA_CERTS names a file with an authority to trust."
    : "";
  const detail = `${url} can't be reached${why}${told}.${advice}`;
  return new ApiError({ type: "about:blank", title, status: 0, detail, code: "UNAVAILABLE" }, cause);
}

/** Whether a server was not reached for a reason that no waiting takes away: somebody has to do something. */
export function isLasting({ status, cause }: ApiError): boolean {
  const reason = reasonOf(cause);
  return status === 0 && lastingReasons.some(([pattern]) => pattern.test(reason));
}

/** Reads the problem out of an answer that is not a success; makes one up where something in between answered. */
export function toApiError(status: number, body: string, retryAfter: string | null = null): ApiError {
  const retryAfterMs = parseRetryAfter(retryAfter);
  const problem = parseProblem(body);
  if (problem) return new ApiError(problem, undefined, retryAfterMs);
  const detail = `The server answered with status ${status} and no explanation.`;
  const title = "Unexpected answer";
  return new ApiError(
    { type: "about:blank", title, status, detail, code: "PEER_ERROR" },
    undefined,
    retryAfterMs,
  );
}

/** Seconds, or a date (RFC 9110, 10.2.3). */
function parseRetryAfter(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}

function parseProblem(body: string): ApiProblem | null {
  try {
    const value: unknown = JSON.parse(body);
    return isProblem(value) ? value : null;
  } catch {
    return null;
  }
}

function isProblem(value: unknown): value is ApiProblem {
  if (typeof value !== "object" || value === null) return false;
  const { code, detail, status } = value as Partial<ApiProblem>;
  return typeof code === "string" && typeof detail === "string" && typeof status === "number";
}

/** What Node says of a certificate whose authority it does not know (OpenSSL's names of verification errors). */
const distrusts = /UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT)|SELF_SIGNED_CERT/;

/** Reasons that stay, in words. */
const lastingReasons: readonly (readonly [RegExp, string])[] = [
  [distrusts, "its certificate is not trusted here"],
  [/^CERT_HAS_EXPIRED$/, "its certificate has expired by the clock of this machine"],
  [/^CERT_NOT_YET_VALID$/, "its certificate is not valid yet by the clock of this machine"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "its certificate is for another name"],
  // What OpenSSL takes the beginning of an answer of HTTP for, by its version.
  [
    /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/,
    "it does not speak TLS, as https:// asks for",
  ],
];

/** `fetch` hides why it failed in a chain of causes; the innermost code says it best. */
function reasonOf(error: unknown): string {
  let reason = "";
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as Error & { code?: unknown };
    if (typeof code === "string") reason = code;
  }
  return reason;
}

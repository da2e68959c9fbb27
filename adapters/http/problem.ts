/** Errors as RFC 9457 problem details: the one shape that REST and tRPC answer with. */
import { errorTable, OrchestratorError } from "fleetwright";
import type { ErrorCode, ErrorOptions, Issue } from "fleetwright";
import { httpStatusOf } from "./status.ts";

/** The media type of a {@link Problem}. */
export const problemMediaType = "application/problem+json";

/** A fault of the input: where it is, as a JSON Pointer (RFC 6901), and what is wrong. */
export interface ProblemFault {
  pointer: string;
  message: string;
  line?: number;
  column?: number;
}

/** The body of every answer that is not a success. */
export interface Problem {
  /** Path of the page that explains the code. */
  type: string;
  title: string;
  status: number;
  detail: string;
  /** Stable: programs decide by this. */
  code: ErrorCode;
  request_id: string;
  errors?: ProblemFault[];
  /** Facts for programs. */
  details?: OrchestratorError["details"];
}

/** The last part of the path of the page about a code: `AGENT_OFFLINE` -> `agent-offline`. */
export function problemSlug(code: ErrorCode): string {
  return code.toLowerCase().replaceAll("_", "-");
}

/** Describes an error to the caller of the request with this id. */
export function toProblem(error: OrchestratorError, requestId: string): Problem {
  const problem: Problem = {
    type: `/problems/${problemSlug(error.code)}`,
    title: errorTable[error.code].message,
    status: httpStatusOf[error.code],
    detail: shorten(error.message),
    code: error.code,
    request_id: requestId,
  };
  if (error.issues.length > 0) problem.errors = toFaults(error.issues);
  if (Object.keys(error.details).length > 0) problem.details = error.details;
  return problem;
}

/** The request id of every example. */
const exampleRequestId = "5f0f3c5e0b5d4f6a-1";

/** What some errors say beside their code. */
const exampleOptions: Partial<Record<ErrorCode, ErrorOptions>> = {
  VALIDATION_FAILED: {
    issues: [{ path: ["limit"], message: "This must be a number, not text." }],
  },
  MODULE_INVALID: {
    issues: [{ path: ["resources", 0, "path"], message: "A path must be absolute.", line: 3, column: 21 }],
  },
  RATE_LIMITED: { details: { retry_after_seconds: 12 } },
  IN_USE: { message: "Module web is used by all-web.", details: { used_by: ["all-web"] } },
};

/** What a problem of this code looks like. */
export function exampleProblem(code: ErrorCode): Problem {
  return toProblem(new OrchestratorError(code, exampleOptions[code]), exampleRequestId);
}

/** Seconds after which a caller may try again, where that makes sense. */
const defaultRetrySeconds: Partial<Record<number, number>> = { 429: 1, 503: 5 };

/** The headers that an error asks for beside its problem: names and values in turn. */
export function problemHeaders(error: OrchestratorError): string[] {
  const status = httpStatusOf[error.code];
  if (status === 401) {
    const isInvalid = error.details["reason"] === "invalid_token";
    return ["www-authenticate", isInvalid ? 'Bearer error="invalid_token"' : "Bearer"];
  }
  if (status === 426) return ["upgrade", "websocket", "connection", "Upgrade, close"];
  const fallback = defaultRetrySeconds[status];
  if (fallback === undefined) return [];
  const seconds = error.details["retry_after_seconds"];
  return ["retry-after", String(typeof seconds === "number" ? Math.max(1, Math.ceil(seconds)) : fallback)];
}

/** Most faults that one answer names: nobody mends more at a time, and a request must not grow on its way back. */
const mostFaults = 100;

/** Longest text of an answer that may repeat what was sent, characters. */
const longestText = 1_000;

function toFaults(issues: readonly Issue[]): ProblemFault[] {
  const faults = issues.slice(0, mostFaults).map(toFault);
  const more = issues.length - faults.length;
  return more === 0
    ? faults
    : [...faults, { pointer: "", message: `There ${more === 1 ? "is" : "are"} ${more} more.` }];
}

function shorten(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText)}…`;
}

function toFault(issue: Issue): ProblemFault {
  const fault: ProblemFault = { pointer: shorten(toPointer(issue.path)), message: shorten(issue.message) };
  if (issue.line !== undefined) fault.line = issue.line;
  if (issue.column !== undefined) fault.column = issue.column;
  return fault;
}

function toPointer(path: readonly (string | number)[]): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

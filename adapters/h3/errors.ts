/** Problems and headers for whatever h3 answers itself. */
import type { H3Event, HTTPError } from "h3";
import { OrchestratorError } from "fleetwright";
import type { ErrorCode, Logger } from "fleetwright";
import { acceptedRequestId } from "../http/request-id.ts";
import { eventStreamCacheControl, eventStreamMediaType } from "../rest/event-stream.ts";
import { createReplies } from "../rest/replies.ts";
import { toOrchestratorError } from "../trpc/error-map.ts";

/** What h3 itself refuses, by status. */
const codeOfStatus: Partial<Record<number, ErrorCode>> = {
  400: "VALIDATION_FAILED",
  404: "NOT_FOUND",
  405: "METHOD_NOT_ALLOWED",
  413: "PAYLOAD_TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
};

/** Makes h3's error hook: whatever is thrown is answered with a problem, and logged where nobody expected it. */
export function createErrorAnswer(
  logger: Logger,
  createRequestId: () => string,
): (thrown: HTTPError, event: H3Event) => Response {
  const replies = createReplies("");
  return (thrown, event) => {
    const requestId = acceptedRequestId(event.req.headers.get("x-request-id")) ?? createRequestId();
    const error = toError(thrown);
    if (error.code === "INTERNAL") {
      const path = event.url.pathname;
      logger.error("A request failed unexpectedly", { request_id: requestId, path, error: error.cause });
    }
    const { status, headers, body } = replies.failure(error, requestId);
    const response = new Response(event.req.method === "HEAD" ? null : body, { status });
    for (let index = 0; index < headers.length; index += 2) {
      response.headers.set(headers[index] ?? "", headers[index + 1] ?? "");
    }
    return response;
  };
}

function toError(thrown: HTTPError): OrchestratorError {
  const refused = thrown.unhandled === true ? undefined : codeOfStatus[thrown.status];
  return refused === undefined ? toOrchestratorError(thrown.cause ?? thrown) : new OrchestratorError(refused);
}

/** What every answer but those of REST tells browsers, by name and value. */
export const securityHeaders = [
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"],
  ["referrer-policy", "no-referrer"],
  ["x-frame-options", "DENY"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
] as const;

/**
 * Middleware for everything that h3 answers. REST writes its own headers, fewer: its answers are never rendered. They take the place of
 * what an answer has itself, but for what a stream of events tells compressors.
 */
export async function addSecurityHeaders(event: H3Event, next: () => unknown): Promise<unknown> {
  const { headers, errHeaders } = event.res;
  for (const [name, value] of securityHeaders) {
    headers.set(name, value);
    errHeaders.set(name, value);
  }
  const answer = await next();
  if (answer instanceof Response && answer.headers.get("content-type")?.startsWith(eventStreamMediaType))
    headers.set("cache-control", eventStreamCacheControl);
  return answer;
}

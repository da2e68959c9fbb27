/** Writes answers. Everything that does not differ between two answers is built once. */
import { OrchestratorError } from "fleetwright";
import { namesEntityTag, toEntityTag, toVersionTag } from "../http/entity-tags.ts";
import { problemHeaders, problemMediaType, toProblem } from "../http/problem.ts";
import { httpStatusOf } from "../http/status.ts";
import type { RestReply } from "./message.ts";
import type { EncodedText } from "./public-text.ts";
import type { Rendering } from "./rendering.ts";
import type { RestRoute } from "./routes.ts";

/** What an answer takes from its request. */
export interface Asked {
  requestId: string;
  /** The request's `If-None-Match`. */
  ifNoneMatch?: string | undefined;
}

/** A success to be written. */
export interface Success extends Asked {
  route: RestRoute;
  /** What the output schema let through. */
  output: unknown;
  /** The value of `Preference-Applied`; null where no preference was. */
  applied: string | null;
}

/** The answers of one surface. */
export interface Replies {
  success(success: Success): RestReply | Response;
  /** What was read, as text already. */
  rendered(rendering: Rendering, asked: Asked): RestReply;
  failure(error: OrchestratorError, requestId: string): RestReply;
  /** A text that is JSON already and the same for everybody. */
  document(text: EncodedText, requestId: string): RestReply;
  /** To a method that has no route at a path where these have. */
  otherMethod(method: string, allowed: string[], requestId: string): RestReply;
}

const common = ["cache-control", "no-store", "x-content-type-options", "nosniff"] as const;
const json = ["content-type", "application/json", ...common] as const;
const problem = ["content-type", problemMediaType, ...common] as const;

function failure(error: OrchestratorError, requestId: string): RestReply {
  return {
    status: httpStatusOf[error.code],
    headers: [...problem, "x-request-id", requestId, ...problemHeaders(error)],
    body: JSON.stringify(toProblem(error, requestId)),
  };
}

function rendered({ body, etag }: Rendering, { requestId, ifNoneMatch }: Asked): RestReply {
  if (etag === null) return { status: 200, headers: [...json, "x-request-id", requestId], body };
  if (namesEntityTag(ifNoneMatch, etag))
    return { status: 304, headers: [...common, "x-request-id", requestId, "etag", etag], body: null };
  return { status: 200, headers: [...json, "x-request-id", requestId, "etag", etag], body };
}

/** Prepares the answers of the surface below a path. */
export function createReplies(basePath: string): Replies {
  function success({ route, output, applied, ...asked }: Success): RestReply | Response {
    const { requestId } = asked;
    if (output instanceof Response) return withCommonHeaders(output, requestId);
    const status = successStatus(route, output);
    if (status === 204) return { status, headers: [...common, "x-request-id", requestId], body: null };
    const body = JSON.stringify(output);
    const version = versionOf(route, output);
    if (route.method === "GET" && version !== null)
      return rendered({ body, etag: toEntityTag(version, body) }, asked);
    const headers = [...json, "x-request-id", requestId];
    if (route.location !== null && status !== 200)
      headers.push("location", basePath + route.location(output));
    if (applied !== null) headers.push("preference-applied", applied);
    if (version !== null) headers.push("etag", toVersionTag(version));
    return { status, headers, body };
  }

  function otherMethod(method: string, allowed: string[], requestId: string): RestReply {
    const methods = new Set([...allowed, ...(allowed.includes("GET") ? ["HEAD"] : []), "OPTIONS"]);
    const allow = ["allow", [...methods].sort().join(", ")];
    if (method === "OPTIONS") {
      return { status: 204, headers: [...common, "x-request-id", requestId, ...allow], body: null };
    }
    const refusal = failure(new OrchestratorError("METHOD_NOT_ALLOWED"), requestId);
    return { ...refusal, headers: [...refusal.headers, ...allow] };
  }

  return {
    success,
    rendered,
    failure,
    otherMethod,
    document: ({ body, encoding }, requestId) => ({
      status: 200,
      headers: [
        ...json,
        "x-request-id",
        requestId,
        "vary",
        "accept-encoding",
        ...(encoding === null ? [] : ["content-encoding", encoding]),
      ],
      body,
    }),
  };
}

/** Null also for an answer that an earlier version kept for a call that is repeated: it has none. */
function versionOf(route: RestRoute, output: unknown): number | null {
  const version: unknown = route.version === null ? null : route.version(output);
  return typeof version === "number" ? version : null;
}

function successStatus(route: RestRoute, output: unknown): number {
  if (typeof route.status === "function") return route.status(output);
  return route.status ?? (output === undefined ? 204 : 200);
}

function withCommonHeaders(response: Response, requestId: string): Response {
  const headers = new Headers(response.headers);
  for (let index = 0; index < common.length; index += 2) {
    const [name, value] = [common[index], common[index + 1]];
    if (name !== undefined && value !== undefined && !headers.has(name)) headers.set(name, value);
  }
  headers.set("x-request-id", requestId);
  return new Response(response.body, { status: response.status, headers });
}

/** The REST surface: every procedure of a router that has a route, by its own method and path, as JSON. */
import type { AnyRouter } from "@trpc/server";
import { OrchestratorError } from "fleetwright";
import type { Logger } from "fleetwright";
import { defaultBodyLimitBytes, strangerBodyLimitBytes } from "../http/body-limit.ts";
import { acceptedRequestId } from "../http/request-id.ts";
import type { ContextFactory, RequestContext } from "../trpc/context.ts";
import { toOrchestratorError } from "../trpc/error-map.ts";
import { requireKnownConditions, requirePermission } from "../trpc/trpc.ts";
import { toEventStream } from "./event-stream.ts";
import { readJsonBody, toInput } from "./input.ts";
import type { RestHandler, RestReply, RestRequest } from "./message.ts";
import { readPreferences } from "./preferences.ts";
import type { WaitBounds } from "./preferences.ts";
import { PublicText } from "./public-text.ts";
import type { Reads } from "./reads.ts";
import { createReplies } from "./replies.ts";
import type { Replies } from "./replies.ts";
import type { RestRoute } from "./routes.ts";
import { createRouteTable, resumeField } from "./routes.ts";

/** What the REST surface is made of. */
export interface RestOptions<Context extends RequestContext> {
  router: AnyRouter;
  /** The router's queries, where another surface shows them, too: the two share what they write. Default: its own. */
  reads?: Reads;
  createContext: ContextFactory<Context>;
  /** Makes the id of a request that brings none. */
  createRequestId: () => string;
  /** Gets every error that nobody expected, with the request id that the caller was told. */
  logger: Logger;
  /** What every path begins with, without a slash at the end; default `/api/v1`. */
  basePath?: string;
  /**
   * JSON texts that are served as they are, compressed where that is taken, by path below the base path; a function makes its text when it
   * is first asked for. Open to everyone.
   */
  documents?: ReadonlyMap<string, string | (() => string | Promise<string>)>;
  /** Size limit of a request body in bytes; default 1 MiB. */
  bodyLimitBytes?: number;
  /** Finds the client's address; default: the other end of the connection. */
  sourceAddress?: (request: RestRequest) => string | null;
  /** Tells whether somebody on the way could read the request; default: nobody could. */
  isExposed?: (request: RestRequest) => boolean;
}

/** Where every path begins unless the options say otherwise. */
export const defaultBasePath = "/api/v1";

/** Builds the surface. The routes are worked out here, once; a procedure that contradicts itself throws. */
export function createRestHandler<Context extends RequestContext>(
  options: RestOptions<Context>,
): RestHandler {
  const { createRequestId, basePath = defaultBasePath } = options;
  const documents = new Map(
    [...(options.documents ?? [])].map(([path, text]) => [path, new PublicText(text)]),
  );
  const table = createRouteTable(options.router, options.reads);
  const replies = createReplies(basePath);
  const run = createRun(options, replies);
  const fail = createFailure(options.logger, replies);
  const prefix = `${basePath}/`;

  function answer(request: RestRequest, requestId: string): RestReply | Promise<RestReply | Response> {
    const path = request.path.startsWith(prefix) ? request.path.slice(basePath.length) : "";
    const document = documents.get(path);
    if (document !== undefined) {
      if (request.query !== "") throw noParameters();
      if (isRead(request.method))
        return document
          .for(request.header("accept-encoding"))
          .then((text) => replies.document(text, requestId));
      return replies.otherMethod(request.method, ["GET"], requestId);
    }
    const match = table.find(path);
    if (match === null) throw nothingHere();
    // Without a route of its own, HEAD is GET; the transport leaves the body out.
    const route = match.methods.get(request.method === "HEAD" ? "GET" : request.method);
    if (route === undefined) return replies.otherMethod(request.method, [...match.methods.keys()], requestId);
    return run({ request, requestId, route, values: match.values });
  }

  return async (request) => {
    const requestId = acceptedRequestId(request.header("x-request-id")) ?? createRequestId();
    try {
      return await answer(request, requestId);
    } catch (thrown) {
      return fail(thrown, request, requestId);
    }
  };
}

/** A request that has found its route. */
interface Found {
  request: RestRequest;
  requestId: string;
  route: RestRoute;
  values: readonly string[];
}

/** Makes what calls the procedure of a route. */
function createRun<Context extends RequestContext>(options: RestOptions<Context>, replies: Replies) {
  const { createContext, bodyLimitBytes = defaultBodyLimitBytes } = options;
  const { sourceAddress = (request: RestRequest) => request.remoteAddress, isExposed } = options;
  return async ({ request, requestId, route, values }: Found): Promise<RestReply | Response> => {
    const info = {
      request_id: requestId,
      source_address: sourceAddress(request),
      if_match: request.header("if-match") ?? null,
      if_none_match: request.header("if-none-match") ?? null,
      idempotency_key: isRead(request.method) ? null : (request.header("idempotency-key") ?? null),
      connection: request,
      is_exposed: isExposed && ((): boolean => isExposed(request)),
    };
    const authorization = request.header("authorization");
    const context = createContext(info, authorization);
    // Whoever may not do this is turned away before anything else of the request is looked at, the body unread.
    if (route.isProtected) {
      if (authorization === undefined) throw new OrchestratorError("UNAUTHENTICATED");
      await requirePermission(context, route.permission);
    }
    if (!isRead(request.method)) requireKnownConditions(info, route.isConditional);
    const limit = route.isProtected ? bodyLimitBytes : Math.min(bodyLimitBytes, strangerBodyLimitBytes);
    const body = request.hasBody() ? await readJsonBody(request, route, limit) : {};
    const applied = route.waits && applyPreferences(request.header("prefer"), route.waits, body);
    const input = toInput({ route, values, query: request.query, body });
    // What is made as it is sent is not made for nobody: a backup would be written into the audit log.
    if (request.method === "HEAD" && route.produces !== null)
      return replies.success({ route, output: headOf(route.produces), applied: null, requestId });
    // An old token is not in the way of a sign-in, with a key or without.
    const isKeyed = info.idempotency_key !== null && route.isProtected;
    if (route.isStream || isKeyed) {
      const output = await (route.isStream
        ? stream(route, context, resume(input, request))
        : context.once({ name: route.name, input }, () => callOrFail(route, context, input)));
      return replies.success({ route, output, applied, requestId });
    }
    const answer = await route.call.run(context, input);
    const ifNoneMatch = info.if_none_match ?? undefined;
    const rendering = route.render(answer);
    if (rendering !== null) return replies.rendered(rendering, { requestId, ifNoneMatch });
    const output = await route.call.toOutput(answer);
    return replies.success({ route, output, applied, requestId, ifNoneMatch });
  };
}

/** Has a preference stand for what the body does not say. Returns what was applied. */
function applyPreferences(
  header: string | undefined,
  waits: WaitBounds,
  body: Record<string, unknown>,
): string | null {
  const preferences = readPreferences(header, waits);
  if (preferences === null || Object.hasOwn(body, "wait_seconds")) return null;
  body["wait_seconds"] = preferences.waitSeconds;
  return preferences.applied;
}

/** What is kept of a call with an idempotency key must not know of tRPC. */
async function callOrFail(route: RestRoute, context: object, input: unknown): Promise<unknown> {
  try {
    return await route.call.toOutput(await route.call.run(context, input));
  } catch (thrown) {
    throw toOrchestratorError(thrown);
  }
}

/** Where a subscription goes on is told by the header that browsers send when they come back. */
function resume(input: unknown, request: RestRequest): unknown {
  const last = request.header("last-event-id");
  return last === undefined ? input : { ...(input as object), [resumeField]: last };
}

function stream(route: RestRoute, context: object, input: unknown): Promise<Response> {
  // What a subscription gives is what tRPC makes of `tracked`.
  const open = async (signal: AbortSignal) =>
    (await route.call.toOutput(await route.call.run(context, input, signal))) as AsyncIterable<
      [string, unknown]
    >;
  return toEventStream(open);
}

/** Makes what answers with whatever was thrown, and logs what nobody expected. */
function createFailure(logger: Logger, replies: Replies) {
  return (thrown: unknown, { method, path }: RestRequest, requestId: string): RestReply => {
    const error = toOrchestratorError(thrown);
    if (error.code === "INTERNAL") {
      const facts = { request_id: requestId, method, path, error: error.cause };
      logger.error("A request failed unexpectedly", facts);
    }
    return replies.failure(error, requestId);
  };
}

/** Which of several media types it would be is known when it is made. */
function headOf(produced: readonly string[]): Response {
  const [type, ...others] = produced;
  const known = type !== undefined && others.length === 0;
  return new Response(null, { headers: { ...(known && { "content-type": type }) } });
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function noParameters(): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message: "There are no parameters here." });
}

function nothingHere(): OrchestratorError {
  return new OrchestratorError("NOT_FOUND", { message: "There is nothing at this path." });
}

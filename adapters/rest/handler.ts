/** The REST surface: every procedure of a router that has a route, by its own method and path, as JSON. */
import type { AnyRouter } from "@trpc/server";
import { OrchestratorError } from "fleetwright";
import type { Logger } from "fleetwright";
import type { ContextFactory, RequestContext } from "../trpc/context.ts";
import { toOrchestratorError } from "../trpc/error-map.ts";
import { defaultBodyLimitBytes } from "./body-limit.ts";
import { checkMediaType, parseJsonBody } from "./json-body.ts";
import type { RestHandler, RestReply, RestRequest } from "./message.ts";
import { invalid, parsePathParameter, parseQuery } from "./parameters.ts";
import { createReplies } from "./replies.ts";
import { acceptedRequestId } from "./request-id.ts";
import type { RestRoute } from "./routes.ts";
import { createRouteTable } from "./routes.ts";
import type { RouteMatch } from "./route-table.ts";

/** What the REST surface is made of. */
export interface RestOptions<Context extends RequestContext> {
  router: AnyRouter;
  createContext: ContextFactory<Context>;
  /** Makes the id of a request that brings none. */
  createRequestId: () => string;
  /** Gets every error that nobody expected, with the request id that the caller was told. */
  logger: Logger;
  /** What every path begins with, without a slash at the end; default `/api/v1`. */
  basePath?: string;
  /** JSON texts that are served as they are, by path below the base path. Open to everyone. */
  documents?: ReadonlyMap<string, string>;
  /** Size limit of a request body in bytes; default 1 MiB. */
  bodyLimitBytes?: number;
  /** Finds the client's address; default: the other end of the connection. */
  sourceAddress?: (request: RestRequest) => string | null;
}

/** Where every path begins unless the options say otherwise. */
export const defaultBasePath = "/api/v1";

/** Builds the surface. The routes are worked out here, once; a procedure that contradicts itself throws. */
export function createRestHandler<Context extends RequestContext>(
  options: RestOptions<Context>,
): RestHandler {
  const { basePath = defaultBasePath, bodyLimitBytes = defaultBodyLimitBytes, documents } = options;
  const { createContext, createRequestId, logger, sourceAddress = connectionAddress } = options;
  const prefix = `${basePath}/`;
  const table = createRouteTable(options.router);
  const replies = createReplies(basePath);

  async function answer(request: RestRequest, requestId: string): Promise<RestReply | Response> {
    const path = request.path.startsWith(prefix) ? request.path.slice(basePath.length) : "";
    const document = documents?.get(path);
    if (document !== undefined) {
      if (isRead(request.method)) return replies.document(document, requestId);
      return replies.otherMethod(request.method, ["GET"], requestId);
    }
    const match = table.find(path);
    if (match === null)
      throw new OrchestratorError("NOT_FOUND", { message: "There is nothing at this path." });
    // Without a route of its own, HEAD is GET; the transport leaves the body out.
    const route = match.methods.get(request.method === "HEAD" ? "GET" : request.method);
    if (route === undefined) return replies.otherMethod(request.method, [...match.methods.keys()], requestId);

    const ifMatch = request.header("if-match") ?? null;
    const info = { request_id: requestId, source_address: sourceAddress(request), if_match: ifMatch };
    const authorization = request.header("authorization");
    const context = createContext(info, authorization);
    // Strangers are turned away before their body is read. What a caller may do is decided in the procedure.
    if (route.isProtected) {
      if (authorization === undefined) throw new OrchestratorError("UNAUTHENTICATED");
      await context.caller();
    }
    if (ifMatch !== null && !route.isConditional && !isRead(request.method)) {
      throw new OrchestratorError("PRECONDITION_FAILED", { message: "If-Match is not supported here." });
    }
    const body = route.takesBody || request.hasBody() ? await readBody(request, route, bodyLimitBytes) : null;
    const output = await route.call(context, toInput({ request, route, match, body }));
    return replies.success({ route, output, requestId, ifNoneMatch: request.header("if-none-match") });
  }

  return async (request) => {
    const requestId = acceptedRequestId(request.header("x-request-id")) ?? createRequestId();
    try {
      return await answer(request, requestId);
    } catch (thrown) {
      const error = toOrchestratorError(thrown);
      if (error.code === "INTERNAL") {
        const { method, path } = request;
        logger.error("A request failed unexpectedly", {
          request_id: requestId,
          method,
          path,
          error: error.cause,
        });
      }
      return replies.failure(error, requestId);
    }
  };
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function connectionAddress(request: RestRequest): string | null {
  return request.remoteAddress;
}

async function readBody(
  request: RestRequest,
  route: RestRoute,
  limitBytes: number,
): Promise<Record<string, unknown>> {
  if (!request.hasBody()) return {};
  const bytes = await request.readBody(limitBytes);
  if (bytes.byteLength === 0) return {};
  if (!route.takesBody) {
    throw new OrchestratorError("VALIDATION_FAILED", { message: `${route.method} takes no body.` });
  }
  checkMediaType(request.header("content-type"));
  return parseJsonBody(bytes);
}

interface InputParts {
  request: RestRequest;
  route: RestRoute;
  match: RouteMatch<RestRoute>;
  body: Record<string, unknown> | null;
}

/** Puts the input together from path, query and body; none of them may speak for another. */
function toInput({ request, route, match, body }: InputParts): unknown {
  const fromQuery = parseQuery(request.query, route.query);
  const input = route.takesBody ? (body ?? {}) : fromQuery;
  for (const [index, { name, plan }] of route.pathParameters.entries()) {
    if (Object.hasOwn(input, name)) throw invalid(name, "The path says this already.");
    input[name] = parsePathParameter(match.values[index] ?? "", name, plan);
  }
  if (!route.isWithoutInput) return input;
  const [unknownField] = Object.keys(input);
  if (unknownField !== undefined) throw invalid(unknownField, "There is no such field.");
  return undefined;
}

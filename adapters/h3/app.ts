/** The whole surface of one orchestrator on one listener: REST, tRPC, WebSockets, health and the pages about problems. */
import type { IncomingMessage, RequestListener } from "node:http";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import type { AnyRouter } from "@trpc/server";
import { OrchestratorError, silentLogger } from "fleetwright";
import type { ErrorCode, Logger } from "fleetwright";
import { bodyLimit, H3, HTTPError } from "h3";
import type { H3Event } from "h3";
import { toNodeHandler } from "h3/node";
import { defaultBodyLimitBytes } from "../rest/body-limit.ts";
import { createRestFetch } from "../rest/fetch.ts";
import { createRestHandler, defaultBasePath } from "../rest/handler.ts";
import { createRestListener } from "../rest/node.ts";
import { createOpenApiDocument } from "../rest/openapi.ts";
import type { OpenApiOptions } from "../rest/openapi.ts";
import { findProblemPage, renderProblemIndex, renderProblemPage } from "../rest/problem-pages.ts";
import { createReplies } from "../rest/replies.ts";
import { acceptedRequestId, createRequestIds } from "../rest/request-id.ts";
import type { ContextFactory, RequestContext } from "../trpc/context.ts";
import { toOrchestratorError } from "../trpc/error-map.ts";
import { createSockets } from "./sockets.ts";
import type { SocketLimits, SocketRoutes, Sockets } from "./sockets.ts";
import { createSourceAddress } from "./source-address.ts";

/** What the app is made of. */
export interface AppOptions<Context extends RequestContext> extends SocketLimits {
  router: AnyRouter;
  createContext: ContextFactory<Context>;
  /** Whether requests can be served now: what `/readyz` answers. */
  isReady: () => boolean;
  /** WebSocket endpoints by path, e.g. `/agent/v1`. */
  sockets?: SocketRoutes;
  /** Default: nothing is logged. */
  logger?: Logger;
  /** Where REST begins; default `/api/v1`. */
  basePath?: string;
  /** Size limit of a request body in bytes; default 1 MiB. */
  bodyLimitBytes?: number;
  /** Proxies whose `X-Forwarded-For` is believed, as addresses or networks; default none. */
  trustedProxies?: readonly string[];
  /** What the OpenAPI description says beside the procedures. */
  openapi?: OpenApiOptions;
  /** Makes the id of a request that brings none; default: a random start and a count. */
  createRequestId?: () => string;
}

/** The app, ready to be listened with. */
export interface App {
  /** Everything but WebSockets. Add routes of your own before the first request. */
  h3: H3;
  /** Serves all of it on a `node:http` server; REST goes past h3, at half of the cost. */
  listener: RequestListener;
  sockets: Sockets;
}

/** Most calls in one tRPC batch. */
const maxBatchSize = 20;

/** Mounts the surface. Throws where the router contradicts itself. */
export function createApp<Context extends RequestContext>(options: AppOptions<Context>): App {
  const { router, createContext, logger = silentLogger, basePath = defaultBasePath } = options;
  const { createRequestId = createRequestIds(), bodyLimitBytes = defaultBodyLimitBytes } = options;
  const sourceAddress = createSourceAddress(options.trustedProxies);
  const rest = createRestHandler({
    router,
    createContext,
    createRequestId,
    logger,
    basePath,
    bodyLimitBytes,
    documents: new Map([
      ["/openapi.json", JSON.stringify(createOpenApiDocument(router, { ...options.openapi, basePath }))],
    ]),
    sourceAddress: (request) => sourceAddress(request.remoteAddress, request.header("x-forwarded-for")),
  });
  const h3 = new H3({ silent: true, onError: createErrorAnswer(logger, createRequestId) });
  h3.use(addSecurityHeaders);
  const restFetch = createRestFetch(rest, (request) => (request as { ip?: string }).ip ?? null);
  h3.all(`${basePath}/**`, (event) => restFetch(event.req as Request));
  h3.use("/trpc/**", bodyLimit(bodyLimitBytes));
  h3.all("/trpc/**", (event) => {
    const requestId = acceptedRequestId(event.req.headers.get("x-request-id")) ?? createRequestId();
    return fetchRequestHandler({
      endpoint: "/trpc",
      router,
      req: event.req as Request,
      maxBatchSize,
      createContext({ req, resHeaders }) {
        resHeaders.set("x-request-id", requestId);
        const address = sourceAddress(event.req.ip ?? null, req.headers.get("x-forwarded-for") ?? undefined);
        const info = {
          request_id: requestId,
          source_address: address,
          if_match: req.headers.get("if-match"),
        };
        return createContext(info, req.headers.get("authorization") ?? undefined);
      },
      onError({ error, path }) {
        const { code, cause } = toOrchestratorError(error);
        if (code === "INTERNAL")
          logger.error("A call failed unexpectedly", { request_id: requestId, path, error: cause });
      },
    });
  });
  mountHealth(h3, options.isReady);
  mountProblemPages(h3);

  const restListener = createRestListener(rest, logger);
  const otherListener = toNodeHandler(h3) as RequestListener;
  const restPrefix = `${basePath}/`;
  return {
    h3,
    listener: (request: IncomingMessage, response) =>
      (request.url?.startsWith(restPrefix) ? restListener : otherListener)(request, response),
    sockets: createSockets(options.sockets ?? new Map(), options),
  };
}

function mountHealth(h3: H3, isReady: () => boolean): void {
  h3.get("/livez", () => ({ status: "ok" }));
  h3.get("/readyz", () => {
    if (!isReady()) throw new OrchestratorError("UNAVAILABLE", { message: "The service is not ready." });
    return { status: "ok" };
  });
}

function mountProblemPages(h3: H3): void {
  h3.get("/problems", () => html(renderProblemIndex()));
  h3.get("/problems/:slug", (event) => {
    const page = findProblemPage(event.context.params?.["slug"] ?? "");
    if (page === null) throw new OrchestratorError("NOT_FOUND", { message: "There is no such problem." });
    const wantsJson = event.req.headers.get("accept")?.includes("json") === true;
    return wantsJson ? { ...page } : html(renderProblemPage(page));
  });
}

function html(text: string): Response {
  return new Response(text, { headers: { "content-type": "text/html; charset=utf-8" } });
}

const securityHeaders = [
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"],
  ["referrer-policy", "no-referrer"],
  ["x-frame-options", "DENY"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
] as const;

/** For everything that h3 answers. REST writes its own, fewer: its answers are never rendered. */
function addSecurityHeaders(event: H3Event): void {
  const { headers, errHeaders } = event.res;
  for (const [name, value] of securityHeaders) {
    headers.set(name, value);
    errHeaders.set(name, value);
  }
}

/** What h3 itself refuses, by status. */
const codeOfStatus: Partial<Record<number, ErrorCode>> = {
  400: "VALIDATION_FAILED",
  404: "NOT_FOUND",
  405: "METHOD_NOT_ALLOWED",
  413: "PAYLOAD_TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
};

/** Answers whatever is thrown outside of REST and tRPC with a problem, too. */
function createErrorAnswer(logger: Logger, createRequestId: () => string) {
  const replies = createReplies("");
  return (thrown: HTTPError, event: H3Event): Response => {
    const requestId = acceptedRequestId(event.req.headers.get("x-request-id")) ?? createRequestId();
    const known = thrown.unhandled === true ? undefined : codeOfStatus[thrown.status];
    const error =
      known === undefined ? toOrchestratorError(thrown.cause ?? thrown) : new OrchestratorError(known);
    if (error.code === "INTERNAL") {
      logger.error("A request failed unexpectedly", {
        request_id: requestId,
        path: event.url.pathname,
        error: thrown,
      });
    }
    const { status, headers, body } = replies.failure(error, requestId);
    const pairs = headers.flatMap((name, index): [string, string][] =>
      index % 2 === 0 ? [[name, headers[index + 1] ?? ""]] : [],
    );
    return new Response(event.req.method === "HEAD" ? null : body, { status, headers: pairs });
  };
}

/** The whole surface of one orchestrator on one listener: REST, tRPC, WebSockets, health and the pages about problems. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { AnyRouter } from "@trpc/server";
import { H3 } from "h3";
import { toNodeHandler } from "h3/node";
import { OrchestratorError, silentLogger } from "fleetwright";
import type { ErrorCode, Logger } from "fleetwright";
import { checkOptions } from "fleetwright/options";
import { toSteadyLogger } from "fleetwright/ports";
import type { ResourceTypes } from "fleetwright/ports";
import { defaultBodyLimitBytes } from "../http/body-limit.ts";
import { acceptedRequestId, createRequestIds } from "../http/request-id.ts";
import { createRestFetch, toResponse } from "../rest/fetch.ts";
import { createRestHandler, defaultBasePath } from "../rest/handler.ts";
import { createPartialListener, createRestListener, sendReply } from "../rest/node.ts";
import { createOpenApiDocument } from "../rest/openapi.ts";
import type { OpenApiOptions } from "../rest/openapi.ts";
import type { OpenApiDocument } from "../rest/openapi/document.ts";
import { prepareReads } from "../rest/reads.ts";
import { createReplies } from "../rest/replies.ts";
import type { ContextFactory, RequestContext } from "../trpc/context.ts";
import { addSecurityHeaders, createErrorAnswer } from "./errors.ts";
import { createExposure } from "./exposure.ts";
import { createHostCheck } from "./hosts.ts";
import type { HostCheck, HostHeaders } from "./hosts.ts";
import { appOptions } from "./option-table.ts";
import { mountHealth, mountProblemPages, mountReference, mountSchemas, mountSocketHint } from "./pages.ts";
import type { AppReadiness } from "./pages.ts";
import { endRefused } from "./raw-refusal.ts";
import { checkForm, type RequestForm } from "./request-form.ts";
import { createSockets } from "./sockets.ts";
import type { SocketLimits, SocketRoutes, Sockets } from "./sockets.ts";
import { createSourceAddress } from "./source-address.ts";
import { createTrpcReads } from "./trpc-reads.ts";
import { mountTrpc } from "./trpc.ts";
import { dropUnreadBody } from "./unread-body.ts";

/** What the app is made of. What is not of this form is refused when it is made, all at once: `OPTIONS_INVALID`. */
export interface AppOptions<Context extends RequestContext> extends SocketLimits {
  /** Procedures with their paths: `appRouter`, or one with verbs of your own. */
  router: AnyRouter;
  /** Finds out who calls. */
  createContext: ContextFactory<Context>;
  /** Whether requests can be served now: what `/readyz` answers. */
  isReady: AppReadiness;
  /** WebSocket endpoints by path, e.g. `/agent/v1`. */
  sockets?: SocketRoutes;
  /** Told of failures. Default nothing is logged. */
  logger?: Logger;
  /** What every path begins with, where the app is part of another, e.g. `/fleet`: begins with a slash and ends without one. Default nothing. */
  mountPath?: string;
  /** Where REST begins, with the mount path: begins with a slash and ends without one. Default `/api/v1` below the mount path. */
  basePath?: string;
  /** Size limit of a request body in bytes, 1 to 1,073,741,824. Default 1 MiB. */
  bodyLimitBytes?: number;
  /** Addresses or networks of proxies whose `X-Forwarded-For` is believed. Default none. */
  trustedProxies?: readonly string[];
  /**
   * Host names that the service has, without a port: requests for any other are refused, but for IP addresses and `localhost`.
   * Protects browsers on the inside against DNS rebinding. Default any.
   */
  allowedHosts?: readonly string[];
  /** Types of resources that `/schemas/module.json` tells editors of. Default all that ship with the package. */
  resourceTypes?: ResourceTypes;
  /** What the OpenAPI description says beside the procedures. */
  openapi?: OpenApiOptions;
  /** Makes the id of a request that brings none; a text of its own each time. Default a random start and a count. */
  createRequestId?: () => string;
}

/** The app, ready to be listened with. */
export interface App {
  /** Everything but WebSockets. Add routes of your own before the first request. */
  h3: H3;
  /** Serves all of it on a `node:http` server; REST and reads over tRPC go past h3, at a fraction of the cost. */
  listener: RequestListener;
  /**
   * Serves all of it as a function from `Request` to `Response`, for servers that speak that.
   *
   * @param remoteAddress - The IP address of the other end of the connection, without a port: for limits, the audit log, and what is refused over plain HTTP. Default unknown: nothing is refused then for not being encrypted.
   */
  fetch(request: Request, remoteAddress?: string): Promise<Response>;
  sockets: Sockets;
  /** Ends a connection with a problem where no request can be made of what it sent, as in the `clientError` of a `node:http` server. */
  refuse(error: OrchestratorError, socket: Duplex): void;
  /** Notes a request that came and waits for its turn on its connection: it is answered as ever when the server is told to drain. */
  expect(request: IncomingMessage): void;
  /** From now on every request but `/livez` and every new socket is refused with 503 and `Retry-After`: the server is about to close. */
  drain(): void;
}

/** Has browsers come back over TLS only, for a year; not to `localhost`, where other programs of a developer listen, too. */
const onlyTls = "max-age=31536000";

function isOverTls({ socket, headers }: IncomingMessage): boolean {
  return socket instanceof TLSSocket && !/^localhost(?::|$)/i.test(headers.host ?? "");
}

/** What is so wrong that Node itself would not take it ends its connection, as there. */
const tooLarge: ReadonlySet<ErrorCode | undefined> = new Set(["URL_TOO_LONG", "HEADERS_TOO_LARGE"]);

/**
 * Mounts the surface. Throws where the router contradicts itself.
 *
 * @throws {OrchestratorError} `OPTIONS_INVALID` with every fault of the options.
 */
export function createApp<Context extends RequestContext>(options: AppOptions<Context>): App {
  checkOptions<AppOptions<never>>(options as AppOptions<never>, appOptions, { of: "createApp" });
  const { router, createContext, mountPath = "" } = options;
  const logger = toSteadyLogger(options.logger ?? silentLogger);
  const { basePath = mountPath + defaultBasePath, sockets = new Map() } = options;
  const { createRequestId = createRequestIds(), bodyLimitBytes = defaultBodyLimitBytes } = options;
  const sourceAddress = createSourceAddress(options.trustedProxies);
  const isExposed = createExposure(options.trustedProxies);
  const reads = prepareReads(router);
  const shared = { router, createContext, createRequestId, logger, bodyLimitBytes, isExposed, reads };
  const describe = (): Promise<OpenApiDocument> =>
    createOpenApiDocument(router, { ...options.openapi, basePath });
  const rest = createRestHandler({
    ...shared,
    basePath,
    documents: new Map([["/openapi.json", async () => JSON.stringify(await describe())]]),
    sourceAddress: (request) => sourceAddress(request.remoteAddress, request.header("x-forwarded-for")),
  });

  const h3 = new H3({ silent: true, onError: createErrorAnswer(logger, createRequestId) });
  h3.use(addSecurityHeaders);
  const restFetch = createRestFetch(rest, (request) => (request as { ip?: string }).ip ?? null);
  h3.all(`${basePath}/**`, (event) => restFetch(event.req as Request));
  const trpc = { ...shared, sourceAddress, endpoint: `${mountPath}/trpc` };
  mountTrpc(h3, trpc);
  const mount = { h3, mountPath, createRequestId };
  mountHealth(mount, options.isReady, logger);
  mountReference(mount, describe);
  mountProblemPages(mount);
  mountSchemas(mount, options.resourceTypes);
  for (const path of sockets.keys()) mountSocketHint(mount, path.replaceAll(/\{(\w+)\}/g, ":$1"));

  const door = createDoor(options);
  const refuse = createRefusal(createRequestId);
  const restListener = createRestListener(rest, logger);
  const h3Listener = toNodeHandler(h3) as RequestListener;
  const trpcListener = createPartialListener(createTrpcReads(trpc, reads), h3Listener, logger);
  const listeners = [
    [`${basePath}/`, restListener],
    [`${trpc.endpoint}/`, trpcListener],
  ] as const;
  return {
    h3,
    listener(request, response) {
      dropUnreadBody(request, response);
      const { host, origin } = request.headers;
      const { url = "/" } = request;
      const isClosed = door.isClosedTo(request);
      const refusal = checkForm(request) ?? door.check(url, { host, origin }, isClosed);
      if (isClosed || host === undefined || tooLarge.has(refusal?.code)) response.shouldKeepAlive = false;
      if (isOverTls(request)) response.setHeader("strict-transport-security", onlyTls);
      if (refusal !== null) return refuse(refusal, request, response);
      for (const [prefix, direct] of listeners) if (url.startsWith(prefix)) return direct(request, response);
      h3Listener(request, response);
    },
    fetch: createFetch(h3, door, createRequestId),
    sockets: createSockets(sockets, { ...options, checkHost: door.checkSocket, createRequestId }),
    refuse: (error, socket) => endRefused(socket, error, createRequestId()),
    expect: door.expect,
    drain: () => void (door.isDraining = true),
  };
}

/** Who is let in: those who call the service by a name of its own, and nobody new while it waits for its last answers. */
interface Door {
  isDraining: boolean;
  expect(request: IncomingMessage): void;
  /** Whether it waits for its last answers, and this request came later than that. */
  isClosedTo(request: IncomingMessage): boolean;
  check(url: string, asked: HostHeaders, isClosed?: boolean): OrchestratorError | null;
  checkSocket: HostCheck;
}

function createDoor({
  allowedHosts,
  mountPath = "",
}: Pick<AppOptions<never>, "allowedHosts" | "mountPath">): Door {
  const checkHost = createHostCheck(allowedHosts ?? null);
  const livePath = `${mountPath}/livez`;
  const expected = new WeakSet<IncomingMessage>();
  const door: Door = {
    isDraining: false,
    expect: (request) => void (door.isDraining || expected.add(request)),
    isClosedTo: (request) => door.isDraining && !expected.has(request),
    check(url, asked, isClosed = door.isDraining) {
      const refusal = checkHost(asked);
      if (refusal !== null || !isClosed || url.split("?", 1)[0] === livePath) return refusal;
      return new OrchestratorError("UNAVAILABLE", { message: "The server is stopping." });
    },
    checkSocket: (asked) => door.check("", asked),
  };
  return door;
}

function createFetch(h3: H3, door: Door, createRequestId: () => string): App["fetch"] {
  return async (request, remoteAddress) => {
    const { headers } = request;
    const url = new URL(request.url);
    const origin = headers.get("origin") ?? undefined;
    // Behind an adapter the host may be known from the URL alone.
    const asked = { host: headers.get("host") ?? url.host, origin };
    const refusal = checkForm(toForm(url, headers)) ?? door.check(url.pathname, asked);
    if (refusal !== null) return toRefusal(refusal, request, createRequestId);
    if (remoteAddress !== undefined) Object.defineProperty(request, "ip", { value: remoteAddress });
    return h3.fetch(request);
  };
}

/** A `Request` has joined what was there twice, and taken dot segments out: what is left to be seen is looked at. */
function toForm({ pathname, search }: URL, headers: Headers): RequestForm {
  return { url: pathname + search, headers: Object.fromEntries(headers), rawHeaders: [...headers].flat() };
}

/** Makes what answers a request that goes no further than its headers. */
function createRefusal(createRequestId: () => string) {
  const replies = createReplies("");
  return (error: OrchestratorError, request: IncomingMessage, response: ServerResponse): void => {
    const given = request.headers["x-request-id"];
    const requestId = acceptedRequestId(typeof given === "string" ? given : undefined) ?? createRequestId();
    sendReply(response, replies.failure(error, requestId));
  };
}

/** The same for `fetch`. */
function toRefusal(error: OrchestratorError, { headers }: Request, createRequestId: () => string): Response {
  const requestId = acceptedRequestId(headers.get("x-request-id") ?? undefined) ?? createRequestId();
  return toResponse(createReplies("").failure(error, requestId));
}

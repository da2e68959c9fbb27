/** tRPC over the Fetch API. */
import { TLSSocket } from "node:tls";
import type { AnyRouter, TRPCError } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { bodyLimit } from "h3";
import type { H3, H3Event } from "h3";
import { OrchestratorError } from "fleetwright";
import type { Logger } from "fleetwright";
import type { LocalEnd } from "../http/audience.ts";
import { strangerBodyLimitBytes } from "../http/body-limit.ts";
import { problemHeaders } from "../http/problem.ts";
import { acceptedRequestId } from "../http/request-id.ts";
import { toResponse } from "../rest/fetch.ts";
import { createReplies } from "../rest/replies.ts";
import { restProcedures } from "../rest/routes.ts";
import type { ContextFactory, RequestContext } from "../trpc/context.ts";
import { toOrchestratorError } from "../trpc/error-map.ts";
import { isProtected, nameRequest } from "../trpc/trpc.ts";
import type { ProcedureMeta } from "../trpc/trpc.ts";
import type { Exposure } from "./exposure.ts";
import type { SourceAddress } from "./source-address.ts";
import { faultOfQuery, readStrictly } from "./trpc-input.ts";

/** Most calls in one batch. */
export const maxBatchSize = 20;

/** What tRPC is served with; all of it is the app's own. */
export interface TrpcOptions<Context extends RequestContext> {
  router: AnyRouter;
  createContext: ContextFactory<Context>;
  createRequestId: () => string;
  sourceAddress: SourceAddress;
  isExposed: Exposure;
  logger: Logger;
  bodyLimitBytes: number;
  /** Where the names of procedures begin, e.g. `/trpc`. */
  endpoint: string;
}

/** Serves every procedure of the router at `<endpoint>/<name>`. */
export function mountTrpc<Context extends RequestContext>(h3: H3, options: TrpcOptions<Context>): void {
  const { router, createContext, createRequestId, sourceAddress, isExposed, logger } = options;
  const { bodyLimitBytes, endpoint } = options;
  const streaming = streamingProcedures(router);
  const open = openProcedures(router);
  const limits = { open: bodyLimit(strangerBodyLimitBytes), all: bodyLimit(bodyLimitBytes) };
  h3.use(`${endpoint}/**`, (event, next) => {
    const names = event.url.pathname.slice(endpoint.length + 1).split(",");
    return limits[names.some((name) => open.has(name)) ? "open" : "all"](event, next);
  });
  const replies = createReplies("");
  h3.all(`${endpoint}/**`, (event: H3Event) => {
    const { headers, method, ip = null } = event.req;
    const header = (name: string): string | undefined => headers.get(name) ?? undefined;
    const requestId = acceptedRequestId(header("x-request-id")) ?? createRequestId();
    if (!methods.has(method)) return toResponse(replies.otherMethod(method, ["GET", "POST"], requestId));
    return fetchRequestHandler({
      endpoint,
      router,
      req: readStrictly(event.req as Request),
      maxBatchSize,
      createContext({ info }) {
        const address = sourceAddress(ip, header("x-forwarded-for"));
        const request = {
          request_id: requestId,
          source_address: address,
          if_match: headers.get("if-match"),
          if_none_match: headers.get("if-none-match"),
          idempotency_key: headers.get("idempotency-key"),
          connection: { localEnd: localEndOf(event) },
          is_exposed: () => isExposed({ remoteAddress: ip, isEncrypted: isEncrypted(event), header }),
          input_fault: faultOfQuery(event.url.searchParams),
        };
        for (const { path } of info.calls) if (streaming.has(path)) throw onlyOverRest(path);
        if (request.idempotency_key !== null && info.calls.length > 1) throw keyOfManyCalls();
        return createContext(request, header("authorization"));
      },
      responseMeta: ({ info, errors }) => ({ headers: toHeaders({ requestId, info, errors }) }),
      onError({ error, path }) {
        nameRequest(error, requestId);
        const { code, cause } = toOrchestratorError(error);
        if (code !== "INTERNAL") return;
        logger.error("A call failed unexpectedly", { request_id: requestId, path, error: cause });
      },
    });
  });
}

function isEncrypted({ runtime, url }: H3Event): boolean {
  const socket = runtime?.node?.req.socket;
  return socket ? socket instanceof TLSSocket : url.protocol === "https:";
}

function localEndOf(event: H3Event): LocalEnd | null {
  const { localAddress: address, localPort: port } = event.runtime?.node?.req.socket ?? {};
  return address === undefined || port === undefined ? null : { address, port };
}

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST"]);

/** What an answer came of. */
interface Outcome {
  requestId: string;
  /** Undefined where the request was refused before its calls were known. */
  info: object | undefined;
  errors: readonly TRPCError[];
}

/** The headers of an answer: those that REST gives the same error, too, where it is one error. */
function toHeaders({ requestId, info, errors }: Outcome): Headers {
  const headers = new Headers({ "x-request-id": requestId });
  if (info === undefined) headers.set("content-type", "application/json");
  const [error, second] = errors;
  if (error === undefined || second !== undefined) return headers;
  const pairs = problemHeaders(toOrchestratorError(error));
  for (let index = 0; index < pairs.length; index += 2)
    headers.set(pairs[index] ?? "", pairs[index + 1] ?? "");
  return headers;
}

/** Names of the procedures that answer with a `Response` of their own, for which tRPC has no form: it would send `{}`. */
export function streamingProcedures(router: AnyRouter): ReadonlySet<string> {
  const streaming = restProcedures(router).filter(([, { _def }]) => {
    return (_def.meta as ProcedureMeta).rest?.produces !== undefined;
  });
  return new Set(streaming.map(([name]) => name));
}

/** Names of the procedures that strangers may call. */
function openProcedures(router: AnyRouter): ReadonlySet<string> {
  const open = restProcedures(router).filter(([, { _def }]) => !isProtected(_def.meta as ProcedureMeta));
  return new Set(open.map(([name]) => name));
}

function onlyOverRest(name: string): OrchestratorError {
  return new OrchestratorError("METHOD_NOT_ALLOWED", {
    message: `${name} answers with a stream of bytes: call it over REST.`,
  });
}

/** A batch may be put together otherwise when it is sent again: which call the key was for could not be told. */
function keyOfManyCalls(): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", {
    message: "An idempotency key is for one call: send it without a batch.",
  });
}

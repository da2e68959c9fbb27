/** What the tRPC builder is given, and what a procedure says of itself. */
import type { TRPCError, TRPCDefaultErrorShape as DefaultErrorShape } from "@trpc/server";
import { TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import { OrchestratorError } from "fleetwright";
import type { ErrorCode } from "fleetwright";
import { toProblem } from "../http/problem.ts";
import type { Problem } from "../http/problem.ts";
import type { RequestContext, RequestInfo } from "./context.ts";
import { asTransparent } from "./direct-call.ts";
import { toOrchestratorError, toTrpcError, trpcCodeOf } from "./error-map.ts";

/**
 * How a procedure answers over REST beside its output. The functions get the procedure's output: write its type at the
 * parameter, `location: (operation: Operation) => ...`.
 */
export interface RestMeta {
  /** Status of a success; default 200, or 204 where the procedure returns nothing. A function decides by the output. */
  status?: SuccessStatus | ((output: never) => SuccessStatus);
  /** Every status that a function in `status` may give, for the OpenAPI description. */
  statuses?: readonly SuccessStatus[];
  /** Path of what was made or started, below the base path, e.g. `/operators/1f0c`. Only for 201 and 202. */
  location?: (output: never) => string;
  /** Codes that it may be refused with, beside those that follow from its method, path, input and permission. */
  problems?: readonly ErrorCode[];
  /** The version of what was read or changed, from which its `ETag` is made. Absent: it has none. */
  version?: (output: never) => number;
  /** What each item of a subscription says, for the OpenAPI description; over REST a subscription is server-sent events. */
  streams?: object;
  /** Media types of what the procedure answers as a `Response` of its own, for the OpenAPI description: one, or those that its input chooses from. */
  produces?: readonly [string, ...string[]];
  /** Whether a request without a body is refused though no field alone is required, for the OpenAPI description. Default: as the input schema says. */
  needsBody?: boolean;
  /** Whether the procedure honours `request.if_match`. A request with `If-Match` to one that does not is refused. */
  conditional?: boolean;
}

/** A status that a success may have. */
export type SuccessStatus = 200 | 201 | 202 | 204;

/** The REST route of a procedure, as the generator of the OpenAPI description reads it. */
export interface RestRouteMeta {
  /** Default true. */
  enabled?: boolean;
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: `/${string}`;
  /** One line of what it does. */
  summary?: string;
  description?: string;
  /** The group it is shown in, first. */
  tags?: string[];
  /** Whether it needs a session; default true. */
  protect?: boolean;
}

/** What a procedure says of itself: its REST route and description, and how it answers there. */
export interface ProcedureMeta {
  /** What the caller must be allowed; asked before anything of the call is looked at. Default: no more than a session. */
  permission?: string;
  openapi?: RestRouteMeta;
  rest?: RestMeta;
}

/**
 * The options of the builder, for `initTRPC.context<...>().meta<ProcedureMeta>().create(trpcOptions)`: every error carries
 * the problem that REST would answer with in `data.problem`.
 */
export const trpcOptions = {
  isDev: false,
  // A sign of life, so that a client notices a connection that is dead and comes back.
  sse: { ping: { enabled: true, intervalMs: 15_000 }, client: { reconnectAfterInactivityMs: 45_000 } },
  errorFormatter({ shape, error, ctx }: FormatterInput) {
    const known = toOrchestratorError(error);
    const problem: Problem = toProblem(known, ctx?.request.request_id ?? error[requestOf] ?? "");
    const data = { ...shape.data, code: trpcCodeOf(known.code), httpStatus: problem.status, problem };
    return { ...shape, code: TRPC_ERROR_CODES_BY_KEY[data.code], message: problem.detail, data };
  },
};

/** On an error: the id of a request that was refused before it had a context. */
const requestOf = Symbol("request");

/** Has a problem name the request that an error ended: to be called by the surface when it hears of the error. */
export function nameRequest(error: TRPCError, requestId: string): void {
  Object.assign(error, { [requestOf]: requestId });
}

/** What the formatter is given. */
export interface FormatterInput {
  shape: DefaultErrorShape;
  error: TRPCError & { [requestOf]?: string };
  ctx: RequestContext | undefined;
}

/**
 * The first link of every procedure, `t.procedure.use(errorLink)`: a caller within the process, too, gets a `TRPCError` with
 * the code of the {@link OrchestratorError} that is its cause.
 */
export async function errorLink<Result extends { ok: boolean }>({
  next,
}: {
  next: () => Promise<Result>;
}): Promise<Result> {
  const result = await next();
  if (!result.ok && "error" in result) throw toTrpcError(result.error);
  return result;
}
asTransparent(errorLink);

/**
 * The second link: whoever may not use a procedure is told so before their input is looked at, and has it in the audit log whatever
 * the input is; and nothing is changed that was to be changed on a condition which nobody would look at. Surfaces that call procedures
 * directly see to that themselves.
 */
export async function permissionLink<Result>(options: PermissionLinkOptions<Result>): Promise<Result> {
  const { ctx, meta, type, next } = options;
  if (isProtected(meta)) await requirePermission(ctx, meta?.permission ?? null);
  if (type === "mutation") requireKnownConditions(ctx.request, meta?.rest?.conditional === true);
  const fault = ctx.request.input_fault ?? null;
  if (fault !== null) throw fault;
  return next();
}
asTransparent(permissionLink);

/**
 * Refuses a change on a condition that nobody would look at, since it would be made whether that holds or not (RFC 9110, 13.1):
 * `If-Match` where it goes by no version, and `If-None-Match` everywhere, since `*` asks that nothing be overwritten.
 *
 * @throws {OrchestratorError} `PRECONDITION_FAILED`.
 */
export function requireKnownConditions(
  { if_match, if_none_match = null }: Pick<RequestInfo, "if_match" | "if_none_match">,
  isConditional: boolean,
): void {
  if (if_match !== null && !isConditional) throw unsupported("If-Match");
  if (if_none_match !== null) throw unsupported("If-None-Match");
}

function unsupported(header: string): OrchestratorError {
  return new OrchestratorError("PRECONDITION_FAILED", { message: `${header} is not supported here.` });
}

/** Whether a procedure is for those alone who are signed in. */
export function isProtected(meta: ProcedureMeta | undefined): boolean {
  return meta?.openapi?.protect !== false;
}

/**
 * Asks whether a caller is signed in and may use what needs a permission; null needs none.
 *
 * @throws {OrchestratorError} `UNAUTHENTICATED` for a stranger; `FORBIDDEN`.
 */
export async function requirePermission(ctx: KnowsCaller, permission: string | null): Promise<void> {
  const { kind } = (await ctx.caller()) as { kind?: string };
  if (kind === "anonymous") throw new OrchestratorError("UNAUTHENTICATED");
  if (permission !== null) await ctx.authorize(permission);
}

interface KnowsCaller {
  /** Of the type that the router has for callers; a stranger's `kind` is "anonymous". */
  caller(): Promise<unknown>;
  authorize(permission: string): Promise<void>;
}

interface PermissionLinkOptions<Result> {
  ctx: KnowsCaller & Pick<RequestContext, "request">;
  meta: ProcedureMeta | undefined;
  type: string;
  next: () => Promise<Result>;
}

/**
 * The third link: a call that changes something and carries an idempotency key is made once. Surfaces that call procedures
 * directly see to that themselves.
 */
export async function onceLink<Result extends { ok: boolean }>({
  ctx,
  meta,
  path,
  type,
  getRawInput,
  next,
}: LinkOptions<Result>): Promise<Result> {
  const isKeyed = (ctx.request.idempotency_key ?? null) !== null && isProtected(meta);
  if (type !== "mutation" || !isKeyed) return next();
  const call = { name: path, input: await getRawInput() };
  const output = await ctx.once(call, async () => {
    const result: { ok: boolean; data?: unknown; error?: unknown } = await next();
    if (!result.ok) throw toOrchestratorError(result.error);
    return result.data;
  });
  // What tRPC's own links return; its type has a mark that only they can make.
  return { ok: true, data: output } as unknown as Result;
}
asTransparent(onceLink);

interface LinkOptions<Result> {
  ctx: RequestContext;
  meta: ProcedureMeta | undefined;
  path: string;
  type: string;
  getRawInput: () => Promise<unknown>;
  next: () => Promise<Result>;
}

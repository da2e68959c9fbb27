/**
 * Reads over tRPC past its own machinery: the same answers to the same requests, at a tenth of the cost (test/bench/rest.ts).
 *
 * What is read is text already where REST shows it, too; tRPC would write it anew with each call and carry it through the Fetch API.
 * So GETs of queries, alone or in a batch, are answered here. All else is left to tRPC, every request that is wrong by its form
 * among it; a test holds the two ways together.
 */
import { getErrorShape } from "@trpc/server";
import type { AnyRouter, TRPCError } from "@trpc/server";
import { getHTTPStatusCode } from "@trpc/server/http";
import { problemHeaders } from "../http/problem.ts";
import { acceptedRequestId } from "../http/request-id.ts";
import type { RestRequest } from "../rest/message.ts";
import type { PiecedReply } from "../rest/node.ts";
import type { Read, Reads } from "../rest/reads.ts";
import type { RequestContext } from "../trpc/context.ts";
import { toOrchestratorError, toTrpcError } from "../trpc/error-map.ts";
import { requirePermission } from "../trpc/trpc.ts";
import { securityHeaders } from "./errors.ts";
import { faultOfQuery } from "./trpc-input.ts";
import { maxBatchSize, streamingProcedures } from "./trpc.ts";
import type { TrpcOptions } from "./trpc.ts";

/** Answers a request, or tells by null that tRPC must. */
export type TrpcReads = (request: RestRequest) => Promise<PiecedReply> | null;

/** One call of a query. */
interface ReadCall {
  name: string;
  read: Read;
  input: unknown;
}

/** How one call ended: what tRPC tells its status by, and its text in pieces. */
interface Ended {
  /** What went wrong; null where nothing did. */
  error: TRPCError | null;
  json: Extract<Parameters<typeof getHTTPStatusCode>[0], readonly unknown[]>[number];
  pieces: (string | Uint8Array)[];
}

/** Prepares what answers. */
export function createTrpcReads<Context extends RequestContext>(
  options: TrpcOptions<Context>,
  reads: Reads,
): TrpcReads {
  const { router, createContext, createRequestId, sourceAddress, endpoint } = options;
  if (hasTransformer(router)) return () => null;
  const streaming = streamingProcedures(router);
  const own = new Map([...reads].filter(([name]) => !streaming.has(name)));
  const run = createRun(options);

  async function answer(request: RestRequest, { calls, isBatch }: Asked): Promise<PiecedReply> {
    const requestId = acceptedRequestId(request.header("x-request-id")) ?? createRequestId();
    const info = {
      request_id: requestId,
      source_address: sourceAddress(request.remoteAddress, request.header("x-forwarded-for")),
      if_match: request.header("if-match") ?? null,
      idempotency_key: null,
    };
    let made: Context | undefined;
    const context = (): Context => (made ??= createContext(info, request.header("authorization")));
    const ended = await Promise.all(calls.map((call) => run(call, context)));
    const pieces = ended.flatMap((each, index) => (index === 0 ? each.pieces : [",", ...each.pieces]));
    return {
      status: getHTTPStatusCode(ended.map(({ json }) => json)),
      headers: [...commonHeaders, "x-request-id", requestId, ...errorHeaders(ended)],
      pieces: isBatch ? ["[", ...pieces, "]"] : pieces,
    };
  }

  return (request) => {
    const found = isPlain(request) ? findCalls(request, endpoint, own) : null;
    return found && answer(request, found);
  };
}

const commonHeaders = [
  "content-type",
  "application/json",
  "vary",
  "trpc-accept, accept",
  ...securityHeaders.flat(),
];

/** Those that REST gives the same error, too, where it is one error. */
function errorHeaders(ended: readonly Ended[]): string[] {
  const [error, second] = ended.flatMap((each) => each.error ?? []);
  return error === undefined || second !== undefined ? [] : problemHeaders(toOrchestratorError(error));
}

/** Whether a request asks for nothing but JSON in one piece. */
function isPlain(request: RestRequest): boolean {
  const { method } = request;
  if (method !== "GET" || request.hasBody() || request.header("idempotency-key") !== undefined) return false;
  const type = request.header("content-type");
  if (type !== undefined && type !== "application/json") return false;
  return request.header("trpc-accept") === undefined && request.header("accept")?.includes("jsonl") !== true;
}

/** What a request asks for. */
interface Asked {
  calls: ReadCall[];
  isBatch: boolean;
}

/** Reads names and inputs from the address; null where anything in it is not as it mostly is. */
function findCalls({ path, query }: RestRequest, endpoint: string, reads: Reads): Asked | null {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) if (name !== "batch" && name !== "input") return null;
  if (faultOfQuery(parameters) !== null) return null;
  const isBatch = parameters.get("batch") === "1";
  const rest = path.slice(endpoint.length + 1);
  const names = isBatch ? rest.split(",") : [rest];
  const inputs = parseInputs(parameters.get("input") ?? "", isBatch);
  if (inputs === null || names.length > maxBatchSize) return null;
  const calls: ReadCall[] = [];
  for (const [index, name] of names.entries()) {
    const read = reads.get(name);
    if (read === undefined) return null;
    calls.push({ name, read, input: inputs[index] });
  }
  return { calls, isBatch };
}

/** The inputs by number of the call; null where they are none. */
function parseInputs(text: string, isBatch: boolean): Record<number, unknown> | null {
  if (text === "") return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isBatch) return [parsed];
  return typeof parsed === "object" && !Array.isArray(parsed) ? (parsed as Record<number, unknown>) : null;
}

/** Makes what makes one call. It never rejects. */
function createRun<Context extends RequestContext>({ router, logger }: TrpcOptions<Context>) {
  const { _config: config } = router._def;
  return async ({ name: path, read, input }: ReadCall, context: () => Context): Promise<Ended> => {
    let ctx: Context | undefined;
    try {
      ctx = context();
      if (read.isProtected) await requirePermission(ctx, read.permission);
      const answer = await read.call.run(ctx, input);
      const rendering = read.render(answer);
      if (rendering !== null) {
        const pieces = [`{"result":{"data":`, rendering.body, "}}"];
        return { error: null, json: { result: { data: null } }, pieces };
      }
      const json = { result: { data: await read.call.toOutput(answer) } };
      return { error: null, json, pieces: [JSON.stringify(json)] };
    } catch (thrown) {
      const { code, cause } = toOrchestratorError(thrown);
      const request_id = ctx?.request.request_id;
      if (code === "INTERNAL") logger.error("A call failed unexpectedly", { request_id, path, error: cause });
      const error = toTrpcError(thrown);
      const json = { error: getErrorShape({ config, error, type: "query", path, input, ctx }) };
      return { error, json, pieces: [JSON.stringify(json)] };
    }
  };
}

/** Whether something else than plain JSON is spoken: a transformer changes what goes in or out. */
function hasTransformer(router: AnyRouter): boolean {
  const { input, output } = router._def._config.transformer;
  const probe = {};
  return input.deserialize(probe) !== probe || output.serialize(probe) !== probe;
}

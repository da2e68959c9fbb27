/** The routes of a router: everything about a procedure that can be worked out once, at start. */
import type { AnyProcedure, AnyRouter } from "@trpc/server";
import type { Issue } from "fleetwright";
import { prepareCall } from "../trpc/direct-call.ts";
import type { PreparedCall } from "../trpc/direct-call.ts";
import { isProtected } from "../trpc/trpc.ts";
import type { ProcedureMeta, SuccessStatus } from "../trpc/trpc.ts";
import { faultsOfInput, inputFields, inputSchema, numberBounds, planParameter } from "./parameters.ts";
import type { InputPlan, ParameterPlan } from "./parameters.ts";
import type { WaitBounds } from "./preferences.ts";
import { prepareReads } from "./reads.ts";
import type { Reads } from "./reads.ts";
import type { OutputVersion, Render } from "./rendering.ts";
import { RouteTable } from "./route-table.ts";

/** One procedure as REST shows it. */
export interface RestRoute {
  /** Name in the router, for the log. */
  name: string;
  method: string;
  call: PreparedCall;
  /** The fast path of its answers. */
  render: Render;
  /** Whether a caller must have signed in. */
  isProtected: boolean;
  /** What the caller must be allowed beside that; null for nothing. */
  permission: string | null;
  /** Whether the input comes as a JSON body; else it comes as a query. */
  takesBody: boolean;
  /** The path's parameters, in order. */
  pathParameters: readonly { name: string; plan: ParameterPlan }[];
  /** The query's parameters; empty where the input comes as a body. */
  query: InputPlan;
  /** Whether the procedure has no input schema at all. */
  isWithoutInput: boolean;
  /** What the input schema refuses of an input. */
  faultsOf: (input: unknown) => Issue[];
  isConditional: boolean;
  /** The version of its output; null where that has none. */
  version: OutputVersion | null;
  /** For how long the caller may have the answer held back by a preference; null where that can't be said. */
  waits: WaitBounds | null;
  /** Whether it answers with server-sent events: a subscription. */
  isStream: boolean;
  /** The media types of what it answers in pieces as they come, of which the input chooses; null where its answer is JSON. */
  produces: readonly [string, ...string[]] | null;
  status: SuccessStatus | ((output: unknown) => SuccessStatus) | null;
  location: ((output: unknown) => string) | null;
}

/** Routes every procedure that has a REST route. Throws where a procedure's description contradicts itself. */
export function createRouteTable(
  router: AnyRouter,
  reads: Reads = prepareReads(router),
): RouteTable<RestRoute> {
  const table = new RouteTable<RestRoute>();
  for (const [name, procedure] of restProcedures(router)) {
    const { openapi } = procedure._def.meta as Required<ProcedureMeta>;
    try {
      table.add(openapi.path, openapi.method, toRoute({ router, reads, name }, procedure));
    } catch (cause) {
      throw new Error(`The procedure ${name} can't be a REST route.`, { cause });
    }
  }
  return table;
}

/** The procedures that have a REST route, by name. */
export function restProcedures(router: AnyRouter): [name: string, procedure: AnyProcedure][] {
  const procedures = Object.entries(router._def.procedures as Record<string, AnyProcedure>);
  return procedures.filter(([, { _def }]) => {
    const meta = _def.meta as ProcedureMeta | undefined;
    return meta?.openapi !== undefined && meta.openapi.enabled !== false;
  });
}

/** What an answer's status is must be known without the answer, for the description. */
export function checkStatuses({ status, statuses }: NonNullable<ProcedureMeta["rest"]>): void {
  if (typeof status === "function" && statuses === undefined)
    throw new Error("A status that depends on the output needs `statuses`, too.");
}

/** For how long a call may be waited for by `Prefer`, as its body may say it; null where it has none that does. */
export function waitsOf(procedure: AnyProcedure): WaitBounds | null {
  const { openapi } = procedure._def.meta as Required<Pick<ProcedureMeta, "openapi">>;
  const wait = inputFields(procedure).get("wait_seconds");
  return bodyMethods.has(openapi.method) && wait !== undefined ? numberBounds(wait) : null;
}

/** The field of a subscription's input that the header `Last-Event-ID` carries. */
export const resumeField = "lastEventId";

const bodyMethods = new Set(["POST", "PUT", "PATCH"]);

function toRoute(
  { router, reads, name }: { router: AnyRouter; reads: Reads; name: string },
  procedure: AnyProcedure,
): RestRoute {
  const {
    openapi,
    permission = null,
    rest = {},
  } = procedure._def.meta as ProcedureMeta & Required<Pick<ProcedureMeta, "openapi">>;
  checkStatuses(rest);
  const takesBody = bodyMethods.has(openapi.method);
  const fields = inputFields(procedure);
  const names = [...openapi.path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? "");
  const missing = names.find((parameter) => !fields.has(parameter));
  if (missing !== undefined) throw new Error(`The input has no field ${missing}.`);
  const query = takesBody
    ? []
    : [...fields].filter(([field]) => !names.includes(field) && field !== resumeField);
  const read = openapi.method === "GET" && rest.status === undefined ? reads.get(name) : undefined;
  return {
    name,
    method: openapi.method,
    call: read?.call ?? prepareCall(router, name, procedure),
    render: read?.render ?? (() => null),
    isProtected: isProtected({ openapi }),
    permission,
    takesBody,
    pathParameters: names.map((parameter) => ({
      name: parameter,
      plan: planParameter(fields.get(parameter)),
    })),
    query: new Map(query.map(([field, type]) => [field, planParameter(type)])),
    isWithoutInput: inputSchema(procedure) === undefined,
    faultsOf: faultsOfInput(procedure),
    isConditional: rest.conditional === true,
    version: (rest.version ?? null) as RestRoute["version"],
    waits: waitsOf(procedure),
    isStream: procedure._def.type === "subscription",
    produces: procedure._def.type === "subscription" ? ["text/event-stream"] : (rest.produces ?? null),
    // What a procedure says about its output is true of the output that it gets.
    status: (rest.status ?? null) as RestRoute["status"],
    location: (rest.location ?? null) as RestRoute["location"],
  };
}

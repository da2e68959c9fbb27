/** What every procedure begins with. A procedure is one line of glue: schemas, how it shows over REST, one call into lib. */
import { initTRPC, type AnyProcedure } from "@trpc/server";
import { permissionTable } from "fleetwright";
import type { Caller, ErrorCode, Orchestrator, Permission } from "fleetwright";
import type { RequestContext } from "../context.ts";
import { errorLink, onceLink, permissionLink, trpcOptions } from "../trpc.ts";
import type { ProcedureMeta, RestMeta } from "../trpc.ts";

/** The context that the procedures need. */
export type ProcedureContext = RequestContext<Orchestrator, Caller>;

export const t = initTRPC.context<ProcedureContext>().meta<ProcedureMeta>().create(trpcOptions);

export const procedure = t.procedure.use(errorLink).use(permissionLink).use(onceLink);

/**
 * Hands a router on, in which every procedure has the permission that it is named after.
 *
 * @throws {Error} Where one has none, or another's: nothing is served that nobody decided about.
 */
export function requirePermissions<Router extends { _def: { procedures: object } }>(router: Router): Router {
  for (const [name, { _def }] of Object.entries(router._def.procedures as Record<string, AnyProcedure>)) {
    const permission = (_def.meta as ProcedureMeta | undefined)?.permission;
    if (permission !== name || !Object.hasOwn(permissionTable, name))
      throw new Error(`The procedure ${name} has no permission of its own.`);
  }
  return router;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What a procedure says of itself beside its schemas. */
interface Description {
  /** One line for the OpenAPI description. */
  summary: string;
  /** What a caller must know beyond that, in Markdown. */
  description: string;
  /** Codes that it may be refused with, beside those that follow from its method, path, input and permission. */
  problems?: readonly ErrorCode[];
  /** The group it is shown in. */
  tag: string;
  rest?: RestMeta;
}

/** The version of what is returned with it, for its `ETag`. */
export const versionOf = ({ version }: { version: number }): number => version;

/**
 * The REST route of a procedure. Every procedure is named after its permission: one that the table does not have does not
 * compile, so that nothing is served which nobody decided about.
 */
export function route(
  permission: Permission,
  at: `${Method} /${string}`,
  reference: Description,
): ProcedureMeta {
  const [method, path] = at.split(" ") as [Method, `/${string}`];
  const { summary, description, problems, tag, rest } = reference;
  const protect = permissionTable[permission] !== "anyone";
  return {
    permission,
    openapi: { method, path, summary, description, tags: [tag], protect },
    rest: { ...rest, ...(problems && { problems }) },
  };
}

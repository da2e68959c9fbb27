/** What can be read, prepared once for every surface that shows it, so that they share the texts. */
import type { AnyProcedure, AnyRouter } from "@trpc/server";
import { prepareCall } from "../trpc/direct-call.ts";
import type { PreparedCall } from "../trpc/direct-call.ts";
import { isProtected, type ProcedureMeta } from "../trpc/trpc.ts";
import { createRender } from "./rendering.ts";
import type { OutputVersion, Render } from "./rendering.ts";

/** One query. */
export interface Read {
  call: PreparedCall;
  /** Whether it is for those alone who are signed in. */
  isProtected: boolean;
  /** What they must be allowed beside that; null for nothing. */
  permission: string | null;
  /** The fast path of its answers. */
  render: Render;
}

/** The queries of a router by name. */
export type Reads = ReadonlyMap<string, Read>;

/** Prepares every query of a router. */
export function prepareReads(router: AnyRouter): Reads {
  const procedures = Object.entries(router._def.procedures as Record<string, AnyProcedure>);
  const queries = procedures.filter(([, { _def }]) => _def.type === "query");
  return new Map(
    queries.map(([name, procedure]) => {
      const call = prepareCall(router, name, procedure);
      const meta = procedure._def.meta as ProcedureMeta | undefined;
      return [
        name,
        {
          call,
          isProtected: isProtected(meta),
          permission: meta?.permission ?? null,
          render: createRender(call, (meta?.rest?.version ?? null) as OutputVersion | null),
        },
      ];
    }),
  );
}

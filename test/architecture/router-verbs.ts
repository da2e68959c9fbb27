/** The verbs of the router as every surface has them. */
import type { AnyProcedure } from "@trpc/server";
import { createStreams } from "../../adapters/client/streams.ts";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta, RestRouteMeta } from "../../adapters/trpc/trpc.ts";

/** Procedures that the client has no verb of the same name for, each with what does it. */
const byHand: Readonly<Record<string, string>> = {
  "auth.challenge": "signIn()",
  "auth.verify": "signIn()",
  "auth.signOut": "signOut()",
};

/** Verbs whose names tRPC has for itself (docs/decisions/0009). */
const verbNames: Readonly<Record<string, string>> = { applyNow: "apply" };

/** One procedure as all surfaces have it. */
export interface Verb {
  procedure: AnyProcedure;
  /** Name in the router, which is that of its permission. */
  permission: string;
  group: string;
  name: string;
  rest: RestRouteMeta & { produces: readonly string[] | undefined };
  isStream: boolean;
  /** What does it in the client, where that has no verb of its name. */
  byHand: string | undefined;
}

const streams: Readonly<Record<string, object>> = {
  ...createStreams(() => {
    throw new Error("No stream is read here.");
  }),
};

/** In the order of the router. */
export const verbs = restProcedures(appRouter).map(([permission, procedure]): Verb => {
  const { openapi, rest } = procedure._def.meta as ProcedureMeta & { openapi: RestRouteMeta };
  const [group = "", name = ""] = permission.split(".");
  const isStream = procedure._def.type === "subscription";
  if (isStream && !(name in (streams[group] ?? {})))
    throw new Error(`Write the stream ${permission} in adapters/client/streams.ts.`);
  const verb = { procedure, permission, group, name: verbNames[name] ?? name, isStream };
  return { ...verb, byHand: byHand[permission], rest: { ...openapi, produces: rest?.produces } };
});

/** The fields of the input that stand in the path, in its order. */
export function pathFields({ rest }: Verb): string[] {
  return [...rest.path.matchAll(/\{(\w+)\}/g)].map(([, field = ""]) => field);
}

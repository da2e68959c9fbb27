import type { AnyProcedure } from "@trpc/server";
import { appRouter } from "../../adapters/trpc/router.ts";

/** The names of all procedures that change something. */
export const mutations: readonly string[] = Object.entries(
  appRouter._def.procedures as object as Record<string, AnyProcedure>,
)
  .filter(([, { _def }]) => _def.type === "mutation")
  .map(([name]) => name);

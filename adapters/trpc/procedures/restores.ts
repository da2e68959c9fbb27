import { schemas } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

const tag = "Backup";

export const restoreProcedures = t.router({
  get: procedure
    .meta(route("restores.get", "GET /restore", { tag, summary: "Tell what waits after a restore" }))
    .output(schemas.restoreStateSchema)
    .query(async ({ ctx }) => ctx.orchestrator.restores.get(await ctx.caller())),
  resume: procedure
    .meta(route("restores.resume", "POST /restore/resume", { tag, summary: "Go on after a restore" }))
    .output(schemas.restoreStateSchema)
    .mutation(async ({ ctx }) => ctx.orchestrator.restores.resume(await ctx.caller())),
});

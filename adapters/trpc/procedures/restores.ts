import { schemas } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

const tag = "Backup";

export const restoreProcedures = t.router({
  get: procedure
    .meta(
      route("restores.get", "GET /restore", {
        tag,
        summary: "Tell what waits after a restore",
        description:
          "Whether the server waits after a restore for an operator's word, and what that would set going: operations, rollouts and schedules.",
      }),
    )
    .output(schemas.restoreStateSchema)
    .query(async ({ ctx }) => ctx.orchestrator.restores.get(await ctx.caller())),
  resume: procedure
    .meta(
      route("restores.resume", "POST /restore/resume", {
        tag,
        summary: "Go on after a restore",
        description:
          "Lets a restored server go on: operations that waited may begin and rollouts go on. Due times that have passed are not carried out; `missed` names them.",
        problems: ["INVALID_TRANSITION", "REVISION_CONFLICT"],
      }),
    )
    .output(schemas.restoreStateSchema)
    .mutation(async ({ ctx }) => ctx.orchestrator.restores.resume(await ctx.caller())),
});

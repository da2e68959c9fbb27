import { schemas } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

const tag = "Audit";

export const auditProcedures = t.router({
  list: procedure
    .meta(route("audit.list", "GET /audit", { tag, summary: "Query the audit log, newest first" }))
    .input(schemas.listAuditInput)
    .output(schemas.auditPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.audit.list(await ctx.caller(), input)),
  verify: procedure
    .meta(route("audit.verify", "GET /audit/verify", { tag, summary: "Recompute the chain of hashes" }))
    .output(schemas.verifyAuditSchema)
    .query(async ({ ctx }) => ctx.orchestrator.audit.verify(await ctx.caller())),
  prune: procedure
    .meta(
      route("audit.prune", "DELETE /audit", {
        tag,
        summary: "Prune the events before a time",
        rest: { status: 200 },
      }),
    )
    .input(schemas.pruneAuditInput)
    .output(schemas.pruneResultSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.audit.prune(await ctx.caller(), input)),
  getRetention: procedure
    .meta(
      route("audit.getRetention", "GET /audit/retention", {
        tag,
        summary: "Get for how long events are kept",
        rest: { versioned: true },
      }),
    )
    .output(schemas.retentionSchema)
    .query(async ({ ctx }) => ctx.orchestrator.audit.getRetention(await ctx.caller())),
  setRetention: procedure
    .meta(
      route("audit.setRetention", "PUT /audit/retention", {
        tag,
        summary: "Set for how long events are kept",
        rest: { conditional: true },
      }),
    )
    .input(schemas.setRetentionInput)
    .output(schemas.retentionSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.audit.setRetention(await ctx.caller(), input, ctx.change()),
    ),
});

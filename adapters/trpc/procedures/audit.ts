import { schemas } from "fleetwright";
import { procedure, route, t, versionOf } from "./builder.ts";

const tag = "Audit";

export const auditProcedures = t.router({
  list: procedure
    .meta(
      route("audit.list", "GET /audit", {
        tag,
        summary: "Query the audit log, newest first",
        description:
          "Who did what, to what, when and from where. Each event is chained by its hash to the one before; with `order=asc` the chain can be checked page by page.",
      }),
    )
    .input(schemas.listAuditInput)
    .output(schemas.auditPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.audit.list(await ctx.caller(), input)),
  verify: procedure
    .meta(
      route("audit.verify", "GET /audit/verify", {
        tag,
        summary: "Recompute the chain of hashes",
        description:
          "Says whether an event was changed or taken out, and which is the first. With a head that was kept elsewhere it says whether that is in this log: a whole new log has another.",
      }),
    )
    .input(schemas.verifyAuditInput)
    .output(schemas.verifyAuditSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.audit.verify(await ctx.caller(), input)),
  head: procedure
    .meta(
      route("audit.head", "GET /audit/head", {
        tag,
        summary: "Sign where the log ends",
        description:
          "Sequence and hash of the newest event, signed by the orchestrator's key. Kept elsewhere, it shows that the log has become another.",
      }),
    )
    .output(schemas.auditHeadSchema)
    .query(async ({ ctx }) => ctx.orchestrator.audit.head(await ctx.caller())),
  prune: procedure
    .meta(
      route("audit.prune", "DELETE /audit", {
        tag,
        summary: "Prune the events before a time",
        description:
          "Removes the oldest events. What is left still verifies, and the pruning itself is in the log. A time in the future is refused. `dry_run=true` tells what would go, and `expected` has it refused where that is another number.",
        problems: ["STORAGE_CORRUPT", "COUNT_DIFFERS"],
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
        description: "How many days events are kept; null keeps them for ever.",
        rest: { version: versionOf },
      }),
    )
    .output(schemas.retentionSchema)
    .query(async ({ ctx }) => ctx.orchestrator.audit.getRetention(await ctx.caller())),
  setRetention: procedure
    .meta(
      route("audit.setRetention", "PUT /audit/retention", {
        tag,
        summary: "Set for how long events are kept",
        description: "Events that are older are pruned by themselves.",
        rest: { conditional: true, version: versionOf },
      }),
    )
    .input(schemas.setRetentionInput)
    .output(schemas.retentionSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.audit.setRetention(await ctx.caller(), input, ctx.change()),
    ),
});

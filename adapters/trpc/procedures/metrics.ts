import { schemas } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

const tag = "Metrics";

export const metricProcedures = t.router({
  history: procedure
    .meta(
      route("metrics.history", "GET /agents/{node_id}/metrics", {
        tag,
        summary: "Get what an agent measured over some time",
        description:
          "Load, memory, disks, network and what the machine's owner adds, as points of equal steps: the mean of each, with the least and the greatest where samples differ, and null where a gap begins. Samples are kept for a day or more, then points of five minutes.",
      }),
    )
    .input(schemas.metricHistoryInput)
    .output(schemas.metricHistorySchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.metrics.history(await ctx.caller(), input)),
  latest: procedure
    .meta(
      route("metrics.latest", "GET /agents/{node_id}/metrics/latest", {
        tag,
        summary: "Get what an agent measured last",
        description: "The newest sample of an agent, with the value of each series.",
        problems: ["NO_METRICS"],
      }),
    )
    .input(schemas.agentIdInput)
    .output(schemas.latestMetricsSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.metrics.latest(await ctx.caller(), input)),
});

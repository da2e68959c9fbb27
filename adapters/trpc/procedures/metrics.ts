import { schemas } from "fleetwright";
import { procedure, route, t } from "./builder.ts";
import { toByteStream } from "./byte-stream.ts";

const tag = "Metrics";
const mediaType = "text/plain; version=0.0.4; charset=utf-8";

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
  /** Over REST alone: tRPC has no form for a stream of text. */
  prometheus: procedure
    .meta(
      route("metrics.prometheus", "GET /metrics/prometheus", {
        tag,
        summary: "Get the newest values of many agents for Prometheus",
        description:
          'In its text format, metric by metric, each value with its time: of all approved agents, or of those that a selector matches, whose newest sample is not older than five minutes or three intervals. `cpu.percent{state=user}` is `fleetwright_cpu_percent{node_id="...",name="web-1",state="user"}`.',
        rest: { produces: [mediaType] },
      }),
    )
    .input(schemas.metricPrometheusInput)
    .output(schemas.metricPrometheusSchema)
    .query(async ({ ctx, input }) => {
      const texts = await ctx.orchestrator.metrics.prometheus(await ctx.caller(), input);
      return new Response(toByteStream(toBytes(texts)), { headers: { "content-type": mediaType } });
    }),
});

async function* toBytes(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const text of texts) yield encoder.encode(text);
}

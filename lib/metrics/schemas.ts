import { z } from "zod";
import { keyIdSchema, pageInput, timestampSchema } from "../internal/common-schemas.ts";
import { mostSeries } from "./sample-rules.ts";

/** Name of a series. */
const seriesNameSchema = z.string().min(1).max(200);

const agoSchema = z.number().int().min(0).max(3_153_600_000);

/** Input of `metrics.history`. */
export const metricHistoryInput = z.strictObject({
  node_id: keyIdSchema,
  from: timestampSchema.optional().describe("Begin of the range, inclusive. Default an hour before its end."),
  to: timestampSchema.optional().describe("End of the range, exclusive. Default now."),
  from_seconds_ago: agoSchema
    .optional()
    .describe(
      "In place of `from`: so many seconds before now, by the orchestrator's time, 0-3,153,600,000. The caller's clock does not matter then.",
    ),
  to_seconds_ago: agoSchema.optional().describe("The same in place of `to`."),
  step_seconds: z
    .number()
    .int()
    .min(1)
    .max(2_678_400)
    .optional()
    .describe(
      "Seconds from one point to the next, 1-2,678,400. Made longer where the range would have more than 2,000 points of it. Default one that gives about 500, and no less than the interval of samples.",
    ),
  series: z
    .array(seriesNameSchema)
    .min(1)
    .max(200)
    .optional()
    .describe("Only these series, up to 200, by their whole names. Default all."),
  limit: z
    .number()
    .int()
    .min(1)
    .max(mostSeries)
    .optional()
    .describe("Most series of one answer, 1-200. Default 200, as many as one sample may have."),
  cursor: pageInput.cursor.describe(
    "`next_cursor` of the answer before, for the next series of the same range; the rest as it was asked for then.",
  ),
});

/**
 * A point of a series: `[at, mean]` where it is one sample or all were equal, `[at, mean, least, greatest]` of several, and `[at, null]` where a
 * gap begins. `at` is in milliseconds since 1970, the begin of its step.
 */
export const metricPointSchema = z
  // One function in place of a schema of each number: an answer may have 400,000 points.
  .custom<(number | null)[]>(isPoint)
  .meta({
    id: "MetricPoint",
    description:
      "`[at, mean]`, or `[at, mean, least, greatest]` where a step has samples that differ, or `[at, null]` where a gap begins; `at` is the begin of its step in milliseconds since 1970.",
    override: { type: "array", items: { type: ["number", "null"] }, minItems: 2, maxItems: 4 },
  });

function isPoint(value: unknown): boolean {
  if (!Array.isArray(value) || value.length < 2 || value.length > 4) return false;
  return value.every((each) => each === null || Number.isFinite(each));
}

/** What a series is measured in. */
export const metricUnitSchema = z
  .enum(["percent", "bytes", "bytes_per_second", "per_second", "seconds", "count"])
  .describe("What the values are measured in: `count` where its name says nothing else.");

/** Output of `metrics.history`. */
export const metricHistorySchema = z
  .object({
    node_id: keyIdSchema,
    from: z.string().describe("Begin of the first step."),
    to: z.string(),
    step_seconds: z.number(),
    series: z
      .array(z.object({ name: z.string(), unit: metricUnitSchema, points: z.array(metricPointSchema) }))
      .describe("By name; a series without a point in the range is not there."),
    next_cursor: z
      .string()
      .nullable()
      .describe("Where there are more series than this answer may have; null where these are all."),
  })
  .meta({ id: "MetricHistory" });

/** Output of `metrics.latest`. */
export const latestMetricsSchema = z
  .object({
    node_id: keyIdSchema,
    collected_at: z.string().describe("When the agent took the sample, by the orchestrator's time."),
    values: z.record(z.string(), z.number()).describe("By the name of the series."),
  })
  .meta({ id: "LatestMetrics" });

/** Input of `metrics.prometheus`. */
export const metricPrometheusInput = z.strictObject({
  selector: z.string().optional().describe("Only agents that it matches. Default all that are approved."),
});

/** Output of `metrics.prometheus` for adapters: text in whatever form they stream it. */
export const metricPrometheusSchema = z
  .custom<object>((value) => typeof value === "object" && value !== null)
  .meta({ override: { type: "string" } });

/** What a series is measured in. */
export type MetricUnit = z.infer<typeof metricUnitSchema>;
/** A point of a series; see {@link metricPointSchema}. */
export type MetricPoint = z.infer<typeof metricPointSchema>;
/** What an agent measured over some time. */
export type MetricHistory = z.infer<typeof metricHistorySchema>;
/** What an agent measured last. */
export type LatestMetrics = z.infer<typeof latestMetricsSchema>;

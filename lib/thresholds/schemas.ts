import { z } from "zod";
import {
  idSchema,
  keyIdSchema,
  managedByChangeSchema,
  managedBySchema,
  pageInput,
  pageOf,
  timestampSchema,
  versionSchema,
} from "../internal/common-schemas.ts";

/** A series, or all series of a metric: the metric, and labels where there are any. */
const seriesField = z
  .string()
  .max(200)
  .regex(
    /^[a-z]\w*(\.\w+)*(\{[^{}\p{C}]{1,190}\})?$/u,
    "must be a series such as load.5, mount.used_bytes or mount.used_bytes{path=/}",
  );

const nameField = z
  .string()
  .max(100)
  .regex(/^[^\p{C}]+$/u, "must be one line of text")
  .describe("What people call it, 1-100 characters.");
const metricField = seriesField.describe(
  "What is watched: one series, such as `mount.used_bytes{path=/}`, or without labels each series of the metric, by itself.",
);
const shareField = seriesField.describe(
  "Another metric, such as `mount.total_bytes`: what is watched counts in percent of its series with the same labels.",
);
const numberField = z.number().min(-1e300).max(1e300);
const limitField = numberField.describe("The limit, in what the metric is measured in, or in percent.");
const recoveryValueField = numberField.describe(
  "How far it must come back to have recovered, on the other side of `value` or at it. Default `value` itself.",
);
const secondsField = z.number().int().min(0).max(86_400);
const forField = secondsField.describe(
  "How long it must be beyond the limit without a break before there is an alarm, 0-86,400. Default 300.",
);
const recoveryField = secondsField.describe(
  "How long it must have come back before the alarm is over, 0-86,400. Default 60.",
);
const selectorField = z
  .string()
  .min(1)
  .max(4096)
  .describe("The agents that it is for, at any time those that it matches then. Default the whole fleet.");
const enabledField = z
  .boolean()
  .describe("Whether anything is watched; false ends its alarms. Default true.");

/** On which side of its limit something is to be told. */
export const thresholdConditionSchema = z.enum(["above", "below"]);
/** How much an alarm deserves attention. */
export const thresholdSeveritySchema = z.enum(["info", "warning", "critical"]);

const conditionField = thresholdConditionSchema.describe("On which side of the limit there is an alarm.");
const severityField = thresholdSeveritySchema.describe(
  "How much its alarms deserve attention. Default `warning`.",
);

/** A limit of a metric. */
export const thresholdSchema = z
  .object({
    id: idSchema,
    name: z.string(),
    metric: z.string().describe("What is watched: one series, or without labels each series of the metric."),
    percent_of: z.string().optional().describe("Absent = what is measured counts as it is."),
    condition: conditionField,
    value: z.number().describe("The limit, in what the metric is measured in, or in percent."),
    recovery_value: z.number().optional().describe("Absent = `value`."),
    for_seconds: z.number().int().describe("How long it must be beyond before there is an alarm."),
    recovery_seconds: z.number().int().describe("How long it must have come back before an alarm is over."),
    severity: thresholdSeveritySchema,
    selector: z.string().optional().describe("Absent = the whole fleet."),
    enabled: z.boolean().describe("Whether anything is watched."),
    managed_by: managedBySchema.optional(),
    created_by: z.string(),
    created_at: z.string(),
    changed_at: timestampSchema.describe(
      "When it was made or changed last: what was measured before counts for nothing.",
    ),
    version: versionSchema,
  })
  .meta({ id: "Threshold" });

/** Output of `thresholds.list`. */
export const thresholdPageSchema = pageOf(thresholdSchema);
/** Input of `thresholds.list`. */
export const listThresholdsInput = z.strictObject(pageInput);
/** Names one threshold. */
export const thresholdIdInput = z.strictObject({ id: idSchema });

/** Input of `thresholds.create`. */
export const createThresholdInput = z.strictObject({
  name: nameField,
  metric: metricField,
  percent_of: shareField.optional(),
  condition: conditionField,
  value: limitField,
  recovery_value: recoveryValueField.optional(),
  for_seconds: forField.optional(),
  recovery_seconds: recoveryField.optional(),
  severity: severityField.optional(),
  selector: selectorField.optional(),
  enabled: enabledField.optional(),
  managed_by: managedBySchema.optional(),
});

/** Input of `thresholds.update`; what is absent stays, and null takes away. */
export const updateThresholdInput = z.strictObject({
  id: idSchema,
  name: nameField.optional(),
  metric: metricField.optional(),
  percent_of: shareField.nullable().optional(),
  condition: conditionField.optional(),
  value: limitField.optional(),
  recovery_value: recoveryValueField.nullable().optional(),
  for_seconds: forField.optional(),
  recovery_seconds: recoveryField.optional(),
  severity: severityField.optional(),
  selector: selectorField.nullable().optional().describe("Which agents; null = the whole fleet."),
  enabled: enabledField.optional(),
  managed_by: managedByChangeSchema.optional(),
});

/** A threshold that an agent has crossed, until it has recovered. */
export const alarmSchema = z
  .object({
    id: z.string(),
    threshold_id: idSchema.describe("The threshold that is crossed."),
    threshold: z.string().describe("What people called the threshold when it was crossed."),
    severity: thresholdSeveritySchema,
    node_id: keyIdSchema,
    agent_name: z.string().describe("What people called the agent when it was crossed."),
    series: z.string().describe("What of the agent has crossed it."),
    value: z
      .number()
      .describe("What was measured when the alarm began, as the threshold counts: in percent where it does."),
    since: timestampSchema.describe(
      "Since when it is beyond the limit; of samples that came late, and after a restart, as far back as its durations reach.",
    ),
    crossed_at: timestampSchema.describe("When that had lasted for `for_seconds`."),
  })
  .meta({ id: "Alarm" });

/** Output of `thresholds.alarms`. */
export const alarmPageSchema = pageOf(alarmSchema);

/** Input of `thresholds.alarms`. */
export const listAlarmsInput = z.strictObject({
  threshold_id: idSchema.optional().describe("Only those of this threshold."),
  node_id: keyIdSchema.optional().describe("Only those of this agent."),
  severity: thresholdSeveritySchema.optional().describe("Only those of this severity."),
  ...pageInput,
});

/** On which side of its limit something is to be told. */
export type ThresholdCondition = z.infer<typeof thresholdConditionSchema>;
/** How much an alarm deserves attention. */
export type ThresholdSeverity = z.infer<typeof thresholdSeveritySchema>;
/** A limit of a metric. */
export type Threshold = z.infer<typeof thresholdSchema>;
/** A threshold that an agent has crossed. */
export type Alarm = z.infer<typeof alarmSchema>;

import { z } from "zod";
import {
  idSchema,
  managedByChangeSchema,
  managedBySchema,
  pageInput,
  pageOf,
  timestampSchema,
  versionSchema,
} from "../internal/common-schemas.ts";
import { scheduleSchema } from "../schedules/schedule.ts";

/** What a maintenance window does. */
export const windowModeSchema = z.enum(["mute", "freeze"]);

/** How a maintenance window stands. */
export const windowStatusSchema = z.enum(["scheduled", "active", "ended"]);

/** When a maintenance window comes again. */
export const windowScheduleSchema = scheduleSchema.extend({
  duration_minutes: z
    .number()
    .int()
    .min(1)
    .max(10_080)
    .describe("How long each occurrence lasts, in minutes that pass, 1 to 10,080 (a week)."),
});

const modeField = windowModeSchema.describe(
  "`mute`: notifications of its agents are silent. `freeze`: that, and nothing is applied or run there.",
);
const reasonField = z
  .string()
  .max(500)
  .regex(/^[^\p{C}]+$/u, "must be one line of text")
  .describe("Why, for people.");
const selectorField = z
  .string()
  .min(1)
  .max(4096)
  .describe("The agents that it is for, at any time those that it matches then. Default the whole fleet.");
const startsField = timestampSchema.describe("When it begins; with a schedule, from when on it recurs.");
const endsField = timestampSchema.describe("When it ends; with a schedule, until when it recurs.");
const endsInField = z
  .number()
  .int()
  .min(1)
  .max(3_153_600_000)
  .describe("In place of `ends_at`: how many seconds from now, by the server's clock, 1-3,153,600,000.");

/** One stretch of time in which a window is active. */
export const occurrenceSchema = z.object({
  starts_at: z.string().describe("When it begins."),
  ends_at: z.string().describe("When it ends; the instant itself is not in it."),
});

/** A maintenance window. */
export const maintenanceWindowSchema = z
  .object({
    id: idSchema,
    reason: z.string(),
    selector: z.string().optional().describe("Absent = the whole fleet."),
    starts_at: z.string().describe("When it begins; with a schedule, from when on it recurs."),
    ends_at: z.string().optional().describe("Absent = it recurs without end."),
    schedule: windowScheduleSchema.optional(),
    mode: modeField,
    status: windowStatusSchema.describe(
      "`active`: an occurrence goes on now. `scheduled`: one is to come. `ended`: none comes any more.",
    ),
    occurrences: z
      .array(occurrenceSchema)
      .describe("The one that goes on, where one does, and the next, 5 in all."),
    managed_by: managedBySchema.optional(),
    created_by: z.string(),
    created_at: z.string(),
    version: versionSchema,
  })
  .meta({ id: "MaintenanceWindow" });

/** Output of `maintenanceWindows.list`. */
export const maintenanceWindowPageSchema = pageOf(maintenanceWindowSchema);
/** Input of `maintenanceWindows.list`. */
export const listWindowsInput = z.strictObject(pageInput);
/** Names one maintenance window. */
export const windowIdInput = z.strictObject({ id: idSchema });

/** Input of `maintenanceWindows.create`. */
export const createWindowInput = z.strictObject({
  reason: reasonField,
  selector: selectorField.optional(),
  starts_at: startsField
    .optional()
    .describe("When it begins; with a schedule, from when on it recurs. Default now."),
  ends_at: endsField
    .optional()
    .describe("When it ends; with a schedule, until when it recurs. Needed where there is no schedule."),
  ends_in_seconds: endsInField.optional(),
  schedule: windowScheduleSchema.optional().describe("When it comes again and again. Default once."),
  mode: modeField,
  managed_by: managedBySchema.optional(),
});

/** Input of `maintenanceWindows.update`; what is absent stays, and null takes away. */
export const updateWindowInput = z.strictObject({
  id: idSchema,
  reason: reasonField.optional(),
  selector: selectorField.nullable().optional().describe("Which agents; null = the whole fleet."),
  starts_at: startsField.optional(),
  ends_at: endsField
    .nullable()
    .optional()
    .describe("When it ends; a time that has passed ends it now. null = it recurs without end."),
  ends_in_seconds: endsInField.optional(),
  schedule: windowScheduleSchema.nullable().optional(),
  mode: modeField.optional(),
  managed_by: managedByChangeSchema.optional(),
  end_occurrence: z
    .literal(true)
    .optional()
    .describe("Ends what goes on now; a window with a schedule comes again."),
});

/** What a maintenance window does. */
export type WindowMode = z.infer<typeof windowModeSchema>;
/** When a maintenance window comes again. */
export type WindowSchedule = z.infer<typeof windowScheduleSchema>;
/** A time in which agents are left alone or are silent. */
export type MaintenanceWindow = z.infer<typeof maintenanceWindowSchema>;

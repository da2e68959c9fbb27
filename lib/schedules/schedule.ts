import { z } from "zod";
import { OrchestratorError, isOrchestratorError } from "../errors.ts";
import type { Cron, Schedule } from "./cron.ts";

/** When something is to happen, again and again. */
export const scheduleSchema = z.strictObject({
  cron: z
    .string()
    .max(200)
    .regex(
      /^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[\w*,/#+?-]+( +[\w*,/#+?-]+){4})$/,
      "five fields (minute, hour, day of month, month, day of week), or a nickname such as @daily",
    )
    .describe("Minute, hour, day of month, month, day of week, e.g. `30 4 * * 1-5`; or e.g. `@daily`."),
  time_zone: z
    .string()
    .regex(/^[A-Za-z][\w+/-]{0,63}$/, "the IANA name of a time zone, e.g. Europe/Berlin")
    .default("UTC")
    .describe("IANA name of the time zone in which it is meant. Default UTC."),
});

/** Whether an error of a {@link Cron} says that it can't read the schedule; one that was checked before, on another machine, may be so here. */
export function isUnreadable(error: unknown): boolean {
  return isOrchestratorError(error, "VALIDATION_FAILED");
}

/**
 * The first due time after an instant.
 *
 * @param path - Where the schedule stands in the input, for the faults.
 * @throws {OrchestratorError} `VALIDATION_FAILED` where it can't be read, or never comes.
 */
export function requireNext(
  cron: Cron,
  schedule: Schedule,
  place: { path: string; afterMs: number },
): number {
  const { path, afterMs } = place;
  try {
    const next = cron.next(schedule, afterMs);
    if (next !== null) return next;
  } catch (error) {
    if (!isOrchestratorError(error, "VALIDATION_FAILED")) throw error;
    const issues = error.issues.map((issue) => ({ ...issue, path: [path, ...issue.path] }));
    throw new OrchestratorError("VALIDATION_FAILED", { issues, cause: error });
  }
  throw new OrchestratorError("VALIDATION_FAILED", {
    issues: [{ path: [path, "cron"], message: "there is no such day" }],
  });
}

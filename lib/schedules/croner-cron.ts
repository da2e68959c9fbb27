import { Cron as Croner } from "croner";
import { OrchestratorError } from "../errors.ts";
import type { Cron, Schedule } from "./cron.ts";

/** {@link Cron} by the package croner. */
export const cronerCron: Cron = {
  next(schedule, afterMs) {
    const croner = parse(schedule);
    try {
      return croner.nextRun(new Date(afterMs))?.getTime() ?? null;
    } catch (cause) {
      // The fields are checked when they are parsed, the time zone only when it is needed.
      throw refused("time_zone", `${schedule.time_zone} is not a known time zone`, cause);
    }
  },
};

/** Paused, so that it counts and never sets a timer. */
function parse({ cron, time_zone }: Schedule): Croner {
  try {
    return new Croner(cron, { paused: true, timezone: time_zone, mode: "5-part" });
  } catch (cause) {
    throw refused("cron", "is not a schedule of five fields", cause);
  }
}

function refused(field: keyof Schedule, message: string, cause: unknown): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { issues: [{ path: [field], message }], cause });
}

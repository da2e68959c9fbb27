/** PORT: when something that is scheduled is due. */

/**
 * Works out when schedules are due. What every implementation promises:
 *
 *  1. `next` depends on what it is given alone: it reads no clock and sets no timer.
 *  2. A time that the change to summer time leaves out is due when the gap ends; one that comes twice is due once, the
 *     first time. A schedule of every hour goes on through both: it is due each time that the clock on the wall shows its
 *     minutes. Where a clock changes by half an hour, as in `Australia/Lord_Howe`, minutes that it leaves out are thus not
 *     due in that hour, and minutes that come twice are due both times, half an hour apart.
 *  3. What can't be read, and a time zone that is not known, is refused with the place of the fault.
 */
export interface Cron {
  /**
   * The first due time after an instant, both in milliseconds since 1970; null where there is none.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` naming `cron` or `time_zone`.
   */
  next(schedule: Schedule, afterMs: number): number | null;
}

/** When something is to happen, again and again. */
export interface Schedule {
  /** Five fields: minute, hour, day of month, month, day of week; or a nickname such as `@daily`. */
  cron: string;
  /** IANA name of the time zone in which the fields are meant. */
  time_zone: string;
}

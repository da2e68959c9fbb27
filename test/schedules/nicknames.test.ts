/** The nicknames of schedules, each of which says five fields, and what is none. */
import { expect, it } from "vitest";
import { cronerCron } from "../../lib/schedules/croner-cron.ts";
import { scheduleSchema } from "../../lib/schedules/schedule.ts";

const start = Date.parse("2030-03-05T06:07:08Z");

it.each([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
])("%s is %s", (nickname, fields) => {
  for (const time_zone of ["UTC", "Europe/Berlin", "Asia/Kathmandu"]) {
    const [named, written] = [nickname, fields].map((cron) => scheduleSchema.parse({ cron, time_zone }));
    let at = start;
    for (let turn = 0; turn < 50; turn += 1) {
      const due = cronerCron.next(named!, at);
      expect(due).toBe(cronerCron.next(written!, at));
      at = due!;
    }
    expect(at).toBeGreaterThan(start);
  }
});

it.each([
  "@",
  "@never",
  "@Daily",
  "@daily ",
  "@reboot",
  "daily",
  "@daily * * * *",
  "* * * *",
  "* * * * * *",
  "",
])("%j is no schedule", (cron) => {
  expect(scheduleSchema.safeParse({ cron }).success).toBe(false);
});

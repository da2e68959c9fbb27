/** What is known of alarms in memory: how many there are is known without a look at each. */
import { expect, test } from "vitest";
import type { Severity } from "fleetwright";
import { ThresholdBook } from "../../lib/thresholds/threshold-book.ts";
import { cpuMsOf } from "../support/cpu-time.ts";

function alarm(id: string, severity: Severity): Parameters<ThresholdBook["setAlarm"]>[0] {
  const at = "2026-01-01T00:00:00.000Z";
  const value = {
    id,
    threshold_id: "limit",
    threshold: "Limit",
    severity,
    node_id: `node-${id}`,
    agent_name: "machine",
    series: "load.1",
    value: 5,
    since: at,
    crossed_at: at,
  };
  return { key: id, revision: 1, value };
}

test("alarms are counted once each, up, down and up again", () => {
  const book = new ThresholdBook();
  book.setAlarm(alarm("a", "warning"));
  book.setAlarm(alarm("b", "warning"));
  // The feed may tell again what was read at the start, or with another severity.
  book.setAlarm(alarm("a", "warning"));
  expect(book.alarmCounts()).toEqual({ critical: 0, warning: 2, info: 0 });
  book.setAlarm(alarm("a", "critical"));
  expect(book.alarmCounts()).toEqual({ critical: 1, warning: 1, info: 0 });
  for (const id of ["a", "a", "b", "unknown"]) book.deleteAlarm(id);
  expect(book.alarmCounts()).toEqual({ critical: 0, warning: 0, info: 0 });
  book.setAlarm(alarm("a", "info"));
  expect(book.alarmCounts()).toEqual({ critical: 0, warning: 0, info: 1 });
});

test("counting costs the same however many alarms there are", () => {
  const book = new ThresholdBook();
  for (let each = 0; each < 20_000; each += 1) book.setAlarm(alarm(String(each), "warning"));
  let sum = 0;
  const took = cpuMsOf(() => {
    for (let each = 0; each < 5_000; each += 1) sum += book.alarmCounts().warning;
  });
  // Going through them takes some seconds; counters take some milliseconds.
  expect(took).toBeLessThan(500);
  expect(sum).toBe(5_000 * 20_000);
});

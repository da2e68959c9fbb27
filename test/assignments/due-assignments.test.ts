/** What comes behind a due time that is carried out, whatever the clock says in that moment. */
import { expect, test } from "vitest";
import { createTestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";

const hour = 3_600_000;
const schedule = { cron: "0 * * * *", time_zone: "UTC" };

test.each([
  ["a second before it, since the clock was set back", -1_000, 1],
  ["a millisecond before it", -1, 1],
  ["in its millisecond", 0, 1],
  ["a while behind it", 1_800_000, 1],
  ["a millisecond before the one behind it", hour - 1, 1],
  ["in the millisecond of the one behind it", hour, 2],
  ["three behind it", 3 * hour + 1, 4],
])(
  "one that is carried out %s is not due again, and those that were missed are over",
  async (_when, offMs, behind) => {
    await using test = await createTestOrchestrator();
    const { due } = servicesOf(test.orchestrator).assignments;
    const next_run_at = Math.ceil(test.clock.now() / hour + 2) * hour;
    await test.clock.advance(next_run_at + offMs - test.clock.now());
    const stored = { key: "all", value: { name: "all", next_run_at }, revision: 3 };
    expect(due.advance(stored, schedule)).toMatchObject({
      kind: "put",
      key: "all",
      expected: 3,
      value: { next_run_at: next_run_at + behind * hour, last_run_at: next_run_at },
    });
    expect(due.advance(stored, schedule, true)).toMatchObject({
      value: { name: "all", next_run_at: next_run_at + behind * hour },
    });
    expect(due.advance(stored, undefined)).toMatchObject({ kind: "delete", key: "all", expected: 3 });
  },
);

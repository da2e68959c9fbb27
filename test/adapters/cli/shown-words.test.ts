/** Words and colours by which people tell good from bad, each of them. */
import { describe, expect, it } from "vitest";
import type { Attention, Recap, RolloutDetail, Summary } from "fleetwright";
import { paintFor } from "../../../adapters/cli/paint.ts";
import { describeRecap } from "../../../adapters/cli/show-groups.ts";
import { toAmount } from "../../../adapters/cli/show-metrics.ts";
import { describeSummary } from "../../../adapters/cli/show-summary.ts";

const colours = {
  green: ["32", "approved succeeded in_sync ok"],
  yellow: ["33", "pending drifted partial paused degraded warning"],
  red: ["31", "failed rejected interrupted timed_out cancelled critical"],
} as const;

describe.each(Object.entries(colours))("%s", (_, [code, words]) => {
  const paint = paintFor({ environment: {}, isOutputTerminal: true } as Parameters<typeof paintFor>[0]);

  it.each(words.split(" "))("is %s in a table", (word) => {
    expect(paint.table(["STATUS", word])[1]).toBe(`\u001b[${code}m${word}\u001b[0m`);
  });

  it.each({ "32": ["+"], "33": ["~", "?"], "31": ["-", "!"] }[code])(
    "is the sign %s of a resource",
    (sign) => {
      expect(paint.results(`  ${sign} file  /a`)).toBe(`\u001b[${code}m  ${sign} file  /a\u001b[0m`);
    },
  );
});

it.each([
  ["alarms", "alarms", "alarms"],
  [
    "failed_applies",
    "agents whose last apply failed",
    "agents list --status approved --last-apply unsuccessful",
  ],
  ["unknown_operations", "operations nobody knows the end of", "operations list --status unknown"],
  ["away_agents", "agents away", "agents list --status approved --disconnected"],
  ["drifted_agents", "agents that drifted", "drift --status drifted"],
  ["failed_drift_checks", "agents whose drift check failed", "drift --status failed"],
  ["paused_rollouts", "rollouts paused", "rollouts list --status paused"],
  ["pending_agents", "agents waiting for approval", "agents list --status pending"],
] as const)("%s are %s, which `%s` shows", (kind, what, see) => {
  const attention = [{ kind, severity: "warning", count: 7, agents: [] }] as unknown as Attention[];
  const summary = {
    agents: { pending: 1, approved: 2, rejected: 3, connected: 4, away: 5 },
    last_apply: { timed_out: 6 },
    drift: { in_sync: 7 },
    operations: { queued: 8, running: 9, unknown: 10 },
    rollouts: { running: 11, paused: 12, stopping: 13 },
    attention,
  } as unknown as Summary;
  const told = describeSummary(summary, true);
  expect(told).toMatch(/^agents +2 approved, 4 connected, 5 away, 1 waiting\n/);
  expect(told).toMatch(/\nlast apply +6 timed out\ndrift +7 in sync\n/);
  expect(told).toMatch(/\noperations +9 running, 8 queued\nrollouts +11 running, 12 paused\n/);
  expect(told.trimEnd().split("\n").at(-1)!.split(/ {2,}/)).toEqual(["warning", "7", what, "-", see]);
});

it("a rollout tells of each end how many agents there are", () => {
  const resources = {
    total: 1,
    unchanged: 1,
    changed: 0,
    would_change: 0,
    unknown: 0,
    removed: 0,
    failed: 0,
    skipped: 0,
  };
  const recap = {
    changed: 1,
    unchanged: 2,
    failed: 3,
    stale: 4,
    cancelled: 5,
    unknown: 6,
    removing: 0,
    resources,
  };
  const rollout = {
    kind: "apply",
    assignment: "web",
    matched: 28,
    counts: {},
    status: "failed",
    rollout_id: "r",
  };
  expect(describeRecap({ ...rollout, recap: recap as Recap } as unknown as RolloutDetail)).toContain(
    "web: 28 agents: 1 changed, 2 unchanged, 3 failed, 4 left out, since the plan is not true there any more, 5 cancelled, 6 not heard of, 7 not ended, or never begun\n",
  );
});

it.each([
  [59, "59 s"],
  [60, "1 min"],
  [3_599, "59.98 min"],
  [3_600, "1 h"],
  [172_799, "48 h"],
  [172_800, "2 d"],
])("%d seconds are %s", (seconds, told) => expect(toAmount(seconds, "seconds")).toBe(told));

it.each([
  [1_023, "1023 B"],
  [1_024, "1 KiB"],
  [1_024 ** 2, "1 MiB"],
  [1_024 ** 5, "1 PiB"],
  [1_024 ** 6, "1024 PiB"],
])("%d bytes are %s", (bytes, told) => expect(toAmount(bytes, "bytes")).toBe(told));

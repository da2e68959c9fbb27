/** What `status` says of what needs somebody: whether there are more agents than it names. */
import { expect, test } from "vitest";
import type { Attention, Summary } from "fleetwright";
import { describeSummary } from "../../../adapters/cli/show-summary.ts";

const quiet: Summary = {
  agents: { pending: 0, approved: 9, rejected: 0, connected: 9, away: 0 },
  last_apply: {},
  drift: {},
  operations: { queued: 0, running: 0, unknown: 0 },
  rollouts: { running: 0, paused: 0, stopping: 0 },
  alarms: { critical: 0, warning: 0, info: 0 },
  attention: [],
};

const shown = (kind: string, count: number, named: number): string => {
  const agents = Array.from({ length: named }, (_, at) => ({ node_id: `${at}`, name: `web-${at}` }));
  const attention = [{ kind, severity: "warning", count, agents } as Attention];
  return describeSummary({ ...quiet, attention }, true);
};

test.each([
  ["away_agents", 2, 2, false],
  ["away_agents", 5, 5, false],
  ["away_agents", 6, 5, true],
  // One that was counted was removed before it was named.
  ["drifted_agents", 4, 3, true],
  ["alarms", 40, 1, false],
  ["alarms", 40, 4, false],
  ["alarms", 5, 5, false],
  ["alarms", 6, 5, true],
  ["unknown_operations", 7, 3, false],
  ["unknown_operations", 7, 5, true],
  ["of_a_newer_server", 7, 3, false],
])("of %s, %d in all, %d agents are named: there are more is %s", (kind, count, named, isMore) => {
  const text = shown(kind, count, named);
  expect(text).toContain(Array.from({ length: named }, (_, at) => `web-${at}`).join(", "));
  expect(text.includes(", ...")).toBe(isMore);
});

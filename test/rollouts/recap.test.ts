/** What became of an agent, by what its operation says: a row for each count and each status. */
import { expect, it } from "vitest";
import { operationStatusSchema } from "../../lib/operations/schemas.ts";
import { noRecap, outcomeOf, withEnded } from "../../lib/rollouts/recap.ts";
import type { MemberOutcome } from "../../lib/rollouts/schemas.ts";
import { countOutcomes, type Counts } from "../../lib/state/result.ts";

const none = countOutcomes([]);

/** What each count of resources alone makes of an agent whose operation has succeeded. */
const byCount: Readonly<Record<keyof Counts, MemberOutcome>> = {
  total: "unchanged",
  unchanged: "unchanged",
  changed: "changed",
  would_change: "changed",
  // An apply may change it.
  unknown: "changed",
  // Counted as changed, too.
  removed: "unchanged",
  failed: "unchanged",
  skipped: "unchanged",
};

const byStatus: Readonly<Record<string, MemberOutcome>> = {
  succeeded: "changed",
  cancelled: "cancelled",
  unknown: "unknown",
};

it("every count has its row", () => {
  expect(Object.keys(byCount).toSorted()).toEqual(Object.keys(none).toSorted());
});

it.each(Object.entries(byCount))("%s alone makes the agent %s, and goes as it came", (name, outcome) => {
  const ended = { status: "succeeded", counts: { ...none, [name]: 2 } } as const;
  expect(outcomeOf(ended)).toBe(outcome);
  const recap = withEnded(noRecap(), ended);
  expect(recap).toEqual({
    ...noRecap(),
    [outcome]: 1,
    removing: name === "removed" ? 1 : 0,
    resources: { ...none, [name]: 2 },
  });
  expect(withEnded(recap, ended, -1)).toEqual(noRecap());
});

it.each(operationStatusSchema.options)("an operation that is %s counts whatever it changed", (status) => {
  const counts = { ...none, changed: 1 };
  expect(outcomeOf({ status, counts })).toBe(byStatus[status] ?? "failed");
});

it("counts of an earlier version, which say nothing of what is unknown, are of none", () => {
  const { unknown: _, ...counts } = none;
  expect(outcomeOf({ status: "succeeded", counts })).toBe("unchanged");
});

import { describe, expect, it } from "vitest";
import type { RolloutStrategy } from "fleetwright";
import type { OperationDocument } from "../../lib/operations/documents.ts";
import type { RolloutDocument } from "../../lib/rollouts/documents.ts";
import { noCounts, Progress, resultOf, whyStop } from "../../lib/rollouts/progress.ts";
import { memberStatusSchema, type MemberStatus } from "../../lib/rollouts/schemas.ts";
import { countOutcomes } from "../../lib/state/result.ts";

const at = (strategy: RolloutStrategy, begun: number, batch = 1): RolloutDocument =>
  ({ strategy, begun, batch, batches: 9 }) as RolloutDocument;

describe("whether a rollout goes on", () => {
  it.each<[string, RolloutStrategy, number, number, boolean]>([
    ["nothing said, none failed", {}, 10, 0, true],
    ["nothing said, one failed", {}, 10, 1, false],
    ["a number that is kept", { max_failures: 2 }, 10, 2, true],
    ["a number that is passed", { max_failures: 2 }, 10, 3, false],
    ["a share of those begun that is kept", { max_failures: "10%" }, 20, 2, true],
    ["a share of those begun that is passed", { max_failures: "10%" }, 19, 2, false],
    ["a share that is rounded down to none", { max_failures: "10%" }, 9, 1, false],
    ["all may fail", { max_failures: "100%" }, 9, 9, true],
  ])("after a batch: %s", (_, strategy, begun, failed, goesOn) => {
    expect(whyStop(at(strategy, begun), { failed }, true) === null).toBe(goesOn);
  });

  it("within a batch depends on a number alone, and only where one was asked for", () => {
    expect(whyStop(at({}, 10), { failed: 10 }, false)).toBeNull();
    expect(whyStop(at({ max_failures: "0%" }, 10), { failed: 10 }, false)).toBeNull();
    expect(whyStop(at({ max_failures: 1 }, 10), { failed: 2 }, false)).toContain("2 of 10 agents failed");
  });

  it("after a canary demands that none failed", () => {
    const strategy = { canary: 3, max_failures: "100%" };
    expect(whyStop(at(strategy, 3, 0), { failed: 1 }, true)).toBe("The canary failed on 1 of 3 agents.");
    expect(whyStop(at(strategy, 3, 0), { failed: 0 }, true)).toBeNull();
    expect(whyStop(at(strategy, 6, 1), { failed: 1 }, true)).toBeNull();
  });

  const untried = "The plan is true on no agent of the canary, so nothing was tried there.";
  const cancelled = "The canary was cancelled before it told anything of the rest.";
  it.each<[string, string | null, RolloutStrategy, number, Parameters<typeof whyStop>[1], boolean]>([
    ["stops where nothing was tried on it", untried, { canary: 3 }, 0, { failed: 0, stale: 3 }, true],
    ["stops where all of it was cancelled", cancelled, { canary: 3 }, 0, { failed: 0, cancelled: 3 }, true],
    [
      "stops where the rest was cancelled",
      cancelled,
      { canary: 3 },
      0,
      { failed: 0, stale: 1, cancelled: 2 },
      true,
    ],
    ["goes on where one was tried", null, { canary: 3 }, 0, { failed: 0, stale: 1, cancelled: 1 }, true],
    ["goes on before it is over", null, { canary: 3 }, 0, { failed: 1 }, false],
    ["goes on before it is over, untried so far", null, { canary: 3 }, 0, { failed: 0, stale: 3 }, false],
    ["goes on where a later batch is not tried", null, { canary: 3 }, 1, { failed: 0, stale: 3 }, true],
    ["goes on where there is none", null, {}, 0, { failed: 0, stale: 3 }, true],
  ])("by its canary %s", (_, why, strategy, batch, ends, isOver) => {
    expect(whyStop(at(strategy, 3, batch), ends, isOver)).toBe(why);
  });

  it("says how many failed up to which batch, and how many may", () => {
    const why = whyStop(at({ max_failures: "20%" }, 10, 1), { failed: 3 }, true);
    expect(why).toBe("3 of 10 agents failed up to batch 2 of 9; 2 may.");
  });
});

it.each([
  [{ succeeded: 3 }, "succeeded"],
  [{ succeeded: 1, failed: 2 }, "partial"],
  [{ partial: 1 }, "partial"],
  [{ succeeded: 1, partial: 1 }, "partial"],
  [{ partial: 1, failed: 1 }, "partial"],
  [{ cancelled: 1 }, "failed"],
  [{ failed: 1, unknown: 1 }, "failed"],
  [{ succeeded: 1, cancelled: 1 }, "partial"],
])("%o ends as %s", (counts, expected) => {
  expect(resultOf({ ...noCounts(), ...counts })).toBe(expected);
});

/** Of each status of an agent: whether it is open, and whether it counts as a failure. One that waits has no operation. */
const counted: Record<Exclude<MemberStatus, "waiting">, "open" | "failure" | "neither"> = {
  queued: "open",
  running: "open",
  succeeded: "neither",
  partial: "failure",
  failed: "failure",
  timed_out: "failure",
  interrupted: "failure",
  unknown: "failure",
  cancelled: "neither",
  stale: "neither",
};

describe("an operation in the progress of a rollout", () => {
  const of = (status: keyof typeof counted): OperationDocument =>
    ({
      operation_id: "one",
      kind: "apply",
      counts: countOutcomes([]),
      ...(status === "stale" ? { status: "failed", error: { code: "PLAN_STALE" } } : { status }),
    }) as OperationDocument;

  it("is there with every status", () => {
    expect(["waiting", ...Object.keys(counted)].toSorted()).toEqual(memberStatusSchema.options.toSorted());
  });

  it.each(Object.entries(counted) as [keyof typeof counted, string][])(
    "that is %s counts as %s",
    (status, as) => {
      const progress = new Progress();
      progress.note(of("running"));
      progress.note(of(status));
      expect([progress.open, progress.failures]).toEqual([as === "open" ? 1 : 0, as === "failure" ? 1 : 0]);
    },
  );

  it("that was given up and came to a good end after all is no failure any more", () => {
    const progress = new Progress();
    for (const status of ["queued", "running", "unknown", "succeeded"] as const) progress.note(of(status));
    expect([progress.open, progress.failures]).toEqual([0, 0]);
    expect(progress.recap).toMatchObject({ unchanged: 1, unknown: 0 });
  });
});

describe("the progress of a rollout", () => {
  const changed = { ...countOutcomes([]), total: 1, changed: 1 };
  const of = (more: Partial<OperationDocument>): OperationDocument =>
    ({
      operation_id: "one",
      kind: "apply",
      status: "succeeded",
      counts: changed,
      ...more,
    }) as OperationDocument;
  const matched = (status: RolloutDocument["status"]) => ({ matched: 5, status });

  it("counts an operation once, and rises with each change of it", () => {
    const progress = new Progress();
    const editions: number[] = [];
    for (const status of ["queued", "queued", "running", "succeeded", "succeeded"] as const) {
      progress.note(of({ status, changes: "a" }));
      editions.push(progress.edition);
    }
    expect(editions).toEqual([1, 1, 2, 3, 3]);
    expect(progress.recap).toMatchObject({ changed: 1, resources: { total: 1, changed: 1 } });
    expect(progress.groups.take("r", 9).writes).toMatchObject([{ value: { changes: "a", agents: 1 } }]);
  });

  it("has a recap and groups of what has ended alone, and none of commands", () => {
    const progress = new Progress();
    for (const status of ["queued", "running"] as const) progress.note(of({ status, changes: "a" }));
    progress.note(of({ operation_id: "two", kind: "run", changes: "b" }));
    expect(progress.recap).toEqual(new Progress().recap);
    expect(progress.groups.isUnwritten).toBe(false);
    expect(progress.countsOf(matched("running"))).toMatchObject({ running: 1, succeeded: 1, waiting: 3 });
  });

  it("counts those that were refused, each as its reason says, with what they have in common", () => {
    const progress = new Progress();
    const refusal = (code: string) => ({ rollout_id: "r", node_id: code, error: { code, message: "No." } });
    progress.refuse([{ ...refusal("MODULE_MISSING"), changes: "a" }, refusal("PLAN_STALE")]);
    expect([progress.edition, progress.failures, progress.open]).toEqual([2, 1, 0]);
    expect(progress.recap).toMatchObject({ failed: 1, stale: 1 });
    expect(progress.groups.take("r", 9).writes).toMatchObject([
      { value: { changes: "a", status: "failed" } },
    ]);
    expect(progress.countsOf(matched("paused"))).toMatchObject({
      failed: 1,
      stale: 1,
      waiting: 3,
      cancelled: 0,
    });
    expect(progress.countsOf(matched("failed"))).toMatchObject({
      failed: 1,
      stale: 1,
      waiting: 0,
      cancelled: 3,
    });
  });
});

/** What callers see of a rollout and of each of its agents, by what is stored. */
import { describe, expect, test } from "vitest";
import type { OperationDocument } from "../../lib/operations/documents.ts";
import type { RefusalDocument, RolloutDocument } from "../../lib/rollouts/documents.ts";
import { noCounts, Progress } from "../../lib/rollouts/progress.ts";
import { noRecap } from "../../lib/rollouts/recap.ts";
import { toMembers, toRollout, type Stretch } from "../../lib/rollouts/rollout-view.ts";
import type { Targets } from "../../lib/rollouts/targets.ts";
import { countOutcomes } from "../../lib/state/result.ts";
import { operationDocument } from "../support/operation-document.ts";

const plain: RolloutDocument = {
  rollout_id: "r",
  assignment: "web",
  kind: "apply",
  trigger: "manual",
  status: "running",
  strategy: { batch: 2 },
  modules: [{ name: "web", revision: 1 }],
  matched: 5,
  batches: 3,
  batch: 1,
  begun: 2,
  counts: { ...noCounts(), succeeded: 1 },
  targets: "t",
  requested_by: { type: "operator", id: "1", name: "ada" },
  created_at: "2030-01-01T00:00:00.000Z",
};
const operationOf = (more: Partial<OperationDocument> = {}): OperationDocument =>
  operationDocument({ node_id: "1", status: "succeeded", ...more });

describe("a rollout", () => {
  const shown = {
    rollout_id: "r",
    assignment: "web",
    kind: "apply",
    trigger: "manual",
    status: "running",
    rollout: { batch: 2 },
    modules: [{ name: "web", revision: 1 }],
    matched: 5,
    batches: 3,
    batch: 2,
    counts: { ...noCounts(), succeeded: 1 },
    requested_by: "ada",
    created_at: "2030-01-01T00:00:00.000Z",
  };
  const inside = {
    ending: "failed",
    epoch: 3,
    cancelled_by: { type: "operator", id: "1", name: "ada" },
  } as const;
  const recap = { ...noRecap(), changed: 2 };
  type More = Partial<RolloutDocument>;
  test.each<[string, More, { held?: number }, object]>([
    ["shows what is stored of it, and nothing else of what is", inside, {}, shown],
    ["names the rollout whose plan it applies", { plan: "p" }, {}, { ...shown, plan_rollout_id: "p" }],
    ["tells how many a maintenance window holds", {}, { held: 2 }, { ...shown, held: 2 }],
    ["has the recap that is stored", { recap }, {}, { ...shown, recap }],
    [
      "of a command has none",
      { kind: "run", recap, command: "uptime" },
      {},
      { ...shown, kind: "run", command: "uptime" },
    ],
    [
      "tells when the next batch begins, by the wall clock",
      { not_before: 1_000 },
      {},
      { ...shown, next_batch_at: "1970-01-01T00:00:11.000Z" },
    ],
    [
      "tells so too while it is paused",
      { not_before: 1_000, status: "paused" },
      {},
      { ...shown, status: "paused", next_batch_at: "1970-01-01T00:00:11.000Z" },
    ],
    [
      "tells of no batch once it is over",
      { not_before: 1_000, status: "stopping" },
      {},
      { ...shown, status: "stopping" },
    ],
  ])("%s", (_, more, { held = 0 }, expected) => {
    const toWall = (ms: number): number => ms + 10_000;
    expect(toRollout({ ...plain, ...more }, { progress: undefined, held, toWall })).toStrictEqual(expected);
  });

  test("that goes on has the counts and the recap of its progress, whatever was written last", () => {
    const progress = new Progress();
    progress.note(operationOf({ counts: { ...countOutcomes([]), total: 1, changed: 1 } }));
    progress.note(operationOf({ operation_id: "p", status: "running" }));
    const { counts, recap: now } = toRollout({ ...plain, recap }, { progress, held: 0, toWall: (ms) => ms });
    expect(counts).toEqual({ ...noCounts(), succeeded: 1, running: 1, waiting: 3 });
    expect(now).toMatchObject({ changed: 1, resources: { total: 1, changed: 1 } });
  });

  test("has a count of every status, whatever an earlier version knew", () => {
    const { stale: _, ...counts } = plain.counts;
    const known = { progress: undefined, held: 0, toWall: (ms: number) => ms };
    expect(toRollout({ ...plain, counts: counts as typeof plain.counts }, known).counts).toEqual(
      plain.counts,
    );
  });
});

describe("an agent of a rollout", () => {
  const agents = ["1", "2", "3", "4", "5"].map((node_id) => ({ node_id, name: `web-${node_id}` }));
  const targets = { agents, ends: [1, 3, 5] } as Targets;
  const stretch = (more: Partial<Stretch> = {}): Stretch => ({
    from: 0,
    to: 5,
    operations: new Map(),
    refusals: new Map(),
    freezeOf: () => null,
    ...more,
  });
  const waiting = { status: "waiting", summary: "" };
  const lost = { status: "unknown", summary: "The operation is not kept any more." };

  test("has its batch, and waits until it is begun", () => {
    const rollout = { ...plain, begun: 0 };
    const all = agents.map((agent, at) => ({ ...agent, batch: [1, 2, 2, 3, 3][at], ...waiting }));
    expect(toMembers(rollout, targets, stretch())).toEqual(all);
    expect(toMembers(rollout, targets, stretch({ from: 2, to: 4 }))).toEqual(all.slice(2, 4));
    expect(toMembers(rollout, targets, stretch({ from: 4 }))).toEqual(all.slice(4));
  });

  test("that was begun and has no operation any more is unknown", () => {
    expect(toMembers(plain, targets, stretch({ to: 3 }))).toMatchObject([lost, lost, waiting]);
  });

  test.each([
    ["cancelled", "Ada cancelled it."],
    ["failed", undefined],
    ["stopping", "Ada cancelled it."],
  ] as const)(
    "that was not begun is cancelled where the rollout is %s, and says why: %s",
    (status, reason) => {
      const rollout = { ...plain, status, ...(reason !== undefined && { reason }) };
      expect(toMembers(rollout, targets, stretch({ from: 3, to: 4 }))).toEqual([
        {
          node_id: "4",
          name: "web-4",
          batch: 3,
          status: "cancelled",
          summary: reason ?? "",
          error: { code: "CANCELLED", message: reason ?? "" },
        },
      ]);
    },
  );

  test.each([
    ["MODULE_MISSING", "failed"],
    ["PLAN_STALE", "stale"],
  ])("that was refused with %s is %s", (code, status) => {
    const error = { code, message: "No." };
    const refusal: RefusalDocument = { rollout_id: "r", node_id: "1", error };
    const refusals = new Map([["1", refusal]]);
    expect(toMembers(plain, targets, stretch({ to: 1, refusals }))).toEqual([
      { node_id: "1", name: "web-1", batch: 1, status, summary: "No.", error },
    ]);
  });

  test("that a maintenance window holds says until when", () => {
    const freeze = { window_id: "w", until: "2030-01-01T01:00:00.000Z" };
    const operations = new Map([["1", operationOf({ status: "queued" })]]);
    expect(toMembers(plain, targets, stretch({ to: 1, operations, freezeOf: () => freeze }))).toMatchObject([
      {
        operation_id: "o",
        status: "queued",
        held_by: freeze,
        summary: "held by a maintenance window until 2030-01-01T01:00:00.000Z",
      },
    ]);
  });

  const counts = (of: Partial<ReturnType<typeof countOutcomes>>) => ({ ...countOutcomes([]), ...of });
  test.each<[string, Partial<OperationDocument>]>([
    ["", {}],
    ["done", { kind: "run" }],
    ["", { kind: "run", status: "running" }],
    ["No.", { status: "failed", error: { code: "INTERNAL", message: "No." } }],
    ["2 removed, 1 changed, 4 unchanged", { counts: counts({ removed: 2, changed: 3, unchanged: 4 }) }],
    ["2 removed", { counts: counts({ removed: 2, changed: 2 }) }],
    [
      "1 would be removed, 2 would change, 1 unknown",
      { kind: "plan", counts: counts({ removed: 1, would_change: 3, unknown: 1 }) },
    ],
    ["1 changed, 2 failed, 3 skipped", { counts: counts({ changed: 1, failed: 2, skipped: 3 }) }],
    ["1 changed, 2 would change", { counts: counts({ changed: 1, would_change: 2 }) }],
  ])("says of its operation: %j", (summary, more) => {
    const operations = new Map([["1", operationOf(more)]]);
    const [member] = toMembers(plain, targets, stretch({ to: 1, operations }));
    expect(member).toMatchObject({ operation_id: "o", status: more.status ?? "succeeded", summary });
    expect(member?.error).toEqual(more.error);
    expect(member).not.toHaveProperty("held_by");
  });
});

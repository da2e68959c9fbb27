import { expect, test } from "vitest";
import type { OperationDocument } from "../../lib/operations/documents.ts";
import { toOperation } from "../../lib/operations/operation-view.ts";
import { operationSchema, type Operation } from "../../lib/operations/schemas.ts";

const plain = {
  operation_id: "0199e0a0-0000-7000-8000-000000000000",
  kind: "apply",
  node_id: "n",
  agent_name: "web-1",
  status: "succeeded",
  modules: [{ name: "web", revision: 1 }],
  counts: {
    total: 0,
    changed: 0,
    unchanged: 0,
    failed: 0,
    skipped: 0,
    would_change: 0,
    removed: 0,
    unknown: 0,
  },
  requested_by: "ada",
  created_at: "2026-01-01T00:00:00.000Z",
} satisfies Operation;

const full = {
  ...plain,
  rollout_id: "r",
  assignment: "a",
  scope: ["web", "gone"],
  plan_id: "p",
  command: "uptime",
  exit_code: 0,
  started_at: "2026-01-01T00:00:01.000Z",
  finished_at: "2026-01-01T00:00:02.000Z",
  duration_ms: 1000,
  error: { code: "INTERNAL", message: "no" },
  override_window: true,
} satisfies Operation;

const held_by = { window_id: "0199e0a0-0000-7000-8000-000000000001", until: "2026-01-01T01:00:00.000Z" };

const inside = { snapshot: "s", resource_count: 0, timeout_seconds: 300, allow_empty: false };

test("what callers see of an operation is all that its schema names, and nothing else that is stored", () => {
  const all = { ...full, held_by };
  expect(Object.keys(all).toSorted()).toEqual(Object.keys(operationSchema.shape).toSorted());
  const later = { ...full, ...inside, queued_at: 1, repeats: "o", kept_by_a_later_version: "secret" };
  expect(toOperation(later, held_by)).toEqual(all);
});

test("what an operation has not is not shown as undefined", () => {
  expect(Object.keys(toOperation({ ...plain, ...inside })).toSorted()).toEqual(Object.keys(plain).toSorted());
});

test("the work of a drift check is shown as a plan", () => {
  const check: OperationDocument = { ...plain, ...inside, kind: "check" };
  expect(toOperation(check).kind).toBe("plan");
});

test("counts that an earlier version stored say that nothing was unknown", () => {
  const { unknown: _nothing, ...counts } = plain.counts;
  const stored: OperationDocument = { ...plain, ...inside, counts };
  expect(operationSchema.shape.counts.parse(toOperation(stored).counts)).toEqual(plain.counts);
});

/** When two plans say the same: whoever confirmed one may have the other applied. */
import { expect, test } from "vitest";
import { planText } from "../../lib/state/plan-text.ts";
import type { ResourceResult } from "../../lib/state/result.ts";

const said: ResourceResult = {
  resource_id: "f",
  module: "m",
  type: "file",
  identity: "/f",
  outcome: "would_change",
  action: "update",
  changes: [{ property: "mode", before: "0600", after: "0644" }],
  caused_by: [],
  attempts: 1,
  duration_ms: 1,
};

test.each<Partial<ResourceResult>>([
  { duration_ms: 2 },
  { attempts: 2 },
  { message: "It took its time." },
  Object.fromEntries(Object.entries(said).toReversed()),
])("they do with %j", (more) => {
  expect(planText([{ ...more, ...said, ...more }])).toBe(planText([said]));
});

test.each<Partial<ResourceResult>>([
  { resource_id: "g" },
  { module: "n" },
  { type: "line" },
  { identity: "/g" },
  { outcome: "unknown" },
  { action: "create" },
  { changes: [{ property: "mode", before: "0600", after: "0666" }] },
  { changes: [{ property: "mode", before: "0640", after: "0644" }] },
  { changes: [] },
  { caused_by: ["a"] },
  { until: "a" },
  { owed_since: "01890000-0000-7000-8000-000000000001" },
  { skipped_because: "condition" },
  { code: "HOST_ERROR" },
])("they don't with %j", (more) => {
  expect(planText([{ ...said, ...more }])).not.toBe(planText([said]));
});

test("they don't with one result more, or in another order", () => {
  const other = { ...said, resource_id: "g" };
  const texts = [[said], [said, other], [other, said], []].map(planText);
  expect(new Set(texts).size).toBe(4);
});

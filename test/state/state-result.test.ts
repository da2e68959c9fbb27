import { expect, test } from "vitest";
import { OrchestratorError } from "../../lib/errors.ts";
import {
  countOutcomes,
  outcomeSchema,
  type ResourceResult,
  resourceResultSchema,
} from "../../lib/state/result.ts";
import { failureParts, type ResultParts, toResult } from "../../lib/state/run/state-result.ts";
import { declare } from "../support/state-fixture.ts";

const [open, secret] = [false, true].map(
  (sensitive) => declare([{ id: "f", type: "file", path: "/f", sensitive }])[0]!,
);
const change = { property: "content", before: null, after: "hunter2", diff: "+hunter2" };

test("a result fits the wire", () => {
  const result = toResult(
    { resource: open!, hides: "nothing" },
    { outcome: "changed", action: "create", changes: [change], exit_code: 0 },
    5,
  );
  expect(resourceResultSchema.parse(result)).toEqual(result);
});

test("the values of a sensitive resource are hidden, what did not exist stays null", () => {
  const { changes } = toResult(
    { resource: secret!, hides: "nothing" },
    { outcome: "changed", changes: [change] },
    0,
  );
  expect(changes).toEqual([{ property: "content", before: null, after: "(sensitive)", sensitive: true }]);
});

test("whether a sensitive resource is there is no secret", () => {
  const made = { property: "ensure", before: "absent", after: "present" };
  const parts: ResultParts = { outcome: "changed", changes: [made, change] };
  const { changes } = toResult({ resource: secret!, hides: "nothing" }, parts, 0);
  expect(changes[0]).toEqual(made);
  expect(toResult({ resource: open!, hides: "values" }, parts, 0).changes).toEqual(changes);
});

test("a failure tells its code and sentence, a sensitive one the sentence of the code", () => {
  const error = new OrchestratorError("COMMAND_FAILED", { message: "hunter2", details: { exit_code: 3 } });
  expect(failureParts(open!, error)).toMatchObject({
    code: "COMMAND_FAILED",
    message: "hunter2",
    exit_code: 3,
  });
  expect(failureParts(secret!, error)).toMatchObject({
    message: "The command ended with an error.",
    exit_code: 3,
  });
});

test("an error that nobody expected tells nothing", () => {
  expect(failureParts(open!, new TypeError("x is not a function"))).toMatchObject({
    code: "INTERNAL",
    message: "Something went wrong inside.",
  });
});

test("a long sentence fits the wire as well", () => {
  const error = new OrchestratorError("HOST_ERROR", { message: `/${"x".repeat(5000)} is there.` });
  const result = toResult({ resource: open!, hides: "nothing" }, failureParts(open!, error), 5);
  expect(resourceResultSchema.parse(result).message).toHaveLength(4096);
});

test.each<Partial<ResourceResult>>([
  { until: "m/a" },
  { owed_since: "01890000-0000-7000-8000-000000000001" },
  { skipped_because: "cancelled" },
  { code: "INTERNAL" },
  { message: "It broke." },
  { exit_code: 0 },
  {},
])("a result says %j beside what every one says, and nothing else", (more) => {
  const known: ResultParts = {
    outcome: "unknown",
    action: "update",
    changes: [],
    caused_by: ["a"],
    attempts: 2,
  };
  const { resource_id, module, type, identity } = open!;
  const named = { resource_id, module, type, identity };
  const result = toResult({ resource: open!, hides: "nothing" }, { ...known, ...more }, 1.6);
  expect(result).toStrictEqual({ ...named, ...known, duration_ms: 2, ...more });
});

test("outcomes are counted, and what is taken away beside them, where it is or would be", () => {
  const result = (outcome: ResourceResult["outcome"], action: ResourceResult["action"]): ResourceResult =>
    toResult({ resource: open!, hides: "nothing" }, { outcome, action }, 0);
  const results = outcomeSchema.options.flatMap((outcome, at) =>
    Array.from({ length: at + 1 }, () => [result(outcome, "remove"), result(outcome, "update")]).flat(),
  );
  expect(countOutcomes(results)).toEqual({
    total: 42,
    unchanged: 2,
    changed: 4,
    would_change: 6,
    unknown: 8,
    failed: 10,
    skipped: 12,
    removed: 5,
  });
});

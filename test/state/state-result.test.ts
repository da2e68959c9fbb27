import { expect, test } from "vitest";
import { OrchestratorError } from "../../lib/errors.ts";
import { resourceResultSchema } from "../../lib/state/result.ts";
import { failureParts, toResult } from "../../lib/state/run/state-result.ts";
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

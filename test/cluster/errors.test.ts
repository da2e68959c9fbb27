/** What one process tells another of an error is what the other throws. */
import { expect, test } from "vitest";
import { fromClusterError, toClusterError } from "../../lib/cluster/frames.ts";
import { type ErrorCode, errorTable, OrchestratorError } from "../../lib/errors.ts";

const codes = Object.keys(errorTable) as ErrorCode[];

test.each(codes)("%s goes over with its words and details", (code) => {
  const details = { agent: "web-1", retry_after: 7, list: ["a", { deep: null }] };
  const error = new OrchestratorError(code, { message: "In words of its own.", details });
  const there = fromClusterError(JSON.parse(JSON.stringify(toClusterError(error))));
  expect(there).toBeInstanceOf(OrchestratorError);
  expect([there.code, there.message, there.details]).toEqual([code, error.message, details]);
});

test.each([new Error("a secret"), new TypeError("a secret"), "a secret", null])(
  "what was not thrown on purpose says nothing of itself: %o",
  (error) => {
    const told = toClusterError(error);
    expect(told).toEqual({ code: "INTERNAL", message: errorTable.INTERNAL.message, details: {} });
  },
);

test.each(["FROM_THE_FUTURE", "toString", "__proto__", ""])(
  "of the code %j it is said that another process has it",
  (code) => {
    const error = fromClusterError({ code, message: "New.", details: { secret: "of it" } });
    expect([error.code, error.details]).toEqual(["PEER_ERROR", { code, message: "New." }]);
  },
);

import { expect, test } from "vitest";
import { soundResult } from "../../lib/agent/result-size.ts";
import type { ResourceResult } from "../../lib/state/result.ts";

test("a result that the protocol can't carry loses its values, and not what caused it: what is owed is settled by that", () => {
  const result: ResourceResult = {
    resource_id: "reload",
    module: "web",
    type: "script",
    identity: "web/reload",
    outcome: "changed",
    action: "run",
    changes: [{ property: "p".repeat(201), before: null, after: 1 }],
    caused_by: ["conf"],
    message: "x".repeat(5000),
    attempts: 1,
    duration_ms: 1,
  };
  const { message: _long, ...rest } = result;
  expect(soundResult(result)).toEqual({ ...rest, changes: [] });
});

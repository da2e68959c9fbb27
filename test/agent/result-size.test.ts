import { expect, test } from "vitest";
import type { OperationResult } from "../../lib/agent/operation-journal.ts";
import { fitResult, soundResult } from "../../lib/agent/result-size.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import { agentMessageSchema } from "../../lib/wire/messages.ts";
import { uuid } from "../support/agent-commands.ts";

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

/** A result of so many resources, each with a value and a diff of these lengths, and with output of that length. */
function resultOf(
  count: number,
  lengths: { value?: number; diff?: number; output?: number },
): OperationResult {
  const { value = 1, diff = 1, output = 1 } = lengths;
  const at = "2030-01-01T00:00:00.000Z";
  const text = (length: number): string => "x".repeat(length);
  const results = Array.from({ length: count }, (_, n): ResourceResult => ({
    resource_id: `r${n}`,
    module: "web",
    type: "file",
    identity: `/r${n}`,
    outcome: "changed",
    action: "update",
    changes: [{ property: "content", before: text(value), after: "new", diff: text(diff) }],
    caused_by: ["conf"],
    message: "said",
    attempts: 1,
    duration_ms: 1,
  }));
  const streams = Array.from({ length: Math.ceil(output / 250_000) }, (_, n) => ({
    module: "web",
    resource_id: `r${n}`,
    stream: "stdout" as const,
    text: text(Math.min(output, 250_000)),
    truncated: false,
  }));
  const times = { started_at: at, finished_at: at, duration_ms: 1 };
  return {
    type: "result",
    operation_id: uuid(1),
    status: "succeeded",
    results,
    output: streams,
    ...times,
  };
}

const mebibyte = 1024 * 1024;

/** What is left of a result that goes into one message. */
function leftOf(result: OperationResult): Record<string, unknown> {
  const fitted = fitResult(result);
  expect(Buffer.byteLength(JSON.stringify(fitted))).toBeLessThanOrEqual(16 * mebibyte);
  expect(agentMessageSchema.safeParse(fitted).success).toBe(true);
  const [first] = fitted.results;
  const [change] = first!.changes;
  const [output] = fitted.output;
  return {
    results: fitted.results.length,
    diff: change?.diff !== undefined,
    value: change !== undefined,
    caused_by: first!.caused_by.length > 0,
    message: first!.message !== undefined,
    output: output!.text !== "",
    truncated: output!.truncated,
  };
}

const whole = { diff: true, value: true, caused_by: true, message: true, output: true, truncated: false };

test.each([
  ["all of it where that fits", resultOf(10, {}), { results: 10, ...whole }],
  ["20,000 results where there are more", resultOf(20_001, {}), { results: 20_000, ...whole }],
  ["no diffs", resultOf(1_000, { diff: 17_000 }), { results: 1_000, ...whole, diff: false }],
  [
    "no diffs and no output, which says that it was cut",
    resultOf(1_000, { value: 12_000, output: 4 * mebibyte }),
    { results: 1_000, ...whole, diff: false, output: false, truncated: true },
  ],
  [
    "no values either, but each outcome",
    resultOf(1_000, { value: 17_000, output: 4 * mebibyte }),
    {
      results: 1_000,
      diff: false,
      value: false,
      caused_by: false,
      message: false,
      output: false,
      truncated: true,
    },
  ],
])("one message has %s", (_name, result, left) => {
  expect(leftOf(result)).toEqual(left);
});

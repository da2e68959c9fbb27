import { expect, test } from "vitest";
import { finish } from "../../lib/internal/work.ts";
import { check, checkInSlices } from "../../lib/wire/check-slices.ts";
import { agentMessageSchema } from "../../lib/wire/messages.ts";
import { agentExamples } from "./support/examples.ts";

const progress = agentExamples.find((message) => message.type === "progress")!;

/** A message with so many results, told apart by how long they took. */
const withResults = (count: number) => ({
  ...progress,
  results: Array.from({ length: count }, (_, n) => ({ ...progress.results[0]!, duration_ms: n })),
});

test.each([0, 1, 8, 9, 16, 17, 100])(
  "a message with %i results is the same, checked in slices or at once",
  (count) => {
    const message = withResults(count);
    expect(finish(checkInSlices(agentMessageSchema, message))).toEqual({ data: message });
    expect(check(agentMessageSchema, message)).toEqual({ data: message });
  },
);

test.each([0, 7, 8, 9, 19])("a fault in result %i is named by its place in the whole list", (at) => {
  const message = withResults(20);
  const results = message.results.map((result, n) =>
    n === at ? { ...result, duration_ms: "long" } : result,
  );
  const checked = finish(checkInSlices(agentMessageSchema, { ...message, results }));
  expect(checked).toEqual({ found: [`results.${at}.duration_ms: invalid_type`] });
});

const member = (message: { type: string }, list: string): unknown =>
  (message as unknown as Record<string, readonly unknown[]>)[list]?.[0];

test.each([
  ["progress", "results", 1_000],
  ["result", "results", 20_000],
  ["result", "output", 4_000],
  ["output", "output", 100],
  ["metrics", "samples", 1_000],
] as const)("a %s with more %s than it may have, %i, is refused in slices as at once", (type, list, most) => {
  const message = agentExamples.find((each) => each.type === type && member(each, list) !== undefined)!;
  const withMembers = (count: number) => ({
    ...message,
    [list]: Array.from({ length: count }, () => member(message, list)),
  });
  expect(finish(checkInSlices(agentMessageSchema, withMembers(most)))).toHaveProperty("data");
  expect(finish(checkInSlices(agentMessageSchema, withMembers(most + 1)))).toEqual({
    found: [`${list}: too_big`],
  });
});

import { expect, test } from "vitest";
import { z } from "zod";
import { parseInput } from "../../lib/internal/parse-input.ts";

const half = "\ud800";

test.each<[where: string, input: unknown, path: (string | number)[]]>([
  ["a text", half, []],
  ["a member", { a: [{ b: half }] }, ["a", 0, "b"]],
  [
    "a member of an object without a prototype",
    Object.assign(Object.create(null) as object, { a: half }),
    ["a"],
  ],
  ["a key", { a: { [half]: 1 } }, ["a"]],
])("half a character is refused in %s, with its place", (_where, input, path) => {
  expect(() => parseInput(z.unknown(), input)).toThrow(
    expect.objectContaining({
      code: "VALIDATION_FAILED",
      issues: [expect.objectContaining({ path })],
    }) as Error,
  );
});

test("whole characters of two halves are kept", () => {
  const input = { "\u{1f600}": ["\u{1f600}", 1, null] };
  expect(parseInput(z.unknown(), input)).toEqual(input);
});

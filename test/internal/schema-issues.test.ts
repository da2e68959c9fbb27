import { expect, it } from "vitest";
import { z } from "zod";
import { inPlainWords, toIssues } from "../../lib/internal/schema-issues.ts";
import type { SchemaFault } from "../../lib/internal/schema-issues.ts";

const schema = z.strictObject({
  name: z.string(),
  tags: z.record(z.string().regex(/^[a-z]+$/, "letters"), z.string()).optional(),
  parts: z.array(z.strictObject({ size: z.number() })).optional(),
});

it.each([
  [{}, [["name"], "This field is missing."]],
  [{ name: 5 }, [["name"], "This must be text, not a number."]],
  [{ name: "a", more: 1 }, [["more"], "There is no such field."]],
  [{ name: "a", tags: { "Bad Key": "1" } }, [["tags", "Bad Key"], "letters"]],
  [{ name: "a", tags: { key: null } }, [["tags", "key"], "This must be text, not null."]],
  [{ name: "a", parts: [{ size: 1 }, {}] }, [["parts", 1, "size"], "This field is missing."]],
  [{ name: "a", parts: [{ size: 1, x: 1 }] }, [["parts", 0, "x"], "There is no such field."]],
])("%j has its fault where it is, in words that help", (value, [path, message]) => {
  const faults = schema.safeParse(value).error!.issues as SchemaFault[];
  expect(toIssues(faults)).toEqual([{ path, message }]);
});

it("each field that is not known has a place of its own", () => {
  const faults = schema.safeParse({ name: "a", y: 1, z: 2 }).error!.issues as SchemaFault[];
  expect(toIssues(faults).map(({ path }) => path)).toEqual([["y"], ["z"]]);
});

it.each([
  [z.int(), 1.5, "This must be a whole number."],
  [z.int(), "1", "This must be a number, not text."],
  [z.boolean(), [], "This must be true or false, not a list."],
  [z.string(), true, "This must be text, not a boolean."],
  [z.record(z.string(), z.string()), 5, "This must be a map, not a number."],
  [z.array(z.string()), {}, "This must be a list, not a map."],
  [z.literal("a"), 5, 'This must be "a".'],
  [z.enum(["a|b", "c"]), 5, 'This must be "a|b" or "c".'],
  [z.enum(["a", "b", "c"]), 5, 'This must be "a", "b" or "c".'],
  [z.literal([1, 2]), 5, "This must be 1 or 2."],
  [z.string().min(1), "", "This must have at least 1 character."],
  [z.string().max(3), "abcd", "This must have at most 3 characters."],
  [z.array(z.string()).length(2), [], "This must have exactly 2 items."],
  [z.number().min(1), 0, "This must be at least 1."],
  [z.number().gt(1), 1, "This must be more than 1."],
  [z.number().lt(1), 1, "This must be less than 1."],
  [z.string("an address"), 5, "an address"],
  [z.number().refine(() => false, "no"), 5, "no"],
])("what the schema library says of a wrong value is said in our words: %#", (schemaOf, value, expected) => {
  expect(schemaOf.safeParse(value).error!.issues.map(({ message }) => inPlainWords(message))).toEqual([
    expected,
  ]);
});

it("a value of another type is not told to be too short, too", () => {
  const faults = z.strictObject({ name: z.string().min(1).max(3) }).safeParse({ name: [] }).error!.issues;
  expect(toIssues(faults as SchemaFault[]).map(({ message }) => message)).toEqual([
    "This must be text, not a list.",
  ]);
});

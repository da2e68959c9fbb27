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

it.each([
  [{ size: "a" }, ["shape"], 'This must be "box" or "ball".'],
  [{ shape: "x" }, ["shape"], 'This must be "box" or "ball".'],
])("%j is told which shapes there are", (value, path, message) => {
  const shapes = [z.object({ shape: z.literal("box") }), z.object({ shape: z.literal("ball") })] as const;
  const faults = z.discriminatedUnion("shape", shapes).safeParse(value).error!.issues as SchemaFault[];
  expect(toIssues(faults)).toEqual([{ path, message }]);
});

it("a field of one of several shapes that is not there is missing", () => {
  const faults = z.object({ a: z.union([z.string(), z.number()]) }).safeParse({}).error!.issues;
  expect(toIssues(faults as SchemaFault[])).toEqual([{ path: ["a"], message: "This field is missing." }]);
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
  [z.literal("a b"), 5, 'This must be "a b".'],
  [z.enum(["a|1", "b"]), 5, 'This must be "a|1" or "b".'],
  [z.literal([true, null, "a"]), 5, 'This must be true, null or "a".'],
  [z.number().multipleOf(5), 3, "This must be a multiple of 5."],
  [z.uuid(), "b", "This must be a UUID."],
  [z.url(), "b", "This must be a URL."],
  [z.iso.datetime(), "b", "This must be an ISO datetime."],
  [z.ipv4(), "b", "This must be an IPv4 address."],
  [z.string().regex(/^a$/), "b", "This must match pattern /^a$/."],
  [z.string().startsWith("a"), "b", 'This must start with "a".'],
  [z.string().refine(() => false), "b", "This is not accepted here."],
  [z.record(z.string().regex(/^a$/), z.string()), { b: "c" }, "This must match pattern /^a$/."],
  [z.union([z.string(), z.number()]), true, "This must be text or a number, not a boolean."],
  [z.union([z.int(), z.string()]), 1.5, "This must be a whole number or text."],
  [z.union([z.string(), z.int()]), 1.5, "This must be text or a whole number."],
  [z.union([z.int(), z.string(), z.int()]), null, "This must be a number or text, not null."],
  [z.union([z.literal("all"), z.number()]), "a", 'This must be "all" or a number.'],
  [
    z.union([z.string("an address"), z.boolean()]),
    5,
    "an address or this must be true or false, not a number.",
  ],
  [
    z.union([z.string(), z.strictObject({ a: z.number() })]),
    { a: "b" },
    "a: this must be a number, not text.",
  ],
  [z.strictObject({}), { b: 1, c: 2 }, 'There is no field "b" or "c".'],
  [z.union([z.string(), z.strictObject({})]), { b: 1 }, 'There is no field "b".'],
  [
    z.union(["a", "b"].map((key) => z.strictObject({ [key]: z.number() }))),
    { a: "x", b: "x" },
    "a: this must be a number, not text or b: this must be a number, not text.",
  ],
  [
    z.union(Array.from({ length: 99 }, (_, n) => z.literal(n))),
    "a",
    "This must be 0, 1, 2, 3, 4, 5, 6 or 7.",
  ],
  [z.string("an address"), 5, "an address"],
  [z.number().refine(() => false, "no"), 5, "no"],
])("what the schema library says of a wrong value is said in our words: %#", (schemaOf, value, expected) => {
  expect(schemaOf.safeParse(value).error!.issues.map((fault) => inPlainWords(fault as SchemaFault))).toEqual([
    expected,
  ]);
});

it.each([[[]], [["a", "b", "c", "d"]]])(
  "a value of another type is not told to be too short or too long, too: %j",
  (name) => {
    const faults = z.strictObject({ name: z.string().min(1).max(3) }).safeParse({ name }).error!.issues;
    expect(faults.length).toBeGreaterThan(0);
    expect(toIssues(faults as SchemaFault[]).map(({ message }) => message)).toEqual([
      "This must be text, not a list.",
    ]);
  },
);

import { expect, it } from "vitest";
import { z } from "zod";
import { toIssues } from "../../lib/internal/schema-issues.ts";
import type { SchemaFault } from "../../lib/internal/schema-issues.ts";

const schema = z.strictObject({
  name: z.string(),
  tags: z.record(z.string().regex(/^[a-z]+$/, "letters"), z.string()).optional(),
  parts: z.array(z.strictObject({ size: z.number() })).optional(),
});

it.each([
  [{}, [["name"], "This field is missing."]],
  [{ name: 5 }, [["name"], "Invalid input: expected string, received number"]],
  [{ name: "a", more: 1 }, [["more"], "There is no such field."]],
  [{ name: "a", tags: { "Bad Key": "1" } }, [["tags", "Bad Key"], "letters"]],
  [{ name: "a", tags: { key: null } }, [["tags", "key"], "Invalid input: expected string, received null"]],
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

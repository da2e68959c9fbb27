import { expect, it } from "vitest";
import { z } from "zod";
import { notKnown } from "../../lib/internal/schema-keys.ts";

const schema = z.strictObject({
  mode: z.string(),
  entries: z.array(z.strictObject({ owner: z.string() })).optional(),
  by_name: z.record(z.string(), z.strictObject({ group: z.string() })),
});
const also = ["requires"];

it.each<[string, (string | number)[], string]>([
  ["mod", [], ", did you mean mode?"],
  ["require", [], ", did you mean requires?"],
  ["require", ["entries", 0], "."],
  ["ownr", ["entries", 7], ", did you mean owner?"],
  ["mod", ["entries", 0], "."],
  ["gruop", ["by_name", "web"], ", did you mean group?"],
  ["gruop", ["by_name"], "."],
  ["constructo", [], "."],
  ["mod", ["constructor"], "."],
])("a key %s that is not known at %j has those asked about that may stand there", (key, path, hint) => {
  expect(notKnown(key, { schema, path, also })).toBe(`"${key}" is not known here${hint}`);
});

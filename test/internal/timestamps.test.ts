/**
 * A time that is in another year in UTC than in its zone was told with a year that no call takes. Of one that was not given at all it
 * was said how times are written, as if one had been.
 */
import { expect, it } from "vitest";
import { z } from "zod";
import { idSchema, timestampSchema } from "../../lib/internal/common-schemas.ts";
import { toIssues } from "../../lib/internal/schema-issues.ts";

it.each([
  ["0000-01-01T00:00:00Z", true],
  ["9999-12-31T23:59:59+14:00", true],
  ["0000-01-01T00:00:00+14:00", false],
  ["9999-12-31T23:59:59-14:00", false],
])("of %s it is %s that it can be given", (text, isTaken) => {
  expect(timestampSchema.safeParse(text).success).toBe(isTaken);
});

it("what is no time at all is refused as ever", () => {
  for (const text of ["", "soon", "2026-02-30T00:00:00Z"])
    expect(timestampSchema.safeParse(text).error?.issues[0]?.message).toContain("a time with its zone");
});

it.each([
  ["time", timestampSchema],
  ["id", idSchema],
])("of a %s that is not there it is said that it is missing", (field, schema) => {
  const { error } = z.strictObject({ [field]: schema }).safeParse({});
  expect(toIssues(error!.issues)).toEqual([{ path: [field], message: "This field is missing." }]);
});

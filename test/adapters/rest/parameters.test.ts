import { initTRPC } from "@trpc/server";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  invalid,
  inputFields,
  parsePathParameter,
  planParameter,
} from "../../../adapters/rest/parameters.ts";

const t = initTRPC.create();

const issuesOf = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return (error as { issues: unknown }).issues;
  }
};

test("a parameter of the path is decoded, and a broken one is refused by its name", () => {
  const plan = planParameter(z.string());
  expect(parsePathParameter("web-1", "name", plan)).toBe("web-1");
  expect(parsePathParameter("a%2Fb%20%C3%BC+", "name", plan)).toBe("a/b ü+");
  expect(issuesOf(() => parsePathParameter("%zz", "name", plan))).toMatchObject([{ path: ["name"] }]);
});

test("a fault of the whole input is of no field", () => {
  expect(invalid("", "is wrong").issues).toEqual([{ path: [], message: "is wrong" }]);
  expect(invalid("limit", "is wrong").issues).toEqual([{ path: ["limit"], message: "is wrong" }]);
});

test("what a schema is piped from says which fields there are and what they take", () => {
  const input = z.object({ limit: z.coerce.number().pipe(z.number()) }).transform((value) => value);
  const procedure = t.procedure.input(input).query(() => null);
  expect([...inputFields(procedure).keys()]).toEqual(["limit"]);
  expect(planParameter(inputFields(procedure).get("limit"))).toEqual({
    many: false,
    number: true,
    boolean: false,
  });
});

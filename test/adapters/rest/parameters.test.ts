import { initTRPC } from "@trpc/server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  invalid,
  inputFields,
  numberBounds,
  parsePathParameter,
  parseQuery,
  planParameter,
} from "../../../adapters/rest/parameters.ts";
import { evilNames } from "../../support/evil.ts";

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

test.each([
  [z.number(), -Infinity, Infinity],
  [z.number().min(-1), -1, Infinity],
  [z.number().max(0), -Infinity, 0],
  [z.number().min(0).max(300).default(30).optional(), 0, 300],
  [z.literal([0, 30]), -Infinity, Infinity],
])("the bounds of a number are those of its schema: %#", (schema, least, most) => {
  expect(numberBounds(schema)).toEqual({ least, most });
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

describe.each([
  ["as forms write it", (text: string) => new URLSearchParams({ q: text }).toString().slice("q=".length)],
  ["in percents", encodeURIComponent],
  ["with every byte in percents", inPercents],
] as const)("a value of a query %s", (_how, encode) => {
  const one = planParameter(z.string());
  const texts = [...evilNames, "one two three", " a  b ", "+a+b++", "1+1=2&x=1;y", "", "\u{1f600} \u00fc"];

  test.each(texts)("is %j, once and among others", (text) => {
    const plan = new Map([
      ["q", one],
      ["other", one],
      ["many", planParameter(z.array(z.string()))],
    ]);
    const encoded = encode(text);
    expect(parseQuery(`q=${encoded}`, plan)).toEqual({ input: { q: text }, faults: [] });
    const query = `many=${encoded}&other=x&q=${encoded}&many=b&many=${encoded}`;
    expect(parseQuery(query, plan)).toEqual({
      input: { q: text, other: "x", many: [text, "b", text] },
      faults: [],
    });
  });
});

function inPercents(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}

test.each([
  ["selector=role=web", { selector: "role=web" }],
  ["selector=a=b=c", { selector: "a=b=c" }],
  ["selector==", { selector: "=" }],
  ["selector=%3D=%3D", { selector: "===" }],
  ["selector=", { selector: "" }],
  ["selector", { selector: "" }],
  ["&selector=a%26b&&limit=1&", { selector: "a&b", limit: 1 }],
])("of %s the first = ends the name, and a & each parameter", (query, input) => {
  const plan = new Map([
    ["selector", planParameter(z.string())],
    ["limit", planParameter(z.number())],
  ]);
  expect(parseQuery(query, plan)).toEqual({ input, faults: [] });
});

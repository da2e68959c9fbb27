import { expect, it } from "vitest";
import { parseJsonBody } from "../../../adapters/http/json-body.ts";

const refusalOf = (body: string): string => {
  try {
    return JSON.stringify(parseJsonBody(new TextEncoder().encode(body)));
  } catch (error) {
    return (error as Error).message;
  }
};

it.each([
  ['{"a":1,}', "The body is not JSON at line 1, column 8."],
  ['{\n  "a": [1 2]\n}', "The body is not JSON at line 2, column 11."],
  ["{", "The body is not JSON at line 1, column 2."],
  ['{"a":1}\n}', "The body is not JSON at line 2, column 1."],
  ['{\n"a":', "The body is not JSON at line 2, column 5."],
  ["", "The body is not JSON at line 1, column 1."],
])("%j is refused with the place where it ends to be JSON", (body, told) => {
  expect(refusalOf(body)).toBe(told);
});

it.each([
  "nope at position 7",
  'no " in JSON at position 7',
  "Unexpected end of JSON input",
  "no in JSON at position 3 (line 1 column 4)",
  "no after JSON at position 3 (line 1 column 4)",
])("%j is refused without a place that the body itself made up", (body) => {
  expect(refusalOf(body)).toMatch(/^The body is not JSON(?: at line 1, column [1-3])?\.$/);
});

import { expect, test } from "vitest";
import { z } from "zod";
import { parseMessage } from "../../lib/wire/parse-json.ts";
import { codeOf } from "./support/peers.ts";

const any = z.json();
const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

test.each([
  ["an object", '{"a":[1,"x",null]}', { a: [1, "x", null] }],
  ["64 levels", nested(64), JSON.parse(nested(64))],
  [
    "brackets inside strings, which are no levels",
    JSON.stringify([`${"[".repeat(100)}"\\`]),
    [`${"[".repeat(100)}"\\`],
  ],
  ["a whole surrogate pair, escaped", '"\\ud83d\\ude00"', "😀"],
  ["a backslash before what looks like an escape", '"\\\\ud800"', "\\ud800"],
])("reads %s", (_, text, value) => {
  expect(parseMessage(any, text)).toEqual(value);
  expect(parseMessage(any, new TextEncoder().encode(text))).toEqual(value);
});

test.each([
  ["65 levels", nested(65)],
  ["a million levels", "[".repeat(1_000_000)],
  ["objects nested too deeply", `${'{"a":'.repeat(65)}1${"}".repeat(65)}`],
  ["no JSON", "{'a':1}"],
  ["nothing", ""],
  ["two values", "1 2"],
  ["a byte order mark", "\ufeff1"],
  ["half of a surrogate pair", '"\\ud83d"'],
  ["half of a surrogate pair in a name", '{"\\uDE00":1}'],
  ["bytes that are not UTF-8", Uint8Array.of(0x22, 0xff, 0x22)],
  ["a surrogate in UTF-8", Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)],
])("refuses %s", (_, input) => {
  expect(codeOf(() => parseMessage(any, input))).toBe("PROTOCOL_ERROR");
});

test("names the places that are wrong and shows no values", () => {
  const schema = z.strictObject({ secret: z.number() });
  let seen: unknown;
  try {
    parseMessage(schema, '{"secret":"hunter2"}');
  } catch (error) {
    seen = error;
  }
  expect(seen).toMatchObject({ code: "PROTOCOL_ERROR", details: { issues: ["secret: invalid_type"] } });
  expect(JSON.stringify(seen)).not.toContain("hunter2");
});

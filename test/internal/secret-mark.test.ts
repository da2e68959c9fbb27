import { expect, it } from "vitest";
import { holdsSecret, secretMark } from "../../lib/internal/secret-mark.ts";

const secret = `before ${secretMark}db@1$text$`;

it.each([
  ["a text", secret, true],
  ["one of many members", { a: "plain", b: secret, c: 1 }, true],
  ["the last of a list", ["plain", null, secret], true],
  ["deep within", { a: [{ b: "plain" }, { b: { c: [secret] } }], d: {} }, true],
  ["no member", { a: "plain", b: ["$secret"], c: null, d: 7, e: true }, false],
  ["a name alone", { [secret]: "plain" }, false],
  ["nothing", {}, false],
  ["an empty list", [], false],
])("a secret may be in %s", (_, value, expected) => {
  expect(holdsSecret(value)).toBe(expected);
});

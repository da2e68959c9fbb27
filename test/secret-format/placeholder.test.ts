/** What stands in a resource in the place of a secret, whichever version and form it is of, is found and filled. */
import { expect, it } from "vitest";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { toForm, type SecretForm } from "../../lib/secret-format/forms.ts";
import { fillPlaceholders, findPlaceholders, toPlaceholder } from "../../lib/secret-format/placeholder.ts";

const tag = { crypto: nodeCrypto, key: new Uint8Array(32) };
const forms: SecretForm[] = ["text", "json", "shell", "base64", "url"];

it.each([1, 9, 10, 99, 100, 1_000, 123_456, 999_999_999])("of version %i, in each form", (version) => {
  for (const form of forms)
    for (const name of ["a", "0", "db-password_1.x", "n".repeat(64)]) {
      const text = toPlaceholder({ name, version, form }, tag);
      expect(findPlaceholders([{ a: [`<${text}>`, text] }])).toEqual([{ text, name, version, form }]);
      const values = new Map([[text, "value $& $1"]]);
      expect(fillPlaceholders({ a: [`<${text}>`, { b: text }], c: 1 }, values)).toEqual({
        a: ["<value $& $1>", { b: "value $& $1" }],
        c: 1,
      });
    }
});

it("what has none stays the same object, and one that is not known stays as it stands", () => {
  const text = toPlaceholder({ name: "a", version: 1, form: "text" }, tag);
  const spec = { a: ["b", { c: null }], d: "$secret$ is none" };
  expect(fillPlaceholders(spec, new Map([[text, "x"]]))).toBe(spec);
  expect(fillPlaceholders({ a: text }, new Map())).toEqual({ a: text });
});

it.each<[SecretForm, number[], string | null]>([
  ["text", [0xef, 0xbb, 0xbf, 0x61], "\ufeffa"],
  ["json", [0xef, 0xbb, 0xbf, 0x61], '"\ufeffa"'],
  ["shell", [0xef, 0xbb, 0xbf, 0x27], "'\ufeff'\\'''"],
  ["base64", [0xef, 0xbb, 0xbf, 0x61], "77u/YQ=="],
  ["url", [0xef, 0xbb, 0xbf, 0x20, 0x2f], "%EF%BB%BF+%2F"],
  ["base64", [0xff], "/w=="],
  ["text", [0xff], null],
  ["json", [0xff], null],
  ["shell", [0xff], null],
  ["url", [0xff], null],
])("in the form %s the bytes %j are %j", (form, value, expected) => {
  expect(toForm(Uint8Array.from(value), form)).toBe(expected);
});

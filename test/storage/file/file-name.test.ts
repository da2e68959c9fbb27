import fc from "fast-check";
import { expect, test } from "vitest";
import { fileNameOf } from "../../../lib/storage/file/file-name.ts";
import { evilNames, evilPaths } from "../../support/evil.ts";

test.each([
  ["term_0192-ab", "term_0192-ab"],
  ["a".repeat(100), "a".repeat(100)],
])("a simple id stays as it is: %s", (id, name) => {
  expect(fileNameOf(id)).toBe(name);
});

test("no id makes a path or a name that a file system refuses", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (id) => {
      expect(fileNameOf(id)).toMatch(/^~?[a-z0-9_-]{1,100}$/);
    }),
  );
});

test("no two ids have one name, also where a file system folds case and composes letters", () => {
  const ids = [...new Set([...evilNames, ...evilPaths])];
  const names = ids.map((id) => fileNameOf(id).normalize("NFC").toLowerCase());
  expect(new Set(names).size).toBe(ids.length);
});

test("ids that differ only in capitals, normalisation or lone surrogates have names of their own", () => {
  const ids = [
    "a",
    "A",
    "~a",
    "ü",
    "u\u0308",
    "\ud800",
    "\ud801",
    "\ufffd",
    "",
    ".",
    "..",
    "/",
    "a/b",
    "a_b",
    "a.b",
  ];
  expect(new Set(ids.map(fileNameOf)).size).toBe(ids.length);
  const simple = fileNameOf("A");
  expect(fileNameOf(simple)).not.toBe(simple);
});

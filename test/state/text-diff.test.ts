import { createPatch } from "diff";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeText, diffText, maxDiffBytes } from "../../lib/state/text-diff.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text);

test("two texts are told apart by a unified diff", () => {
  expect(diffText("/a", bytes("x\ny\n"), bytes("x\nz\n"))).toBe(
    "--- /a\n+++ /a\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n",
  );
});

test("what is no text has no diff", () => {
  expect(diffText("/a", bytes("x"), Uint8Array.of(0xff))).toBeNull();
  expect(diffText("/a", Uint8Array.of(0), bytes("x"))).toBeNull();
});

test("a long diff is cut at 16 KiB, between characters", () => {
  const diff = diffText("/a", bytes(""), bytes("ä".repeat(50).concat("\n").repeat(500))) ?? "";
  expect(Buffer.byteLength(diff)).toBeLessThanOrEqual(maxDiffBytes);
  expect(diff.endsWith("ä\n… cut\n")).toBe(true);
});

test.each(["ä", "€", "😀"])(
  "a diff that is cut within %s leaves all of it out, wherever that is",
  (character) => {
    const size = Buffer.byteLength(character);
    for (let before = 0; before < size; before += 1) {
      const text = `${"x".repeat(before)}${character.repeat(maxDiffBytes / size)}\n`;
      for (const from of ["", "y\n"]) {
        const diff = diffText("/a", bytes(from), bytes(text)) ?? "";
        expect(diff).toMatch(new RegExp(`\\+x{${before}}(${character})+\n… cut\n$`));
        // The mark and what is kept: no more is left out than a part of a character.
        expect(maxDiffBytes - Buffer.byteLength(diff)).toBeLessThan(size);
      }
    }
  },
);

test("too many differences have no diff", () => {
  const lines = (from: number): Uint8Array =>
    bytes(Array.from({ length: 3000 }, (_, index) => `${from + index}\n`).join(""));
  expect(diffText("/a", lines(0), lines(10_000))).toBeNull();
});

test("a byte order mark is a part of the text", () => {
  expect(decodeText(bytes("\uFEFFa"))).toBe("\uFEFFa");
});

test("the diff of a new file is what the library says of it", () => {
  const line = fc.constantFrom("", "a", "b c", "\r", "ü", "--- x", "\\");
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 12 }),
      fc.boolean(),
      fc.constantFrom("/a", "/a b"),
      (lines, ended, name) => {
        const text = lines.join("\n") + (ended ? "\n" : "");
        const patch = createPatch(name, "", text);
        expect(diffText(name, bytes(""), bytes(text))).toBe(patch.slice(patch.indexOf("\n---") + 1));
      },
    ),
  );
});

test("a new file of more lines than a diff may have has none", () => {
  expect(diffText("/a", bytes(""), bytes("x\n".repeat(2000)))).not.toBeNull();
  expect(diffText("/a", bytes(""), bytes("x\n".repeat(2001)))).toBeNull();
});

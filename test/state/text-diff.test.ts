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

test("too many differences have no diff", () => {
  const lines = (from: number): Uint8Array =>
    bytes(Array.from({ length: 3000 }, (_, index) => `${from + index}\n`).join(""));
  expect(diffText("/a", lines(0), lines(10_000))).toBeNull();
});

test("a byte order mark is a part of the text", () => {
  expect(decodeText(bytes("\uFEFFa"))).toBe("\uFEFFa");
});

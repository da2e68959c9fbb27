import { expect, test } from "vitest";
import { decodeText } from "../../../lib/storage/file/decode-text.ts";

test.each([
  ["short", "plain"],
  ["short beyond ASCII", "grün"],
  ["long", "plain ".repeat(2_000)],
  ["long with one letter beyond ASCII at its end", `${"plain ".repeat(2_000)}ü`],
])("reads a text that is %s", (_, text) => {
  const bytes = Buffer.from(`é${text}é`);
  expect(decodeText(bytes, 2, bytes.length - 2)).toBe(text);
});

import { expect, it } from "vitest";
import { decodeCursor, encodeCursor } from "../../lib/internal/cursor.ts";

it("a cursor fits a filter of any text, half a character included, and no other", () => {
  const filter = { search: "\ud83d" };
  const cursor = encodeCursor("agents", filter, "a");
  expect(decodeCursor("agents", filter, cursor)).toBe("a");
  expect(() => decodeCursor("agents", { search: "x" }, cursor)).toThrow(
    expect.objectContaining({ code: "CURSOR_INVALID" }),
  );
});

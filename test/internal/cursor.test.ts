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

it.each<[string, string, Record<string, string>, (cursor: string) => string]>([
  ["of another list", "operators", { search: "x" }, (cursor) => cursor],
  ["of the same list with another filter", "agents", { search: "y" }, (cursor) => cursor],
  ["of the same list with no filter", "agents", {}, (cursor) => cursor],
  ["that was cut off", "agents", { search: "x" }, (cursor) => cursor.slice(0, -4)],
  ["that is empty", "agents", { search: "x" }, () => ""],
  ["that is no list", "agents", { search: "x" }, () => btoa("{}")],
])("a cursor %s is refused, with its place", (_, list, filter, given) => {
  const cursor = encodeCursor("agents", { search: "x" }, "a");
  const issues = [{ path: ["cursor"], message: "belongs to another list or filter" }];
  expect(() => decodeCursor(list, filter, given(cursor))).toThrow(
    expect.objectContaining({ code: "CURSOR_INVALID", issues }),
  );
});

it.each(["", "a/b", "é😀", 0, 17, "~", "a~~~~", "ab~~~~", "abc~~~~", "?>?>"])(
  "a cursor brings back the place %j as it was",
  (place) => {
    expect(decodeCursor("agents", {}, encodeCursor("agents", {}, place))).toBe(place);
    expect(encodeCursor("agents", {}, place)).toMatch(/^[A-Za-z0-9_-]+$/);
  },
);

import { expect, test } from "vitest";
import { readCursor, writeCursor } from "../../lib/storage/cursor.ts";

const made = (...parts: unknown[]): string => Buffer.from(JSON.stringify(parts)).toString("base64url");
const query = { index: "by_name" };

test("a cursor is read as it was written, also where a field is missing", () => {
  const entry = [undefined, null, "web", "id-1"];
  expect(readCursor(writeCursor({ index: "by_name", order: "asc", entry }), query)).toEqual(entry);
});

test.each([
  ["values that are in no list", made("by_name", "asc", ["web", "id-1"])],
  ["a value of two parts", made("by_name", "asc", [["web", "db"], ["id-1"]])],
  ["a value with a name", made("by_name", "asc", [{ 0: "web" }, ["id-1"]])],
  ["no value", made("by_name", "asc", [])],
  ["a key that is no text", made("by_name", "asc", [["web"], [1]])],
  ["a key that is missing", made("by_name", "asc", [["web"], []])],
  ["another index", made("by_tag", "asc", [["web"], ["id-1"]])],
  ["another order", made("by_name", "desc", [["web"], ["id-1"]])],
  ["no list of values", made("by_name", "asc", { length: 1 })],
  ["no list at all", Buffer.from('{"0":"by_name"}').toString("base64url")],
  ["text that is no JSON", Buffer.from("by_name").toString("base64url")],
  ["nothing", ""],
])("a cursor with %s is refused", (_, cursor) => {
  expect(() => readCursor(cursor, query)).toThrow(expect.objectContaining({ code: "CURSOR_INVALID" }));
});

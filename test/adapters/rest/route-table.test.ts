import { describe, expect, test } from "vitest";
import { RouteTable } from "../../../adapters/rest/route-table.ts";

const templates = ["/a", "/a/{x}", "/a/b", "/a/{x}/c", "/a/b/{y}/d", "/t/session/{id}", "/t/{node}"];

function createTable(): RouteTable<string> {
  const table = new RouteTable<string>();
  for (const template of templates) table.add(template, "GET", template);
  return table;
}

describe("the route table", () => {
  test.each([
    ["/a", "/a", []],
    ["/a/b", "/a/b", []],
    ["/a/z", "/a/{x}", ["z"]],
    ["/a/b/c", "/a/{x}/c", ["b"]],
    ["/a/b/c/d", "/a/b/{y}/d", ["c"]],
    ["/t/session", "/t/{node}", ["session"]],
    ["/t/session/7", "/t/session/{id}", ["7"]],
    ["/a/%2F", "/a/{x}", ["%2F"]],
    ["/a/__proto__", "/a/{x}", ["__proto__"]],
  ])("finds for %s the route %s", (path, template, values) => {
    const match = createTable().find(path);
    expect(match?.methods.get("GET")).toBe(template);
    expect(match?.values).toEqual(values);
  });

  test.each(["", "/", "/b", "/a/", "/a//c", "/a/b/c/d/e", "/A", "/constructor"])(
    "finds nothing for %j",
    (path) => {
      expect(createTable().find(path)).toBeNull();
    },
  );

  test("refuses two routes for the same requests, whatever their parameters are called", () => {
    const table = createTable();
    expect(() => table.add("/a/{other}", "GET", "again")).toThrow("GET /a/{other}");
    expect(() => table.add("/t/session/{other}", "GET", "again")).toThrow("GET /t/session/{other}");
    expect(table.find("/a/z")?.methods.get("GET")).toBe("/a/{x}");
  });

  test("tells every method of a path, with or without parameters", () => {
    const table = createTable();
    table.add("/a", "POST", "made");
    table.add("/a/{other}", "DELETE", "removed");
    expect([...table.find("/a")!.methods]).toEqual([
      ["GET", "/a"],
      ["POST", "made"],
    ]);
    expect([...table.find("/a/z")!.methods]).toEqual([
      ["GET", "/a/{x}"],
      ["DELETE", "removed"],
    ]);
  });
});

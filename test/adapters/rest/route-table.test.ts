import { describe, expect, test } from "vitest";
import { RouteTable } from "../../../adapters/rest/route-table.ts";

const templates = [
  "/a",
  "/a/{x}",
  "/a/b",
  "/a/{x}/c",
  "/a/b/{y}/d",
  "/t/session/{id}",
  "/t/{node}",
  "/~0.-_9Z/~0.-_9Z",
];

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
    ["/%61", "/a", []],
    ["/%61/%62/%64/%64", "/a/b/{y}/d", ["%64"]],
    ["/t/%73%65%73%73%69%6F%6e/%37", "/t/session/{id}", ["%37"]],
    ["/a/%7Az", "/a/{x}", ["%7Az"]],
    ["/a/b%2Fd", "/a/{x}", ["b%2Fd"]],
    ["/~0.-_9Z/%7e%30%2e%2D%5F%39%5A", "/~0.-_9Z/~0.-_9Z", []],
  ])("finds for %s the route %s", (path, template, values) => {
    const match = createTable().find(path);
    expect(match?.methods.get("GET")).toBe(template);
    expect(match?.values).toEqual(values);
  });

  test.each([
    "",
    "/",
    "/b",
    "/a/",
    "/a//c",
    "/a/b/c/d/e",
    "/A",
    "/constructor",
    "/%41",
    "/%2561",
    "/a%2Fb",
    "/%6",
    "/%60",
    "/%5B",
    "/%E1",
  ])("finds nothing for %j", (path) => {
    expect(createTable().find(path)).toBeNull();
  });

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

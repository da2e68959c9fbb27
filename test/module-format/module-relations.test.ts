/** What is wrong between the resources of a module, whichever property says that one is for another. */
import { describe, expect, it } from "vitest";
import { checkModule } from "fleetwright";
import { edgeProperties } from "../../lib/state/graph.ts";

const check = (...resources: object[]) => checkModule(JSON.stringify({ name: "web", resources })).faults;
const pathsOf = (...resources: object[]) => check(...resources).map(({ path }) => path);

/** A resource that may have the property. */
const holder = (property: string): object =>
  property === "run_on"
    ? { id: "s", type: "script", run: "true" }
    : { id: "s", type: "service", name: "nginx", running: true };
const folder = (id: string) => ({ id, type: "directory", path: `/${id}` });

describe.each(edgeProperties)("%s", (property) => {
  it("names ids of the module alone, and a fault stands at the one that is none", () => {
    const one = holder(property);
    expect(check({ ...one, [property]: ["a", "b"] }, folder("a"), folder("b"))).toEqual([]);
    expect(pathsOf({ ...one, [property]: ["a", "zz", "b"] }, folder("a"), folder("b"))).toEqual([
      ["resources", 0, property, 1],
    ]);
  });

  it("closes no circle", () => {
    const [fault, ...more] = check(
      { ...holder(property), [property]: ["a"] },
      {
        ...folder("a"),
        requires: ["s"],
      },
    );
    expect(fault?.message).toBe("These wait for each other: s -> a -> s.");
    expect(more).toEqual([]);
  });
});

it("each resource of an id that is taken names the first one of it", () => {
  const faults = checkModule(
    `name: web\nresources:\n${["a", "b", "c"].map((path) => `  - { id: x, type: directory, path: /${path} }\n`).join("")}`,
  ).faults;
  const message = '"x" is the id of the resource on line 3 too.';
  expect(faults.map((fault) => [fault.line, fault.message])).toEqual([
    [4, message],
    [5, message],
  ]);
});

it.each([
  ["env=a", "env=a", 1],
  ["env=a", "env=b", 0],
  ["env=a", undefined, 1],
  [undefined, "env=b", 1],
  [undefined, undefined, 1],
])("a file under %s and another line of it under %s: faults", (first, second, count) => {
  const file = { id: "f", type: "file", path: "/a", content: "one\n", ...(first && { when: first }) };
  const line = { id: "l", type: "line", path: "/a", line: "two", ...(second && { when: second }) };
  expect(check(file, line)).toHaveLength(count);
});

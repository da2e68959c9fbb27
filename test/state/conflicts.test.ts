import { expect, test } from "vitest";
import { findConflicts } from "../../lib/state/conflicts.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { declare } from "../support/state-fixture.ts";

const file = (content: string) => [{ id: "f", type: "file", path: "/etc/motd", content }];

test("equal resources of two modules are no conflict", () => {
  expect(findConflicts([...declare(file("a"), "one"), ...declare(file("a"), "two")], resourceTypes)).toEqual(
    [],
  );
});

test("different ones are, and both are named", () => {
  expect(findConflicts([...declare(file("a"), "one"), ...declare(file("b"), "two")], resourceTypes)).toEqual([
    {
      first: { module: "one", resource_id: "f" },
      second: { module: "two", resource_id: "f" },
      identity: "path:/etc/motd",
      message: "one/f and two/f describe path:/etc/motd differently.",
    },
  ]);
});

test("two types at one path are a conflict", () => {
  const folder = declare([{ type: "directory", path: "/etc/motd" }], "two");
  expect(findConflicts([...declare(file("a"), "one"), ...folder], resourceTypes)).toHaveLength(1);
});

test("what is skipped on the agent contradicts nobody", () => {
  const [skipped] = declare(file("b"), "two");
  expect(
    findConflicts([...declare(file("a"), "one"), { ...skipped!, skip: "condition" }], resourceTypes),
  ).toEqual([]);
});

test("a property that only one of them has makes a conflict, whichever comes first", () => {
  const dressed = [{ ...file("a")[0], mode: "0600" }];
  for (const [first, second] of [
    [file("a"), dressed],
    [dressed, file("a")],
  ])
    expect(
      findConflicts([...declare(first!, "one"), ...declare(second!, "two")], resourceTypes),
    ).toHaveLength(1);
});

test("lists of which one is the beginning of the other contradict each other, whichever comes first", () => {
  const user = (groups: string[]) => [{ id: "u", type: "user", name: "ada", groups }];
  for (const [first, second] of [
    [["a"], ["a", "b"]],
    [["a", "b"], ["a"]],
    [
      ["a", "b"],
      ["b", "a"],
    ],
  ])
    expect(
      findConflicts([...declare(user(first!), "one"), ...declare(user(second!), "two")], resourceTypes),
    ).toHaveLength(1);
  expect(
    findConflicts([...declare(user(["a"]), "one"), ...declare(user(["a"]), "two")], resourceTypes),
  ).toEqual([]);
});

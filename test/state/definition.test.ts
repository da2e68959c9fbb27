import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import { resolveResource, resourceIdentityKey } from "../../lib/state/definition.ts";
import { resolvedResourceSchema } from "../../lib/state/resource.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";

const resolve = (definition: JsonObject) => resolveResource(definition, { module: "m" });

test("a definition gets its defaults, an id from its type and identity, and fits the wire", () => {
  const resolution = resolve({ type: "file", path: "/etc/motd", content: "hi" });
  expect(resolution).toMatchObject({
    ok: true,
    resource: {
      resource_id: "file:/etc/motd",
      identity: "/etc/motd",
      on_failure: "stop",
      spec: { ensure: "present" },
    },
  });
  if (resolution.ok) expect(resolvedResourceSchema.parse(resolution.resource)).toEqual(resolution.resource);
});

test("a condition that does not hold travels with the resource, the condition itself does not", () => {
  const definition = { type: "file", path: "/a", when: "env=prod" };
  const resolution = resolveResource(definition, { module: "m", skip: "condition" });
  expect(resolution).toMatchObject({ ok: true, resource: { skip: "condition" } });
  expect(JSON.stringify(resolution)).not.toContain("env=prod");
});

describe("a fault names its property:", () => {
  test.each<[string, JsonObject, (string | number)[]]>([
    ["no such type", { type: "teapot" }, ["type"]],
    ["no type", { path: "/a" }, ["type"]],
    ["an unknown property", { type: "file", path: "/a", colour: 1 }, []],
    ["a mode that YAML made a number", { type: "file", path: "/a", mode: 644 }, ["mode"]],
    ["two contents", { type: "file", path: "/a", content: "", content_base64: "" }, ["content_base64"]],
    ["what only a capture may say", { type: "file", path: "/a", content_backup: "0".repeat(64) }, []],
    ["a link without target", { type: "symlink", path: "/a" }, ["target"]],
    ["a line of two lines", { type: "line", path: "/a", line: "a\nb" }, ["line"]],
    ["a script without id", { type: "script", run: "x", creates: "/x" }, ["id"]],
    ["a script that would run every time", { type: "script", id: "s", run: "x" }, []],
    [
      "an undo that can't know what to undo",
      { type: "script", id: "s", run: "x", undo: "y", run_on: ["a"] },
      ["undo"],
    ],
    ["a trigger on a type that can't be fired", { type: "file", path: "/a", run_on: ["b"] }, ["run_on"]],
    ["an id that is too long by default", { type: "file", path: `/${"a".repeat(400)}` }, ["id"]],
    ["a secret in the id by default", { type: "line", path: "/a", line: "x", sensitive: true }, ["id"]],
    [
      "a retry of nothing",
      { type: "file", path: "/a", retry: { attempts: 0, delay_seconds: 1 } },
      ["retry", "attempts"],
    ],
  ])("%s", (_name, definition, path) => {
    const resolution = resolve(definition);
    expect(resolution.ok).toBe(false);
    if (!resolution.ok) expect(resolution.issues.map((issue) => issue.path)).toContainEqual(path);
  });
});

test("a value of another type has that fault alone, in plain words", () => {
  expect(resolve({ type: "git", path: "/a", repository: [] })).toEqual({
    ok: false,
    issues: [{ path: ["repository"], message: "This must be text, not a list." }],
  });
});

test.each(["/", "a", "", "/a/", "//a", "/a//b", "/..", "/a/../b", "/a/.", "/./a", "/a\n/../b", "/a\0b"])(
  "the path %j is refused",
  (path) => expect(resolve({ id: "f", type: "file", path }).ok).toBe(false),
);

test.each(["/a", "/a b", "/..a", "/a..", "/a/.b", "/a\nb", "/ä"])("the path %j is taken", (path) => {
  expect(resolve({ id: "f", type: "file", path }).ok).toBe(true);
});

test("a file and a folder at one path are about the same thing", () => {
  expect(resourceIdentityKey({ type: "file", identity: "/a" }, resourceTypes)).toBe(
    resourceIdentityKey({ type: "directory", identity: "/a" }, resourceTypes),
  );
});

test.each<[what: string, definition: JsonObject, message: string]>([
  ["a script without an id", { type: "script", run: "x", creates: "/x" }, "This script needs an id."],
  [
    "an id that is too long by default",
    { type: "file", path: `/${"a".repeat(400)}` },
    "Give it an id: its identity is no good as one.",
  ],
  ["an id with a line break", { type: "file", id: "a\nb", path: "/a" }, "must not hold control characters"],
  [
    "a trigger that its type does not have",
    { type: "file", path: "/a", run_on: ["b"] },
    "A file can't be made to run by a trigger.",
  ],
])("of %s people are told", (_what, definition, message) => {
  const resolution = resolve(definition);
  expect(resolution.ok ? [] : resolution.issues.map((issue) => issue.message)).toEqual([message]);
});

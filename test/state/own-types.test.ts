/** Types of one's own: which may stand beside those that ship, and what is told of the others. */
import { expect, test } from "vitest";
import { z } from "zod";
import { resolveResource } from "../../lib/state/definition.ts";
import { ownTypesRule, resourceTypesWith } from "../../lib/state/own-types.ts";
import { defineResourceType, type ResourceType } from "../../lib/state/resource-type.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { StateFixture } from "../support/state-fixture.ts";

const named = (type: string): ResourceType =>
  defineResourceType({
    type,
    summary: "A thing.",
    schema: z.unknown(),
    identity: () => "thing",
    check: () => [],
    apply() {},
    capture: () => null,
    describe: () => "",
  });

test.each(["a", "a1", "ab_c2", "a_1_b", "a".repeat(64)])("a type may be called %s", (name) => {
  const own = named(name);
  expect([...resourceTypesWith([own])]).toEqual([...resourceTypes, [name, own]]);
});

test("without one all is as it ships", () => {
  expect(resourceTypesWith([])).toBe(resourceTypes);
});

const noName = "is no name in snake_case of at most 64 characters";

test.each([
  ...["", "A", "1a", "_a", "a_", "a__b", "a-b", "a.b", "a_B", "a".repeat(65)].map((name) => [name, noName]),
  ["file", "is the name of a type that ships with the package"],
  ["twice", "is there twice"],
])("a type may not be called %j, which %s", (name, why) => {
  const own = [named("twice"), named(name)];
  expect(ownTypesRule.faultsOf(own)).toEqual([{ path: [1, "type"], message: `"${name}" ${why}` }]);
  const message = `Types of resources can't be used: "${name}" ${why}.`;
  expect(() => resourceTypesWith(own)).toThrow(message);
  const more = `${message.slice(0, -1)}; "line" is the name of a type that ships with the package.`;
  expect(() => resourceTypesWith([...own, named("line")])).toThrow(more);
});

test.each([
  [resourceTypes, [{ path: [], message: "must be a list of your own types alone" }]],
  ["note", [{ path: [], message: "must be a list of your own types alone" }]],
  [[named("a"), null, "note"], [1, 2].map((at) => ({ path: [at], message: "must be a type of resources" }))],
  [[{ ...named("a"), summary: 1 }], [{ path: [0, "summary"], message: 'of "a" must be there' }]],
  [[named("a")], []],
  [[], []],
])("of what is given in their place %# is told what it has to be", (own, faults) => {
  expect(ownTypesRule.faultsOf(own)).toEqual(faults);
});

test.each([
  ["a number", 5],
  ["an object", { property: "a" }],
  ["a text", "changes"],
  ["a list of null", [null]],
  ["a list of what names no property", [{ before: 1, after: 2 }]],
])(
  "a check that answers with %s fails its resource alone, before an apply and after it",
  async (_, answer) => {
    for (const when of ["before", "after", "before, later", "after, later"]) {
      let isApplied = false;
      const check = (): unknown => {
        const change = [{ property: "a", before: 1, after: 2 }];
        const answers = when.startsWith("after") === isApplied ? answer : change;
        return when.endsWith("later") ? Promise.resolve(answers) : answers;
      };
      const odd = {
        ...named("odd"),
        check: check as ResourceType["check"],
        apply: () => void (isApplied = true),
      };
      const types = resourceTypesWith([odd]);
      const desired = [
        { type: "odd", on_failure: "continue" },
        { type: "file", path: "/a" },
      ].map((each) => {
        const resolved = resolveResource(each, { module: "m", types });
        return resolved.ok ? [resolved.resource] : [];
      });
      const state = new StateFixture();
      const { status, results } = await state.run("apply", desired.flat(), { types });
      expect(status).toBe("partial");
      expect(results.map(({ type, outcome }) => [type, outcome])).toEqual([
        ["odd", "failed"],
        ["file", "changed"],
      ]);
      expect(results[0]?.code).toBe("INTERNAL");
    }
  },
);

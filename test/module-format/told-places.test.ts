/** What is told of a module that is wrong, where another part of its text, or more of the same, could be taken for it. */
import { expect, it, test } from "vitest";
import { checkModule } from "fleetwright";
import { finish } from "../../lib/internal/work.ts";
import { parseModule } from "../../lib/module-format/module-document.ts";
import { declaredParams } from "../../lib/module-format/module-resources.ts";
import { findValueFaults } from "../../lib/module-format/params.ts";

const check = (module: object) => checkModule(JSON.stringify({ name: "web", ...module }));

test.each([
  ["a comment", "    # {{ params.port }}\n"],
  ["the next resource", "  - { type: file, path: /b, content: '{{ params.port }}' }\n"],
  ["its next property", "    owner: root\n    validate: [test, '{{ params.port }}']\n"],
])("a template that is written with escapes is told of where it is, not in %s", (_name, after) => {
  const text = String.raw`name: web
resources:
  - type: file
    path: /a
    content: "\x7b{ params.port }}"
`;
  const [fault] = checkModule(text + after).faults;
  expect(fault).toMatchObject({ path: ["resources", 0, "content"], line: 5, column: 14 });
});

it("a circle is told of though the id of another resource is not known", () => {
  const folder = (id: string, requires: string[]) => ({ id, type: "directory", path: `/${id}`, requires });
  const unknown = { type: "directory", path: 1 };
  const { faults } = check({ resources: [unknown, folder("a", ["b", "later"]), folder("b", ["a"])] });
  expect(faults.map(({ path }) => path.join("."))).toEqual(["resources.0.path", "resources.1"]);
  expect(faults[1]?.message).toContain("a -> b -> a");
});

it("a key that holds half a character is told of wherever it stands", () => {
  const half = String.raw`"\ud800": 1`;
  for (const map of [`{ ${half} }`, `[{ ${half} }]`, `{ a: { ${half} } }`]) {
    const params = `params: { p: { type: ${map.startsWith("[") ? "array" : "object"}, default: ${map} } }`;
    const { faults } = checkModule(`name: web\n${params}\nresources: []\n`);
    expect(faults.map(({ message }) => message)).toEqual(["A key holds half a character."]);
  }
});

test.each([99, 100, 101])(
  "of %i names in one text that can't be there the first hundred are told",
  (count) => {
    const names = Array.from({ length: count }, (_, at) => `{{ params.p${at} }}`);
    const { faults } = check({ resources: [{ type: "file", path: "/a", content: names.join(" ") }] });
    const told = faults.map(({ message }) => /params\.p\d+/.exec(message)?.[0]);
    expect(told).toEqual(names.slice(0, 100).map((name) => name.slice(3, -3)));
  },
);

test.each([
  ["texts", { type: "string", enum: ["a b", "1", ""] }, "2", '"a b", "1", ""'],
  ["numbers", { type: "number", enum: [1, 2.5] }, 2, "1, 2.5"],
])("the %s that a param may be are told as they are written", (_name, param, value, allowed) => {
  const module = parseModule(JSON.stringify({ name: "web", params: { p: param }, resources: [] }));
  const [fault] = finish(findValueFaults(declaredParams([module]), { p: value }));
  expect(fault?.message).toBe(`It must be one of ${allowed} (module web).`);
});

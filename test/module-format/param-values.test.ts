/** Values of params: whose they are, which are missing, and which are secret, whatever the params are called. */
import { describe, expect, it } from "vitest";
import { checkModule } from "fleetwright";
import { finish } from "../../lib/internal/work.ts";
import type { Json } from "../../lib/json.ts";
import { parseModule } from "../../lib/module-format/module-document.ts";
import { declaredParams } from "../../lib/module-format/module-resources.ts";
import { findMissing, findValueFaults, valuesFor } from "../../lib/module-format/params.ts";

const moduleOf = (name: string, params: object, ...resources: object[]) =>
  parseModule(JSON.stringify({ name, params, resources }));
const faultsOf = (values: Record<string, Json>, ...modules: ReturnType<typeof moduleOf>[]) => {
  const declared = declaredParams(modules);
  return [...finish(findValueFaults(declared, values)), ...findMissing(declared, values)].map(
    ({ path, message }) => `${path.join(".")}: ${message}`,
  );
};

describe.each(["port", "constructor", "toString", "hasOwnProperty"])("a param that is called %s", (name) => {
  it("has the value that is given to it alone, and else its default", () => {
    const { params } = moduleOf("web", { [name]: { type: "string", default: "x" } });
    expect(valuesFor("web", params, {})).toEqual({});
    expect(valuesFor("web", params, { [name]: "a" })).toEqual({ [name]: "a" });
    expect(valuesFor("web", params, { [name]: "a", [`web.${name}`]: "b" })).toEqual({ [name]: "b" });
    expect(valuesFor("db", params, { [name]: "a", [`web.${name}`]: "b" })).toEqual({ [name]: "a" });
  });

  it("is missing where it has neither", () => {
    const module = moduleOf("web", { [name]: { type: "string" } });
    expect(faultsOf({}, module)).toEqual([`params.${name}: Module web needs it: it has no default.`]);
    expect(faultsOf({ [name]: "a" }, module)).toEqual([]);
  });
});

it.each([
  ["boolean", false],
  ["integer", 0],
  ["string", ""],
  ["array", []],
  ["object", {}],
])("a default of type %s that is nothing, %j, is one", (type, standard) => {
  expect(faultsOf({}, moduleOf("web", { p: { type, default: standard } }))).toEqual([]);
});

it("a param whose name begins with that of its module is no param of it by a dot", () => {
  const web = moduleOf("web", { webport: { type: "integer", default: 80 } });
  const other = moduleOf("web2", { port: { type: "integer", default: 80 } });
  expect(faultsOf({ webport: 81, "web.webport": 82, "web2.port": 83 }, web, other)).toEqual([]);
  expect(faultsOf({ "web.port": 83 }, web, other)).toEqual([
    "params.web.port: No module here declares this param.",
  ]);
});

it.each([
  ["is marked", { sensitive: true }, false],
  ["goes into a resource that is", {}, true],
])("what a param must be is told of none that %s", (_, marked, sensitive) => {
  const param = { type: "string", default: "HUNTER2", enum: ["HUNTER2", "HUNTER3"], ...marked };
  const file = {
    id: "f",
    type: "file",
    path: "/a",
    content: "{{ params.p }}",
    ...(sensitive && { sensitive }),
  };
  expect(faultsOf({ p: "HUNTER4" }, moduleOf("web", { p: param }, file))).toEqual([
    "params.p: It must be as the module declares it (module web).",
  ]);
});

it.each([
  "{{ params | json }}",
  "{{ params.p }}",
  "{{ params['p'] }}",
  "{{ params[params.q] }}",
  "{% for p in params %}x{% endfor %}",
])("%s brings a secret param into its resource", (content) => {
  const params = { p: { type: "string", sensitive: true }, q: { type: "string", default: "p" } };
  const resources = [
    { id: "f", type: "file", path: "/a", content },
    { id: "g", type: "file", path: "/b", content: "{{ params.q }}" },
  ];
  expect([...moduleOf("web", params, ...resources).madeSensitive]).toEqual([0]);
});

it("what a part of a default gives is checked at the upload", () => {
  const params = { at: { type: "object", default: { mode: "rw" } } };
  const resources = [{ id: "f", type: "file", path: "/a", mode: "{{ params.at.mode }}" }];
  const { faults } = checkModule(JSON.stringify({ name: "web", params, resources }));
  expect(faults.map(({ path }) => path)).toEqual([["resources", 0, "mode"]]);
});

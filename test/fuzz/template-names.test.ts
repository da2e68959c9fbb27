/**
 * What a run of a template reads is among the names that were found in its text: on them rest what is sensitive and what a plan was
 * made from.
 */
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { finish, WorkBudget } from "../../lib/internal/work.ts";
import type { JsonObject } from "../../lib/json.ts";
import { liquidTemplates } from "../../lib/module-format/liquid/liquid-templates.ts";
import { isSoak } from "../support/soak.ts";

const data: JsonObject = {
  a: 1,
  b: 2,
  list: [1, [2, 3], { a: 1 }],
  map: { a: 1, b: { c: 2 } },
  n: 3,
  secret: 42,
};

/** Reads a template and runs it; what the run read of the params, and those that were found in the text, `*` for all. */
function readsOf(text: string): { read: Set<string>; found: Set<string> } | null {
  const result = liquidTemplates.read(text);
  if (!result.ok) return null;
  const read = new Set<string>();
  const params = new Proxy(data, {
    get(target, key) {
      if (typeof key === "string" && Object.hasOwn(target, key)) read.add(key);
      return Reflect.get(target, key) as unknown;
    },
  });
  const scope = { params, attributes: { hostname: "params" }, tags: { which: "params", t: "a" } };
  finish(liquidTemplates.begin(scope, new WorkBudget()).evaluate(result.template));
  const { names } = result.template;
  const ofParams = names.filter(({ root }) => root === "params");
  return { read, found: new Set(ofParams.map(({ name }) => name?.split(".")[0] ?? "*")) };
}

const param = fc.constantFrom("a", "b", "list", "map", "n", "secret");
const variable = fc.constantFrom("x", "last", "size", "which");

const { value } = fc.letrec<{ value: string; root: string }>((tie) => ({
  root: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    param.map((name) => `params.${name}`),
    param.map((name) => `params['${name}']`),
    param.map((name) => `['params'].${name}`),
    fc.constantFrom("params", "tags.which", "tags.t", "attributes.hostname"),
    variable,
    tie("value").map((key) => `params[${key}]`),
  ),
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("root"),
    fc.constantFrom("0", "1", "'q'", '"a"', "nil", "empty"),
    fc.tuple(tie("root"), fc.constantFrom("a", "first", "size", "last")).map(([of, name]) => `${of}.${name}`),
    fc.tuple(tie("root"), tie("value")).map(([of, key]) => `${of}[${key}]`),
    fc.tuple(tie("value"), tie("value")).map(([from, to]) => `(${from}..${to})`),
    fc.tuple(tie("value"), fc.constantFrom(".last", ".size", "[0]")).map(([to, part]) => `(1..${to})${part}`),
    tie("value").map((key) => `'str'[${key}]`),
    fc.tuple(tie("value"), param).map(([key, name]) => `[${key}].${name}`),
  ),
}));
const filtered = fc
  .tuple(
    value,
    fc.array(fc.tuple(fc.constantFrom("default", "plus", "append", "join", "truncate"), value), {
      maxLength: 2,
    }),
  )
  .map(([first, filters]) => first + filters.map(([name, argument]) => ` | ${name}: ${argument}`).join(""));
const { template } = fc.letrec<{ template: string }>((tie) => ({
  template: fc
    .array(
      fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        filtered.map((expression) => `{{ ${expression} }}`),
        fc.constantFrom(
          "text",
          "{% raw %}{{ params.b }}{% endraw %}",
          "{% comment %}{{ params.b }}{% endcomment %}",
        ),
        fc
          .tuple(
            value,
            fc.constantFrom("==", "contains", ">", "and", "or"),
            value,
            tie("template"),
            tie("template"),
          )
          .map(([a, sign, b, yes, no]) => `{% if ${a} ${sign} ${b} %}${yes}{%- else %}${no}{% endif %}`),
        fc
          .tuple(filtered, value, tie("template"))
          .map(
            ([of, when, then]) => `{% case ${of} %}{% when ${when} %}${then}{% else %}${then}{% endcase %}`,
          ),
        fc
          .tuple(variable, value, fc.option(value), tie("template"))
          .map(
            ([name, over, limit, body]) =>
              `{% for ${name} in ${over}${limit ? ` limit: ${limit}` : ""} %}${body}{% endfor %}`,
          ),
      ),
      { minLength: 1, maxLength: 3 },
    )
    .map((parts) => parts.join("")),
}));

describe("a name", () => {
  it.each([
    ["after a range", "{{ (1..params.secret).last }}"],
    ["in a range in brackets", "{{ params.list[(0..params.secret)] }}"],
    ["in the brackets of a text", "{{ 'abc'[params.secret] }}"],
    ["in the brackets of a loop's item", "{% for x in params.list %}{{ x[params.secret] }}{% endfor %}"],
    ["in an argument of a filter", "{{ params.a | default: params.secret }}"],
  ])("is found %s", (_where, text) => {
    expect(readsOf(text)?.found).toContain("secret");
  });

  it.each([
    "{{ [tags.which].secret }}",
    "{{ [attributes.hostname] }}",
    "{% for x in tags %}{{ [x[1]] }}{% endfor %}",
  ])("can't begin with what is computed: %s", (text) => {
    const read = liquidTemplates.read(text);
    expect(read).toMatchObject({ ok: false, fault: { message: "a name can't begin with what is computed" } });
  });
});

test("whatever a run reads was found in the text", () => {
  let runs = 0;
  fc.assert(
    fc.property(template, (text) => {
      const reads = readsOf(text);
      if (reads === null || reads.found.has("*")) return;
      runs += reads.read.size;
      expect([...reads.found]).toEqual(expect.arrayContaining([...reads.read]));
    }),
    { numRuns: isSoak ? 200_000 : 3_000 },
  );
  expect(runs).toBeGreaterThan(40);
});

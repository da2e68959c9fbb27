/** Which names a template takes from outside, wherever in it they stand: what is sensitive, and what a plan rests on, follows from them. */
import { describe, expect, it, test } from "vitest";
import { finish, WorkBudget } from "../../lib/internal/work.ts";
import type { Json } from "../../lib/json.ts";
import { liquidTemplates } from "../../lib/module-format/liquid/liquid-templates.ts";
import { parseModule } from "../../lib/module-format/module-document.ts";
import { findSecretParts } from "../../lib/module-format/secret-parts.ts";
import { formOfFilter } from "../../lib/secret-format/forms.ts";

/** The names of a template, or what is wrong with it; each with its place. */
function namesOf(text: string): string[] {
  const read = liquidTemplates.read(text);
  if (!read.ok) return [`! ${read.fault.message} @${read.fault.offset}`];
  return read.template.names.map(({ root, name, offset }) => `${root}.${name} @${offset}`);
}

/** Every place of a template where a name X may stand, beside being written as it is. */
const places = [
  "{{ 1 | plus: X }}",
  "{{ 'a' | replace: 'a', X }}",
  "{{ params.list | join: X }}",
  "{{ 1 | default: 2, allow_false: X }}",
  "{{ 1 | plus: 2 | plus: X }}",
  "{{ X | upcase }}",
  "{{ X | json | upcase }}",
  "{{ X == 1 }}",
  "{{ 1 == X }}",
  "{{ true and X }}",
  "{{ params[X] }}",
  "{{ params.list[X] }}",
  "{{ params.map.a[X].b }}",
  "{{ params[params.map[X]] }}",
  "{{ (1..X) | join: ',' }}",
  "{{ (X..9) | join: ',' }}",
  "{{ (1..3)[X] }}",
  "{% for i in X %}{{ i }}{% endfor %}",
  "{% for i in (1..X) %}{{ i }}{% endfor %}",
  "{% for i in (X..9) %}{{ i }}{% endfor %}",
  "{% for i in params.list limit: X %}{{ i }}{% endfor %}",
  "{% for i in params.list reversed offset: X %}{{ i }}{% endfor %}",
  "{% for i in params.list %}{{ i[X] }}{% endfor %}",
  "{% for i in params.list %}{{ i | plus: X }}{% endfor %}",
  "{% for i in params.list %}{% else %}{{ 1 | plus: X }}{% endfor %}",
  "{% if X %}a{% endif %}",
  "{% if 1 %}a{% elsif X %}b{% endif %}",
  "{% if 1 contains X %}a{% endif %}",
  "{% if 1 %}{{ 1 | plus: X }}{% else %}b{% endif %}",
  "{% if 1 %}a{% else %}{{ 1 | plus: X }}{% endif %}",
  "{% unless X %}a{% endunless %}",
  "{% unless 1 %}a{% else %}{{ 1 | plus: X }}{% endunless %}",
  "{% case X %}{% when 1 %}a{% endcase %}",
  "{% case 1 %}{% when X %}a{% endcase %}",
  "{% case 1 %}{% when 2, X %}a{% endcase %}",
  "{% case 1 %}{% when 2 %}{{ 1 | plus: X }}{% else %}b{% endcase %}",
  "{% case 1 %}{% when 2 %}b{% else %}{{ 1 | plus: X }}{% endcase %}",
  "{% raw %}{{ params.raw }}{% endraw %}{{ 1 | plus: X }}",
  "{% comment %}{{ params.said }}{% endcomment %}{{ 1 | plus: X }}",
];

describe.each(places)("%s", (place) => {
  it.each(["params.pass", "attributes['os.family']", "tags.app.name"])("takes %s from outside", (name) => {
    const text = place.replace("X", name);
    const [root, ...parts] = name
      .replaceAll(/\['|'\]/g, ".")
      .split(".")
      .filter(Boolean);
    expect(namesOf(text)).toContain(`${root}.${parts.join(".")} @${place.indexOf("X")}`);
    expect(namesOf(text).filter((each) => /raw|said|^i\./.test(each))).toEqual([]);
  });

  it("makes what it stands in as sensitive as a param is", () => {
    const content = place.replace("X", "params.pass");
    const params = {
      pass: { type: "string", sensitive: true },
      list: { type: "array" },
      map: { type: "object" },
    };
    const resources = [{ id: "r", type: "file", path: "/a", content }];
    const module = parseModule(JSON.stringify({ name: "web", params, resources }));
    expect([...findSecretParts(module).resources]).toEqual([0]);
  });

  it("is no place for a secret: what becomes of it there could not be told", () => {
    expect(namesOf(place.replace("X", "secrets.db"))).toEqual([
      expect.stringMatching(`^! a secret can only be written as it is, or .* @${place.indexOf("X")}$`),
    ]);
  });
});

describe("a secret", () => {
  const filters = Object.keys(formOfFilter);

  it.each(filters)("is written through the filter %s, alone and without arguments", (filter) => {
    expect(namesOf(`a {{ secrets.db | ${filter} }}`)).toEqual(["secrets.db @5"]);
    const misused = [expect.stringMatching(/^! a secret can only .* @3$/)];
    expect(namesOf(`{{ secrets.db | ${filter}: 1 }}`)).toEqual(misused);
    for (const other of [...filters, "upcase", "size"]) {
      expect(namesOf(`{{ secrets.db | ${filter} | ${other} }}`)).toEqual(misused);
      expect(namesOf(`{{ secrets.db | ${other} | ${filter} }}`)).toEqual(misused);
    }
  });
});

test("a name that a loop gives is none from outside within it, and one behind it", () => {
  const inner = "{% for j in i.list %}{{ i.x }}{{ j.x }}{% if i %}{{ j }}{% endif %}{% endfor %}";
  const text = `{% for i in params.list %}${inner}{{ j.y }}{% endfor %}{{ i.y }}`;
  expect(namesOf(text)).toEqual([
    "params.list @12",
    ...["j.y", "i.y"].map((name) => `${name} @${text.lastIndexOf(name)}`),
  ]);
});

/** The value of a template, or what is wrong with it. */
function evaluate(text: string, keys: Record<string, Json>): Json {
  const read = liquidTemplates.read(text);
  if (!read.ok) return `! ${read.fault.message}`;
  const scope = { params: keys, attributes: keys, tags: {} };
  const result = finish(liquidTemplates.begin(scope, new WorkBudget()).evaluate(read.template));
  return result.ok ? result.value : `! ${result.fault.message}`;
}

describe("names with dots", () => {
  const keys: Record<string, Json> = {
    disk: "sda",
    "disk.size": 9,
    "disk.size.unit": "GB",
    "net.eth0": "up",
    "net.eth0.mtu": 1500,
    "net.mtu": 9000,
    "net.eth0.vlan.id": 7,
    "net.zone": "a",
    "a.b.c": 1,
    "a.b.d": 2,
    "a.e": 3,
  };

  it.each(Object.entries(keys))("stand for what is called so, and by its whole text: %s", (key, value) => {
    expect(evaluate(`{{ attributes['${key}'] }}`, keys)).toBe(value);
    // What another name stands before, as a value, has its whole text alone.
    const isBehindValue = Object.keys(keys).some((other) => key.startsWith(`${other}.`));
    if (!isBehindValue) expect(evaluate(`{{ attributes.${key} }}`, keys)).toBe(value);
  });

  it.each(["unit", "mtu", "net.id", "net.vlan.id", "vlan.id", "e", "b", "b.c", "net.eth0.mtu"])(
    "stand for nothing else: %s is not there",
    (name) => expect(evaluate(`{{ attributes.${name} }}`, keys)).toMatch(/^! attributes\..* is not there$/),
  );
});

test.each<[Json, Json]>([
  [false, false],
  [0, 0],
  ["", ""],
  [[], []],
  [null, "d"],
])("the filter default leaves %j as %j: a value that is there is wanted", (value, expected) => {
  expect(evaluate("{{ params.x | default: 'd' }}", { x: value })).toEqual(expected);
});

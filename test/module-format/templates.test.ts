import { describe, expect, it } from "vitest";
import { isOrchestratorError, type Issue } from "../../lib/errors.ts";
import { finish, WorkBudget } from "../../lib/internal/work.ts";
import type { Json } from "../../lib/json.ts";
import { liquidTemplates } from "../../lib/module-format/liquid/liquid-templates.ts";
import { parseModule } from "../../lib/module-format/module-document.ts";
import type { TemplateScope } from "../../lib/module-format/template.ts";
import { cpuMs, cpuMsOf } from "../support/cpu-time.ts";

const scope: TemplateScope = {
  params: {
    port: 80,
    tls: true,
    list: [1, "a b"],
    map: { a: 1 },
    quoted: "it's; rm -rf /",
    many: manyItems(),
  },
  attributes: { hostname: "h1", "os.family": "debian", "cpu.cores": 4, disk: "sda", "disk.size": 9 },
  tags: { role: "web", "a/b": "1", "app.name": "shop" },
};

function manyItems(): number[] {
  return Array.from({ length: 5000 }, (_, at) => at);
}

/** The value of a template, or what is wrong with it. */
function evaluate(text: string): Json {
  const read = liquidTemplates.read(text);
  if (!read.ok) return `! ${read.fault.message} @${read.fault.offset}`;
  const result = finish(liquidTemplates.begin(scope, new WorkBudget()).evaluate(read.template));
  return result.ok ? result.value : `! ${result.fault.message} @${result.fault.offset}`;
}

describe("a template", () => {
  it.each<[string, Json]>([
    ["listen {{ params.port }};", "listen 80;"],
    ["{{ params.port }}", 80],
    ["{{ params.tls }}", true],
    ["{{ params.list }}", [1, "a b"]],
    ["{{ params.map }}", { a: 1 }],
    ["{{ params.port | plus: 1 }}", 81],
    [" {{ params.port }}", " 80"],
    ["{{ attributes.os.family }}", "debian"],
    ['{{ attributes["os.family"] }}', "debian"],
    ["{{ attributes.disk }} {{ attributes['disk.size'] }}", "sda 9"],
    ["{{ tags.app.name }} {{ tags['a/b'] }}", "shop 1"],
    ["{% if tags.role == 'web' and params.tls %}on{% else %}off{% endif %}", "on"],
    ["{% for item in params.list %}<{{ item }}>{% endfor %}", "<1><a b>"],
    ["{{ attributes.nothing | default: 'd' }}", "d"],
    ["{{ params.tls | default: false }}", true],
    ["x {{ params.map | json }} {{ params.list | join: ',' }}", 'x {"a":1} 1,a b'],
    ["echo {{ params.quoted | shell_quote }}", `echo 'it'\\''s; rm -rf /'`],
    ["ls {{ params.list | shell_quote }}", "ls '1' 'a b'"],
    ["{% raw %}{{ .Names }}{% endraw %}", "{{ .Names }}"],
  ])("%s gives %j", (text, value) => expect(evaluate(text)).toEqual(value));

  it.each([
    ["a {{ attributes.os.name }}", "! attributes.os.name is not there @5"],
    ["{{ params.constructor }}", "! params.constructor is not there @3"],
    ["{{ params.list.constructor.constructor }}", "! params.list.constructor is not there @3"],
    ["{{ tags.__proto__ }}", "! tags.__proto__ is not there @3"],
    ["x{{ params.map }}", "! a list or a map can't stand in a text; use the filter json or join @1"],
    ["{{ params.port | divided_by: 0 }}", "! this is no number that can be written @0"],
    ["{% include '/etc/passwd' %}", "! there is no tag include @0"],
    ["{% render 'package.json' %}", "! there is no tag render @0"],
    ["{% layout 'x' %}", "! there is no tag layout @0"],
    ["{% assign x = 1 %}", "! there is no tag assign @0"],
    ["{{ params.list | map: 'x' }}", "! there is no filter map @0"],
    ["{{ params.list | where_exp: 'i', 'i' }}", "! there is no filter where_exp @0"],
  ])("%s is a fault: %s", (text, fault) => expect(evaluate(text)).toBe(fault));

  const turns = (depth: number): string =>
    "{% for x in params.many %}".repeat(depth) + "{% endfor %}".repeat(depth);
  it.each([
    ["loops in loops", turns(3)],
    ["a loop over a huge range", "{% for x in (1..1000000000) %}y{% endfor %}"],
    ["a loop that writes long texts", `{% for x in params.many %}${"y".repeat(100_000)}{% endfor %}`],
    ["joining again and again", "{% for x in params.many %}{{ params.many | join: ',' }}{% endfor %}"],
    ["replacing by a long text", `{{ '${"a".repeat(100_000)}' | replace: 'a', '${"b".repeat(10_000)}' }}`],
    ["very many open tags", "{% if true %}".repeat(20_000)],
    ["very many open expressions", "{{ a".repeat(100_000)],
    ["a very long expression", `{{ params.port ${"| plus: 1 ".repeat(20_000)}x`],
  ])("ends %s before they cost much", (_name, text) => {
    const took = cpuMsOf(() => expect(evaluate(text)).toMatch(/^! /));
    expect(took).toBeLessThan(1000);
  });
});

function faultsOf(text: string): string[] {
  try {
    parseModule(text);
  } catch (error) {
    if (!isOrchestratorError(error, "MODULE_INVALID")) throw error;
    return error.issues.map(({ line, column, message }: Issue) => `${line}:${column} ${message}`);
  }
  return [];
}

const head =
  "name: web\nparams:\n  port: { type: integer, default: 80 }\n  mode: { type: string }\nresources:\n";

describe("a module with templates", () => {
  it.each<[name: string, resources: string, faults: string[]]>([
    [
      "a name that is not there, in a block of text",
      "  - type: file\n    path: /a\n    content: |\n      listen {{ params.port }};\n      name {{ params.nam }} {{ other }};\n",
      [
        "10:15 params.nam is not there: the module declares no such param.",
        '10:32 "other" is not there; a name begins with params, attributes, tags or secrets.',
      ],
    ],
    [
      "a name in the second of two equal texts",
      '  - { type: file, path: /a, content: "{{ params.port }} {{ params.port }} {{ params.x }}" }\n',
      ["6:78 params.x is not there: the module declares no such param."],
    ],
    [
      "a secret that is worked with",
      "  - { type: file, path: /a, content: '{{ secrets.db }} {{ secrets.db | size }}' }\n",
      [
        "6:56 A secret can only be written as it is, or through one of the filters json, shell_quote, base64_encode, url_encode.",
      ],
    ],
    [
      "what can't be read",
      "  - { type: file, path: /a, content: 'x {{ params.port | nope }}' }\n  - { type: file, path: /b, content: '{{ params.port' }\n",
      ["6:41 There is no filter nope.", '7:39 Output "{{ params.port" not closed.'],
    ],
    [
      "a template where none can stand",
      "  - { id: 'a{{ params.port }}', type: directory, path: /a, when: 'x={{ params.port }}' }\n",
      [
        '6:11 A template can\'t stand in "id", only in what belongs to the type.',
        '6:66 A template can\'t stand in "when", only in what belongs to the type.',
      ],
    ],
    [
      "a default that makes a resource which is none",
      "  - { type: directory, path: /a, mode: '{{ params.port }}' }\n",
      ["6:40 This must be text, not a number."],
    ],
    [
      "a missing id where a template decides what the resource is about",
      "  - { type: directory, path: '/srv/{{ tags.app }}' }\n",
      ["6:5 Give it an id: a template decides what it is about."],
    ],
    [
      "what is wrong beside a template",
      "  - { type: file, path: /a, mode: '{{ params.mode }}', colour: red, owner: 1 }\n",
      ['6:56 "colour" is not known here.', "6:76 This must be text, not a number; quote it."],
    ],
    [
      "nothing, where all is well",
      "  - { type: file, path: /a, mode: '{{ params.mode }}', content: '{{ tags.x }}' }\n",
      [],
    ],
    [
      "one thing twice, also where other properties are templates",
      "  - { id: a, type: file, path: /a, mode: '{{ params.mode }}' }\n  - { id: b, type: file, path: /a }\n",
      ["7:5 The file /a is declared on line 6 too."],
    ],
  ])("tells of %s", (_name, resources, faults) => expect(faultsOf(head + resources)).toEqual(faults));

  it("stays as it is written, also within a property, whatever defaults make of it", () => {
    const environment = "{ A: '{{ params.port }}/tcp' }";
    const { resources } = parseModule(
      `${head}  - { id: s, type: script, run: x, creates: /a, environment: ${environment} }\n`,
    );
    expect(resources[0]!["environment"]).toEqual({ A: "{{ params.port }}/tcp" });
  });

  it("is refused when its defaults are none, with their place", () => {
    const text =
      "name: web\nparams:\n  port: { type: integer, default: none }\n  1a: { type: string }\nresources: []\n";
    expect(faultsOf(text)).toEqual([
      expect.stringMatching(/^3:/) as string,
      expect.stringMatching(/^4:3 .*must be 1-64/) as string,
    ]);
  });

  it.each<[name: string, resource: string, faults: RegExp[]]>([
    [
      "the path of a file",
      "type: file, path: '/{{ secrets.db }}'",
      [/^8:.*names the resource: that is shown/],
    ],
    ["the path of a file", "type: file, path: '/{{ params.pass }}'", [/names the resource: that is shown/]],
    ["a part of a map", "type: file, path: '/{{ params.map.a }}'", [/names the resource: that is shown/]],
    ["a property of all params", "type: file, path: '/{{ params | json }}'", [/names the resource/]],
    ["the content of a file", "type: file, path: /a, content: '{{ secrets.db }}'", []],
    [
      "a line, which notes what it wrote",
      "type: line, path: /a, line: '{{ secrets.db }}'",
      [/^8:.*notes its/],
    ],
    [
      "the pattern of a line",
      "type: line, path: /a, line: x, match: '{{ secrets.db }}'",
      [/names the resource: that is shown/, /notes its properties to take itself back/],
    ],
    ["a line, of which a param is noted", "type: line, path: /a, line: '{{ params.pass }}'", []],
    [
      "a script that is undone with the same environment",
      "type: script, run: x, creates: /a, undo: y, environment: { A: '{{ secrets.db }}' }",
      [/notes its properties to take itself back/],
    ],
    ["a script", "type: script, run: x, creates: /a, environment: { A: '{{ secrets.db }}' }", []],
  ])("says whether a secret can be in %s: %s", (_name, resource, faults) => {
    const secret = head.replace(
      "params:\n",
      "params:\n  pass: { type: string, sensitive: true }\n  map: { type: object, sensitive: true }\n",
    );
    expect(faultsOf(`${secret}  - { id: a, ${resource} }\n`)).toEqual(
      faults.map((fault) => expect.stringMatching(fault) as string),
    );
  });

  it("is refused with more expressions than a module may have, before they cost much", () => {
    const before = cpuMs();
    const text = (count: number): string => "{{params.port}}".repeat(count);
    const one = `  - { type: file, path: /a, content: "${text(30_000)}" }\n`;
    expect(faultsOf(head + one)).toEqual(["6:38 This text has more than 500 expressions."]);
    const file = (at: number): string => `  - { type: file, path: /${at}, content: "${text(400)}" }\n`;
    const many = Array.from({ length: 20 }, (_, at) => file(at)).join("");
    expect(faultsOf(head + many)).toEqual(["18:39 The module has more than 5000 expressions."]);
    expect(cpuMs() - before).toBeLessThan(1000);
  });
});

import { describe, expect, it } from "vitest";
import type { Issue } from "../../lib/errors.ts";
import { isOrchestratorError, type OrchestratorError } from "../../lib/errors.ts";
import { parseModule } from "../../lib/module-format/module-document.ts";
import { cpuMsOf } from "../support/cpu-time.ts";

const head = "name: web\nresources:\n";

/** Each fault as "line:column message". */
const faults: [name: string, text: string, issues: (string | RegExp)[]][] = [
  ["an empty text", "", [/^1:1 .*missing/]],
  ["a text that is no map", "- a\n", [/^1:1 /]],
  ["text that is no YAML", "name: 'web\n", [/^2:1 .*quote/]],
  ["a tab as indentation", "name: web\nresources:\n\t- a\n", [/^3:1 .*[Tt]abs/]],
  ["nothing but a comment", "# later\n", ["1:1 The module is missing: the text is empty."]],
  ["a list in its place", "- a\n", ["1:1 This must be a map, not a list."]],
  ["a map of resources", "name: a\nresources:\n  a: {}\n", ["3:3 This must be a list, not a map."]],
  [
    "a param of a type that there is not",
    "name: a\nparams:\n  p: { type: strin }\nresources: []\n",
    [/^3:14 This must be "string", .* or "\w+"\.$/],
  ],
  ["a param without a type", "name: a\nparams:\n  p: {}\nresources: []\n", ['3:6 "type" is missing.']],
  [
    "a list in the place of a text",
    `${head}  - { type: git, path: /a, repository: [] }\n`,
    ["3:40 This must be text, not a list."],
  ],
  ["no resources", "name: a\nresources:\n", ["2:11 This must be a list, and is empty."]],
  [
    "a key that could be none",
    `${head}  - { type: directory, path: /a, __proto__: {} }\n`,
    ['3:34 A key can\'t be "__proto__".'],
  ],
  ["missing parts", "description: x\n", ['1:1 "name" is missing.', '1:1 "resources" is missing.']],
  ["a bad name", "name: Web\nresources: []\n", [/^1:7 1-64 of a-z/]],
  [
    "unknown keys, each",
    "name: w\nparam: {}\nresources: []\nx: 1\n",
    ['2:1 "param" is not known here, did you mean params?', '4:1 "x" is not known here.'],
  ],
  [
    "a property that is nearly one, of its type, of every type",
    `${head}  - { type: file, path: /a, contnet: x, requrie: [b] }\n`,
    [
      '3:29 "contnet" is not known here, did you mean content?',
      '3:41 "requrie" is not known here, did you mean requires?',
    ],
  ],
  [
    "a part of a param that is nearly one",
    `name: w\nparams: { greeting: { type: string, defualt: hi } }\nresources: []\n`,
    ['2:37 "defualt" is not known here, did you mean default?'],
  ],
  [
    "a part of a param that is called as what every object has",
    `name: w\nparams: { constructor: { type: string, defualt: hi }, valueOf: { x: 1 } }\nresources: []\n`,
    ['2:40 "defualt" is not known here, did you mean default?', '2:64 "type" is missing.'],
  ],
  ["a key written twice", `${head}  []\nname: other\n`, ['4:1 "name" is written twice.']],
  [
    "a merge key",
    `${head}  - { type: file, path: /a, <<: { mode: "0644" } }\n`,
    ['3:29 "<<" is not known here.'],
  ],
  [
    "an anchor and an alias",
    `${head}  - &a { type: directory, path: /a }\n  - *a\n`,
    ["3:8 Anchors are not allowed: &a.", "4:5 Aliases are not allowed: *a."],
  ],
  ["an alias to nothing", `${head}  - *a\n`, [/^3:5 .*a/]],
  ["a tag", `${head}  - { type: !!str directory, path: !x /a }\n`, [/^3:19 Tags/, /^3:39 Tags/]],
  ["a tag of a key", `!!str ${head}  - { !x type: directory, path: /a }\n`, [/^1:7 Tags/, /^3:10 Tags/]],
  ["a second document", `${head}  []\n---\nname: x\n`, [/^4:1 There must be one document/]],
  ["a directive", `%YAML 1.1\n---\n${head}  []\n`, [/^1:1 Directives/]],
  ["a key that is no text", `${head}  - { type: directory, path: /a, 1: 2 }\n`, [/^3:34 A key must be text/]],
  [
    "a key that every object inherits",
    `${head}  - { type: directory, path: /a, __proto__: {}, constructor: 1 }\n`,
    [/^3:34 A key/, /^3:49 "constructor" is not known/],
  ],
  [
    "a number past what JSON keeps",
    `${head}  - { type: directory, path: /a, timeout_seconds: 99999999999999999999 }\n`,
    [/^3:51 .*exactly/],
  ],
  [
    "a number that is none",
    `${head}  - { type: directory, path: /a, timeout_seconds: .nan }\n`,
    ["3:51 This is no finite number."],
  ],
  ["a resource that is no map", `${head}  - file\n`, [/^3:5 /]],
  ["a resource without a type", `${head}  - { path: /a }\n`, ['3:5 "type" is missing.']],
  [
    "an unknown type",
    `${head}  - { type: fiel, path: /a }\n`,
    ['3:13 There is no resource type "fiel", did you mean file?'],
  ],
  [
    "a wrong property",
    `${head}  - type: file\n    path: etc/x\n    mode: 644\n    oops: 1\n`,
    [/^4:11 must be an absolute/, /^5:11 /, '6:5 "oops" is not known here.'],
  ],
  ["a missing property", `${head}  - type: file\n    id: x\n`, ['3:5 "path" is missing.']],
  [
    "a rule between properties",
    `${head}  - { type: file, path: /a, content: a, content_base64: YQ== }\n`,
    [/^3:57 can't be given beside content/],
  ],
  [
    "a common property out of bounds",
    `${head}  - { type: directory, path: /a, timeout_seconds: 0 }\n`,
    [/^3:51 /],
  ],
  [
    "selectors",
    `name: w\nsupports: [ok, "a=="]\nresources:\n  - { type: directory, path: /a, when: "b in" }\n`,
    [/^2:16 .*column 4/, /^4:40 .*column 5/],
  ],
  [
    "a trigger that the type can't have",
    `${head}  - { id: a, type: directory, path: /a }\n  - { type: directory, path: /b, run_on: [a] }\n`,
    [/^4:42 .*trigger/],
  ],
  [
    "a script that would always run",
    `${head}  - { id: s, type: script, run: "true" }\n`,
    [/^3:5 .*check, creates or run_on/],
  ],
  [
    "a script without an id",
    `${head}  - { type: script, run: "true", creates: /a }\n`,
    [/^3:5 .*needs an id/],
  ],
  [
    "one id twice",
    `${head}  - { id: a, type: directory, path: /a }\n  - { id: a, type: directory, path: /b }\n`,
    ['4:11 "a" is the id of the resource on line 3 too.'],
  ],
  [
    "one thing twice",
    `${head}  - { id: a, type: directory, path: /a }\n  - { id: b, type: file, path: /a }\n`,
    ["4:5 The file /a is declared on line 3 too."],
  ],
  [
    "one thing twice under one condition",
    `${head}  - { id: a, type: directory, path: /a, when: x }\n  - { id: b, type: directory, path: /a, when: x }\n`,
    ["4:5 The directory /a is declared on line 3 too."],
  ],
  [
    "an id that is not there",
    `${head}  - { id: a, type: directory, path: /a, requires: [b, c] }\n  - { id: c, type: x }\n`,
    ['3:52 There is no resource "b" in this module.', /^4:20 .*"x"/],
  ],
  [
    "no unknown id that a faulty resource may have",
    `${head}  - { type: directory, path: /a, requires: ["file:/b"] }\n  - { type: file, path: /b, oops: 1 }\n`,
    [/^4:29 "oops"/],
  ],
  [
    "a circle",
    `${head}  - { id: a, type: directory, path: /a, requires: [b] }\n  - { id: b, type: directory, path: /b, requires: [a] }\n`,
    ["3:5 These wait for each other: a -> b -> a."],
  ],
  [
    "a resource that waits for itself",
    `${head}  - { id: a, type: directory, path: /a, requires: [a] }\n`,
    ["3:5 These wait for each other: a -> a."],
  ],
  [
    "one id twice, also where the type is unknown",
    `${head}  - { id: a, type: directory, path: /a }
  - { id: a, type: x, requires: [zz] }
`,
    [
      '4:11 "a" is the id of the resource on line 3 too.',
      /^4:20 .*"x"/,
      '4:34 There is no resource "zz" in this module.',
    ],
  ],
  [
    "one thing twice and an id that is not there, also where another property is at fault",
    `${head}  - { type: file, path: /a }
  - { id: b, type: file, path: /a, timeout_seconds: 0, requires: [1, zz] }
`,
    [
      "4:5 The file /a is declared on line 3 too.",
      /^4:53 /,
      /^4:67 /,
      '4:70 There is no resource "zz" in this module.',
    ],
  ],
  [
    "every circle, beside an id that is not there",
    `${head}  - { id: a, type: directory, path: /a, requires: [b, zz] }
  - { id: b, type: directory, path: /b, requires: [a] }
  - { id: c, type: file, path: c, run_on: [c] }
`,
    [
      "3:5 These wait for each other: a -> b -> a.",
      '3:55 There is no resource "zz" in this module.',
      "5:5 These wait for each other: c -> c.",
      /^5:32 must be an absolute/,
    ],
  ],
  [
    "no unknown id that an entry which is no resource may have",
    `${head}  - { type: directory, path: /a, requires: [b] }
  - b
`,
    [/^4:5 /],
  ],
  [
    "both faults of a script without an id or anything to run it for",
    `${head}  - { type: script, run: "true" }
`,
    [/^3:5 .*needs an id/, /^3:5 .*check, creates or run_on/],
  ],
  [
    "half a character",
    `${head}  - { type: file, path: /a, content: "\\ud800" }\n  - { type: directory, path: "/\\udc00" }\n`,
    [/^3:38 .*half a character/, /^4:30 .*half a character/],
  ],
  ["faults in every resource", `${head}  - { type: x }\n  - { type: y }\n`, [/^3:13 .*"x"/, /^4:13 .*"y"/]],
];

describe("parseModule", () => {
  it("reads a module as it is written", () => {
    const text = [
      "name: web # a comment",
      "description: Our site",
      'supports: ["attr.os.family=debian"]',
      "params: { port: { type: integer, default: 80 } }",
      "resources:",
      "  - id: conf",
      "    type: file",
      "    path: /etc/site.conf",
      '    mode: "0644"',
      "    content: |",
      "      listen {{ params.port }};",
      "    when: role=web",
      '  - { id: warm, type: script, run: "true", run_on: [conf], environment: { A: "1" } }',
      "",
    ].join("\n");
    expect(parseModule(text)).toMatchObject({
      name: "web",
      description: "Our site",
      supports: ["attr.os.family=debian"],
      params: { port: { type: "integer", default: 80 } },
      outline: [
        { id: "conf", type: "file", identity: "/etc/site.conf", isLiteral: true },
        { id: "warm", type: "script", identity: "module/warm", isLiteral: true },
      ],
      templates: [{ resource: 0, path: ["content"] }],
      resources: [
        {
          id: "conf",
          type: "file",
          path: "/etc/site.conf",
          mode: "0644",
          content: "listen {{ params.port }};\n",
          when: "role=web",
        },
        { id: "warm", type: "script", run: "true", run_on: ["conf"], environment: { A: "1" } },
      ],
    });
  });

  it("reads a module of nothing", () => {
    expect(parseModule("name: none\nresources: []\n")).toEqual({
      name: "none",
      madeSensitive: new Set(),
      description: null,
      supports: [],
      requires: [],
      requiredAt: [],
      removal: "restore",
      params: {},
      resources: [],
      templates: [],
      outline: [],
    });
  });

  it("leaves it to a run whether two conditions hold at once", () => {
    const resource = (id: string): string => `  - { id: ${id}, type: directory, path: /a, when: ${id} }\n`;
    expect(parseModule(head + resource("a") + resource("b")).resources).toHaveLength(2);
  });

  it.each(faults)("finds %s", (_name, text, expected) => {
    const found = faultsOf(text).map((issue) => `${issue.line}:${issue.column} ${issue.message}`);
    expect(found).toEqual(
      expected.map((each) => (typeof each === "string" ? each : expect.stringMatching(each))),
    );
  });

  it("tells the path of a fault", () => {
    const [issue] = faultsOf(
      `${head}  - { type: directory, path: /a, retry: { attempts: 0, delay_seconds: 1 } }\n`,
    );
    expect(issue?.path).toEqual(["resources", 0, "retry", "attempts"]);
  });

  it("tells the first 500 of many faults and their number", () => {
    const text = `${head}${"  - { type: x }\n".repeat(800)}`;
    const error = errorOf(text);
    expect(error.issues).toHaveLength(500);
    expect(error.details).toEqual({ faults: 800 });
  });

  it("refuses more than 2,000 resources", () => {
    const resource = (_: unknown, at: number): string => `  - { type: directory, path: /d${at} }\n`;
    expect(parseModule(head + Array.from({ length: 2000 }, resource).join("")).resources).toHaveLength(2000);
    expect(faultsOf(head + Array.from({ length: 2001 }, resource).join(""))).toHaveLength(1);
  });

  const kib = 1024;
  const hostile: [name: string, text: string][] = [
    ["too many bytes", `#${"é".repeat(256 * kib)}`],
    ["deep lists", "[".repeat(512 * kib)],
    ["deep maps", "{a: ".repeat(128 * kib)],
    ["deep lists by dashes", "- ".repeat(256 * kib)],
    ["deep maps by indentation", Array.from({ length: 1000 }, (_, at) => `${" ".repeat(at)}a:`).join("\n")],
    ["very many keys", Array.from({ length: 87_000 }, (_, at) => `${at.toString(36)}:\n`).join("")],
    ["very many equal keys", "a:\n".repeat(170_000)],
    [
      "very many keys of a flow map",
      `{${Array.from({ length: 80_000 }, (_, at) => `k${at.toString(36)}`).join()}}`,
    ],
    ["very many documents", "---\n".repeat(128 * kib)],
    ["very many aliases", `- &a x\n${"- *a\n".repeat(100_000)}`],
    ["aliases of aliases", `- &a [x]\n- &b [*a,*a,*a]\n- &c [*b,*b,*b]\n`],
    ["very many wrong escapes", `a: "${"\\q".repeat(250_000)}"\n`],
    ["very many line breaks", "\n".repeat(512 * kib)],
  ];
  it.each(hostile)("refuses %s before they cost much", (_name, text) => {
    const took = cpuMsOf(() => expect(errorOf(text).code).toBe("MODULE_INVALID"));
    expect(took).toBeLessThan(2000);
  });
});

function errorOf(text: string): OrchestratorError {
  try {
    parseModule(text);
  } catch (error) {
    if (isOrchestratorError(error)) return error;
    throw error;
  }
  throw new Error("The module was read.");
}

function faultsOf(text: string): readonly Issue[] {
  const error = errorOf(text);
  expect(error.code).toBe("MODULE_INVALID");
  return error.issues;
}

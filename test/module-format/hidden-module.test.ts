/** What is secret in a module is nowhere in what is shown, however it is written; all else is. */
import { describe, expect, it } from "vitest";
import { checkModule } from "fleetwright";
import { finish } from "../../lib/internal/work.ts";
import { hideModule } from "../../lib/module-format/hidden-module.ts";
import { parseModule } from "../../lib/module-format/module-document.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { seededRandom } from "../support/random.ts";

const rounds = 400;

function shown(text: string) {
  const check = checkModule(text);
  if (check.faults.length > 0) throw new Error(`${JSON.stringify(check.faults, null, 1)}\n${text}`);
  const result = finish(hideModule(text, parseModule(text), resourceTypes));
  if (!result) throw new Error("nothing is secret");
  return result;
}

describe("a module with secrets", () => {
  it("of very many parts keeps its form, too, however many slices that takes", () => {
    const resources = Array.from({ length: 900 }, (_, n) =>
      n % 3 === 0
        ? `  - type: file # noted\n    path: /open/${n}\n    content: plain ${n}\n`
        : `  - type: file\n    sensitive: true\n    path: /closed/${n} # HUNTER2\n    content: |\n      HUNTER2\n      ${n}\n`,
    ).join("");
    const { content } = shown(`name: many # HUNTER2\nresources:\n${resources}`);
    expect(content).not.toMatch(/HUNTER2|noted/);
    const lines = content.split("\n").map((line) => line.trimEnd());
    expect(lines.slice(0, 6)).toEqual([
      "name: many",
      "resources:",
      "  - type: file",
      "    path: /open/0",
      "    content: plain 0",
      '  - {"type":"file","sensitive":true,"path":"/closed/1","content":"(sensitive)"}',
    ]);
    expect(lines.filter((line) => line.includes("plain"))).toHaveLength(300);
    expect(lines.filter((line) => line.includes("(sensitive)"))).toHaveLength(600);
  });

  it("shows no condition that compares a secret param, be its resource open, nor a default that there is not", () => {
    const text = `name: web
params:
  mode: { type: string, sensitive: true }
  open: { type: string, default: plain }
resources:
  - { type: directory, path: /one, when: param.mode = HUNTER2 }
  - { type: directory, path: /two, when: param.open = plain }
  - { type: directory, path: /three, when: param.open = plain and not param.mode = HUNTER2 }
`;
    const result = shown(text);
    expect(JSON.stringify(result)).not.toContain("HUNTER2");
    const hidden = "(sensitive)";
    expect(result.params["mode"]).toEqual({ type: "string", sensitive: true });
    expect(result.content).toBe(`name: web
params:
  mode: {"type":"string","sensitive":true}
  open: { type: string, default: plain }
resources:
  - {"type":"directory","path":"/one","when":"${hidden}"}
  - { type: directory, path: /two, when: param.open = plain }
  - {"type":"directory","path":"/three","when":"${hidden}"}
`);
  });

  it("shows one line in the place of each secret resource, no comment, and everything else as it is written", () => {
    const text = `# ours
name: web # the site
params:
  password: { type: string, sensitive: true, default: hunter2, enum: [hunter2, hunter3], description: of the database }
  port: { type: integer, default: 80 } # the usual
resources:
  - { type: directory, path: /etc/web } # was hunter9
  # was hunter1 before
  - id: key
    type: file # hunter4
    path: /etc/web/key
    sensitive: true
    requires: ["directory:/etc/web"]
    content: |
      hunter5
        hunter6
    # hunter7
  - { id: conf, type: file, path: /etc/web/conf, content: "password {{ params.password }} hunter8" }
  # the end
  - { id: plain, type: file, path: /etc/web/plain, content: "port {{ params.port }}" }
`;
    const { content, params, outline } = shown(text);
    expect(content).toBe(`
name: web
params:
  password: {"type":"string","sensitive":true,"description":"of the database","default":"(sensitive)"}
  port: { type: integer, default: 80 }
resources:
  - { type: directory, path: /etc/web }

  - {"id":"key","type":"file","sensitive":true,"requires":["directory:/etc/web"],"path":"/etc/web/key","content":"(sensitive)"}
  - {"id":"conf","type":"file","path":"/etc/web/conf","content":"(sensitive)"}
  
  - { id: plain, type: file, path: /etc/web/plain, content: "port {{ params.port }}" }
`);
    expect(params["password"]).toEqual({
      type: "string",
      sensitive: true,
      description: "of the database",
      default: "(sensitive)",
    });
    expect(outline.map(({ identity }) => identity)).toContain("/etc/web/key");
  });

  it("hides the values of a param that goes into a sensitive resource", () => {
    const { content, params } = shown(`name: web
params:
  token: { type: string, default: hunter2 }
  all: { type: object, default: { a: hunter3 } }
resources:
  - { id: a, type: file, path: /a, sensitive: true, content: "{{ params.token }} {{ params['all'] | json }}" }
`);
    expect(content + JSON.stringify(params)).not.toContain("hunter");
  });

  it("names a resource by its id where what it is about quotes a value", () => {
    const text = (line: string) => `name: web
params: { token: { type: string, sensitive: true } }
resources:
  - { id: a, type: line, path: /a, sensitive: true, line: "${line}" }
`;
    for (const line of ["hunter2", "hunter2 {{ params.token }}", "hunter2 {{ attributes.x }}"]) {
      const { content, outline } = shown(text(line));
      expect(content + JSON.stringify(outline)).not.toContain("hunter");
      expect(outline[0]?.identity).toBe("web/a");
    }
  });

  it("is as it is where nothing is secret", () => {
    const text = "name: web\nresources:\n  - { type: file, path: /a, content: b, sensitive: false }\n";
    expect(finish(hideModule(text, parseModule(text), resourceTypes))).toBeNull();
  });

  it("never shows a secret, whatever the style and the place", () => {
    const random = seededRandom(7);
    for (let round = 0; round < rounds; round += 1) {
      const { text, secrets, open } = makeModule(random);
      const { content, params, outline } = shown(text);
      const all = content + JSON.stringify({ params, outline });
      for (const secret of secrets) expect(all, text).not.toContain(secret);
      for (const value of open) expect(content, text).toContain(value);
      expect(() => JSON.parse(content)).toThrow();
    }
  });
});

/** A module in random styles: secrets in values, lists, maps, templates and keys of what is sensitive, and in comments anywhere. */
function makeModule(random: () => number) {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const secrets: string[] = [];
  const open: string[] = [];
  const word = (into: string[]): string => {
    const made = `${into === secrets ? "s" : "o"}${Math.floor(random() * 2 ** 40).toString(36)}x${into.length}`;
    into.push(made);
    return made;
  };
  /** A text as YAML at an indent of six, with what follows the colon. */
  const scalar = (into: string[]): string => {
    const [a, b] = [word(into), word(into)];
    return pick([
      () => ` ${a}${b}`,
      () => ` ${a}: ${b}`.replace(":", "-"),
      () => ` '${a} ''${b}'`,
      () => ` "${a}\\t\\u00e9 # ${b}"`,
      () => ` "${a}\n\n        ${b}"`,
      () => ` |\n        ${a}\n\n          ${b}`,
      () => ` |-\n        ${a} # ${b}\n`,
      () => ` |2+\n        ${a}\n        ${b}\n\n`,
      () => ` >\n        ${a}\n        ${b}`,
      () => ` ${a}\n        ${b}`,
      () => ` "${a} {{ params.plain | append: '${b}' }} {% if params.on %}${a}{% endif %}"`,
      () => ` |\n        {% comment %}${a}{% endcomment %}\n        {{ params.list | join: '${b}' }}`,
    ])();
  };
  const comment = (): string => (random() < 0.3 ? ` # ${word(secrets)}` : "");
  const bodies = (at: number, into: string[]) => [
    () => ["type: file", `path: /f${at}`, `content:${scalar(into)}`],
    () => ["type: script", 'check: "true"', `run:${scalar(into)}`, environment(into)],
    () => ["type: script", "creates: /x", `run: "${word(into)}"`, `cwd: '/${word(into)}'`],
    () => ["type: line", `path: /l${at}`, `line: ${word(into)}`],
  ];
  /** A map, whose keys are as secret as its values. */
  const environment = (into: string[]): string =>
    pick([
      () => `environment:\n        ${word(into)}:${scalar(into).replaceAll("\n", "\n  ")}`,
      () => `environment: { ${word(into)}: ${word(into)}, "${word(into)}": '' }`,
    ])();
  const resource = (at: number): string => {
    const how = pick(["open", "own", "param"]);
    const into = how === "open" ? open : secrets;
    const lines = {
      open: () => pick(bodies(at, into))(),
      own: () => ["sensitive: true", ...pick(bodies(at, into))()],
      param: () => ["type: script", "creates: /x", 'run: "x {{ params.secret }}"', environment(into)],
    }[how as "open"]();
    const body = lines.map((line) => `      ${line}${/[|>"'{]|\n/.test(line) ? "" : comment()}\n`).join("");
    const isNoted = how !== "open" && random() < 0.3;
    return isNoted ? `    - # ${word(secrets)}\n      id: r${at}\n${body}` : `    - id: r${at}\n${body}`;
  };
  const count = 1 + Math.floor(random() * 5);
  const resources = Array.from({ length: count }, (_, at) => resource(at)).join("");
  const secret = pick([
    () => `{ type: string, sensitive: true, default: ${word(secrets)} }`,
    () =>
      `# ${word(secrets)}\n    type: string\n    sensitive: true\n    default:${scalar(secrets).replaceAll(/\{[{%].*[%}]\}/g, "")}\n    # ${word(secrets)}`,
    () => `{ type: string, sensitive: true, enum: ["${word(secrets)}"] }`,
  ])();
  const text = `name: web # ${word(secrets)}
params:
  plain: { type: string, default: "" }
  on: { type: boolean, default: true }
  list: { type: array, default: [] }
  secret: ${secret}
resources:
${resources}`;
  return { text, secrets, open: open.filter((value) => text.includes(value)) };
}

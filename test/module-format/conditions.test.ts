/** The `when` of a resource: what is refused at the upload, and what of it is shown to whom. */
import { describe, expect, it } from "vitest";
import { checkModule } from "fleetwright";
import { finish, WorkBudget } from "../../lib/internal/work.ts";
import { findSkipped } from "../../lib/module-format/conditions.ts";
import { hideModule } from "../../lib/module-format/hidden-module.ts";
import { parseModule } from "../../lib/module-format/module-document.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";

const target = {
  node_id: "a1",
  name: "one",
  tags: { role: "db", token: "shown", name: "alias", note: `a "b"\n${"x".repeat(300)}` },
  attributes: { "os.family": "debian" },
};

function moduleOf(when: string, more = ""): string {
  return `name: web
params:
  tls: { type: boolean, default: false }
  port: { type: integer, default: 80 }
  list: { type: array, default: [] }
  map: { type: object, default: {} }
  token: { type: string, default: HUNTER2, sensitive: true }
  part: { type: string, default: HUNTER3 }
  word: { type: string, default: said }
resources:
  - { id: secret, type: file, path: /secret, sensitive: true, content: "{{ params.part }}" }
  - id: a
    type: directory
    path: /a
    when: ${JSON.stringify(when)}${more}
`;
}

function reasonOf(when: string, given = {}): string | null {
  const content = parseModule(moduleOf(when));
  return finish(findSkipped(content, { target, given }, new WorkBudget()))[1]!;
}

describe("a condition", () => {
  it.each([
    ["params.tls = true", /unknown prefix "params\."/],
    ["role=web, attrs.os=x", /column 11: unknown prefix "attrs\."/],
    ["param.tsl = true", "param.tsl is not there: the module declares no such param."],
    ["param.constructor = true", "param.constructor is not there: the module declares no such param."],
    ["role or not param.tls", "param.tls always has a value: compare it with one, such as param.tls = true."],
    ["param.list = x", "param.list is a list, which can't be compared."],
    ["param.map =~ x", "param.map is a map, which can't be compared."],
  ])("%s is a fault at the upload, with line and column", (when, message) => {
    const { faults } = checkModule(moduleOf(when));
    expect(faults).toEqual([
      {
        path: ["resources", 1, "when"],
        message: typeof message === "string" ? message : expect.stringMatching(message),
        line: 15,
        column: 11,
      },
    ]);
  });

  it("tells each unknown param once, and nothing of those whose own fault is told", () => {
    const twice = checkModule(moduleOf("param.a=1 or param.a=2 or param.b=1")).faults;
    expect(twice.map(({ message }) => message.split(" ")[0])).toEqual(["param.a", "param.b"]);
    const broken = checkModule(moduleOf("param.port = 1").replace("integer", "intger")).faults;
    expect(broken.map(({ line }) => line)).toEqual([4]);
  });

  it.each([
    ["param.tls = true", {}, 'when: "param.tls = true": param.tls is false'],
    ["param.port > 100", {}, 'when: "param.port > 100": param.port is 80'],
    ["param.port > 100", { port: 443 }, null],
    ["param.tls = true", { tls: true }, null],
    ["role=web or missing", {}, 'when: "role=web or missing": role is db, missing is not set'],
    ["role='a b'", {}, `when: "role='a b'": role is db`],
    ["note=x", {}, `when: "note=x": note is ${JSON.stringify(`a "b"\n${"x".repeat(194)}...`)}`],
    ["param.word = other", {}, 'when: "param.word = other": param.word is said'],
    ["param.word = said", {}, null],
    ["token = other", {}, 'when: "token = other": token is shown'],
    [
      'name=two or "name"=two',
      {},
      `when: ${JSON.stringify('name=two or "name"=two')}: name is one, "name" is alias`,
    ],
    ["name=two,attr.os.family=debian", {}, 'when: "name=two,attr.os.family=debian": name is one'],
  ])("%s with %j says why it does not hold: %s", (when, given, reason) => {
    expect(reasonOf(when, given)).toBe(reason);
  });

  it("of any size says so in a message that fits into a result", () => {
    const terms = Array.from({ length: 120 }, (_, at) => `key${at}=${"y".repeat(20)}`).join(" or ");
    const reason = reasonOf(terms)!;
    expect(reason.length).toBeLessThan(4096);
    expect(reason).toMatch(/\.\.\.": key0 is not set, .*, and 112 more$/);
  });

  it.each(["param.token = HUNTER2", "param.part = HUNTER3", "role, param.part = HUNTER3"])(
    "that looks at a secret shows neither that nor what it is compared with: %s",
    (when) => {
      expect(reasonOf(when, { token: "HUNTER4", part: "HUNTER5" })).toBe(
        `when: "(sensitive)": param.${when.includes("token") ? "token" : "part"} is (sensitive)`,
      );
      for (const more of ["", "\n    sensitive: true"]) {
        const text = moduleOf(when, more);
        const { content } = finish(hideModule(text, parseModule(text), resourceTypes))!;
        expect(content).not.toContain("HUNTER");
        expect(content).toContain('"when":"(sensitive)"');
      }
    },
  );

  it("that looks at no secret stays readable beside one", () => {
    const text = moduleOf("param.tls = true");
    expect(finish(hideModule(text, parseModule(text), resourceTypes))!.content).toContain(
      'when: "param.tls = true"',
    );
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOrchestratorError } from "../../lib/errors.ts";
import { findDeciders, holds, matchesNobody, paramTerms, withParams } from "../../lib/selectors/condition.ts";
import { matchesSelector } from "../../lib/selectors/match.ts";
import { parseCondition, parseSelector } from "../../lib/selectors/parse.ts";
import { printSelector } from "../../lib/selectors/print.ts";
import { anySelector, anyTarget } from "../support/selectors.ts";

const values: Record<string, string> = { tls: "false", port: "8080", zone: "" };
const params = (name: string): string | undefined => values[name];
const target = { node_id: "a1", name: null, tags: { role: "db" }, attributes: { "os.family": "debian" } };

function faultOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (isOrchestratorError(error, "SELECTOR_INVALID")) return error.message;
  }
  throw new Error("it was accepted");
}

describe("a condition", () => {
  it.each([
    ["param.tls = true", "!*"],
    ["param.tls = false", "*"],
    ["!param.tls=true", "*"],
    ["param.port > 1024, role=web", "role=web"],
    ["param.port in (80,443) or role=web", "role=web"],
    ["param.tls=true or param.port=8080", "*"],
    ["param.tls=true,role=web", "!*"],
    ["not (param.zone = '' and attr.os.family)", "!attr.os.family"],
    ["(a, param.tls=false), (b or c)", "a,(b or c)"],
  ])("%s is, with the values of its params, the selector %s", (text, selector) => {
    expect(printSelector(withParams(parseCondition(text), params))).toBe(selector);
  });

  it("prints so that it is read back", () => {
    const text = 'param.tls=true,"param.tls"=x,"os.family",attr.os.family';
    expect(parseCondition(text)).toEqual(parseCondition(text.replace('"os.family"', "'os.family'")));
    expect(printSelector(parseCondition(text))).toBe('param.tls=true,"param.tls"=x,os.family,attr.os.family');
  });

  it("without params is the selector that it says, on any agent", () => {
    fc.assert(
      fc.property(anySelector, anyTarget, (selector, agent) => {
        expect(holds(selector, agent, params)).toBe(matchesSelector(selector, agent));
        const left = withParams(selector, params);
        expect(matchesSelector(left, agent)).toBe(matchesSelector(selector, agent));
        if (matchesNobody(left)) expect(matchesSelector(selector, agent)).toBe(false);
      }),
    );
  });

  it.each([
    ["param.tls = true", ["param.tls"]],
    ["role=db, param.tls=true, role=web", ["param.tls"]],
    ["role=web or param.tls=true", ["role", "param.tls"]],
    ["!(role=db, attr.os.family=debian)", ["role", "os.family"]],
    ["!(role=db or attr.os.family=debian)", ["role"]],
    ["missing", ["missing"]],
    ["!*", []],
  ])("%s does not hold because of %j", (text, keys) => {
    const condition = parseCondition(text);
    expect(holds(condition, target, params)).toBe(false);
    const told = findDeciders(condition, target, params).map(({ key }) =>
      key.source === "param" ? `param.${key.name}` : key.name,
    );
    expect(told).toEqual(keys);
  });

  it("tells what an agent and the params have where it is decided", () => {
    const condition = parseCondition("!(role=db, attr.os.family=debian, param.port=8080, !missing)");
    expect(holds(condition, target, params)).toBe(false);
    expect(findDeciders(condition, target, params).map(({ value }) => value)).toEqual([
      "db",
      "debian",
      "8080",
      undefined,
    ]);
  });

  it("tells its terms of params, wherever they stand", () => {
    const condition = parseCondition("a, (!param.tls=true or attr.x), * or param.port in (1,2), node_id");
    expect(paramTerms(condition).map(({ key }) => key.name)).toEqual(["tls", "port"]);
  });

  it("is decided by keys: an agent and params that have the same there decide the same", () => {
    fc.assert(
      fc.property(anySelector, anyTarget, anyTarget, (selector, agent, other) => {
        const result = holds(selector, agent, params);
        const deciders = findDeciders(selector, agent, params);
        const tags = { ...other.tags };
        const attributes: Record<string, string | number | boolean> = { ...other.attributes };
        const like = { ...other, tags, attributes };
        for (const { key } of deciders) {
          if (key.source === "name") like.name = agent.name;
          if (key.source === "node_id") like.node_id = agent.node_id;
          if (key.source === "tag") copy(agent.tags, tags, key.name);
          if (key.source === "attribute") copy(agent.attributes, attributes, key.name);
        }
        expect(holds(selector, like, params)).toBe(result);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["params.tls = true", 'unknown prefix "params."'],
    ["role=web, attrs.os=linux", 'column 11: unknown prefix "attrs."'],
    ["os.family=linux", 'unknown prefix "os."'],
    ["tag.role", 'unknown prefix "tag."'],
    ["param.=1", '"param." is not a key'],
    ["param.a.b=1", '"param.a.b" is not a key'],
  ])("that says %s is refused", (text, message) => {
    expect(faultOf(() => parseCondition(text))).toContain(message);
  });

  it("takes what is quoted, and what has the form of a domain and a name, for a tag", () => {
    for (const text of ['"os.family"=linux', "app.kubernetes.io/name=x", "'param.tls'"])
      expect(parseCondition(text)).toMatchObject({ key: { source: "tag" } });
  });
});

function copy<T>(from: Readonly<Record<string, T>>, to: Record<string, T>, name: string): void {
  if (Object.hasOwn(from, name)) to[name] = from[name]!;
  else delete to[name];
}

describe("a selector of agents", () => {
  it("refuses a param and says who knows it", () => {
    expect(faultOf(() => parseSelector("role=web,param.tls=true"))).toBe(
      'The selector can\'t be read at column 10: "param.tls": an agent has no params, only the "when" of a resource knows them; quote it to mean a tag',
    );
    expect(printSelector(parseSelector("'param.tls'=x"))).toBe('"param.tls"=x');
  });
});

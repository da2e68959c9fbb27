import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { readText, repository, sourceFiles, type Import, type SourceFile } from "./source-tree.ts";

type Pattern = string | string[] | undefined;

/** The part of dependency-cruiser's rule format that our table uses. */
interface Rule {
  name: string;
  comment: string;
  from: { path?: Pattern; pathNot?: Pattern };
  to: {
    path?: Pattern;
    pathNot?: Pattern;
    dependencyTypes?: string[];
    dependencyTypesNot?: string[];
    circular?: boolean;
  };
}

const configUrl = pathToFileURL(join(repository, ".dependency-cruiser.mjs")).href;
const { default: config } = (await import(/* @vite-ignore */ configUrl)) as {
  default: { forbidden: Rule[] };
};
const rules = config.forbidden;
const files = sourceFiles("lib", "adapters", "examples");
const manifest = JSON.parse(readText("package.json") ?? "{}") as { devDependencies: Record<string, string> };

describe("what may import what", () => {
  const importRules = rules.filter((rule) => !rule.to.circular);

  it.each(importRules.map((rule) => [rule.name, rule] as const))("%s", (_name, rule) => {
    const broken = files
      .filter((file) => matchesFrom(rule, file))
      .flatMap((file) =>
        file.imports.filter((each) => matchesTo(rule, each)).map((each) => describeImport(file, each)),
      );
    expect(broken, rule.comment).toEqual([]);
  });

  it("gives a reason for every rule", () => {
    expect(rules.filter((rule) => !/^[A-Z].{20,}\.$/.test(rule.comment)).map((rule) => rule.name)).toEqual(
      [],
    );
  });

  it("names no file that is not there", () => {
    const named = rules.flatMap((rule) =>
      [rule.from, rule.to].flatMap(({ path, pathNot }) => [path, pathNot].flat()),
    );
    const paths = new Set(named.flatMap((pattern) => literalFiles(pattern ?? "")));
    expect(paths).toContain("lib/storage/storage.ts");
    expect([...paths].filter((path) => isExpected(path) && readText(path) === null)).toEqual([]);
  });

  it("names every rule once", () => {
    expect(new Set(rules.map((rule) => rule.name)).size).toBe(rules.length);
  });

  it("has no import in a circle", () => {
    expect(findCircle(files)).toEqual([]);
  });
});

describe("the folders of lib", () => {
  it("are all known to the table of features or to the ports, so that no folder escapes the rules", () => {
    const features = rules
      .filter((rule) => rule.name.endsWith("-knows-only-what-is-below"))
      .map((rule) => rule.name.replace("-knows-only-what-is-below", ""));
    const rest =
      "callers cluster contents error-guide feed fleet-folder module-format secret-format upkeep selectors schedules storage transport wire state host native crypto agent testing internal".split(
        " ",
      );
    const known = new Set([...features, ...rest]);
    const folders = new Set(files.flatMap((file) => /^lib\/([^/]+)\//.exec(file.path)?.[1] ?? []));
    expect([...folders].filter((folder) => !known.has(folder))).toEqual([]);
  });
});

describe("the check itself", () => {
  const local: Import = { specifier: "", target: "lib/drift/drift.ts", kind: "local", typeOnly: true };

  it("finds what a rule forbids", () => {
    expect(matchesTo(ruleTo({ path: "^lib/drift/" }), local)).toBe(true);
    expect(matchesTo(ruleTo({ path: "^lib/drift/", pathNot: "drift\\.ts$" }), local)).toBe(false);
    expect(matchesTo(ruleTo({ path: "^lib/", dependencyTypesNot: ["type-only"] }), local)).toBe(false);
    expect(matchesTo(ruleTo({ dependencyTypes: ["core"] }), local)).toBe(false);
    expect(matchesTo(ruleTo({ dependencyTypes: ["core"] }), { ...local, target: "fs", kind: "core" })).toBe(
      true,
    );
  });

  it("finds a circle", () => {
    const toB = { path: "a.ts", imports: [{ ...local, target: "b.ts" }] };
    const toA = { path: "b.ts", imports: [{ ...local, target: "a.ts" }] };
    expect(findCircle([toB, toA])).toEqual(["a.ts", "b.ts", "a.ts"]);
  });
});

function ruleTo(to: Rule["to"]): Rule {
  return { name: "example", comment: "", from: {}, to };
}

function matches(pattern: Pattern, text: string): boolean {
  return pattern !== undefined && [pattern].flat().some((each) => new RegExp(each).test(text));
}

function matchesFrom(rule: Rule, file: SourceFile): boolean {
  const { path, pathNot } = rule.from;
  return (path === undefined || matches(path, file.path)) && !matches(pathNot, file.path);
}

function matchesTo(rule: Rule, each: Import): boolean {
  const { path, pathNot, dependencyTypes, dependencyTypesNot } = rule.to;
  const types = typesOf(each);
  if (path !== undefined && !matches(path, each.target)) return false;
  if (matches(pathNot, each.target)) return false;
  if (dependencyTypes && !dependencyTypes.some((type) => types.includes(type))) return false;
  return !dependencyTypesNot?.some((type) => types.includes(type));
}

function typesOf(each: Import): string[] {
  const types: string[] = [each.kind === "package" ? "npm" : each.kind];
  const name = each.target.replace(/^node_modules\/|\/$/g, "");
  if (each.kind === "package" && name in manifest.devDependencies) types.push("npm-dev");
  if (each.typeOnly) types.push("type-only");
  return types;
}

/** The files that a pattern names letter by letter, each of its alternatives by itself. */
function literalFiles(pattern: string): string[] {
  const group = /\(([^()]*)\)/.exec(pattern);
  if (group) {
    return (group[1] ?? "").split("|").flatMap((each) => literalFiles(pattern.replace(group[0], each)));
  }
  return pattern
    .split("|")
    .flatMap((each) => /^\^([\w/-]+)\\\.ts\$?$/.exec(each)?.[1] ?? [])
    .map((path) => `${path}.ts`);
}

/** A file is expected once its folder is there. Public entries are the packaging's concern, schemas each feature's own. */
function isExpected(path: string): boolean {
  return !/\/(index|schemas)\.ts$/.test(path) && existsSync(join(repository, dirname(path)));
}

function describeImport(file: SourceFile, each: Import): string {
  return `${file.path} imports ${each.specifier}`;
}

/** The first circle of imports found, as paths, the first repeated at the end; empty where there is none. */
function findCircle(all: Pick<SourceFile, "path" | "imports">[]): string[] {
  const byPath = new Map(all.map((file) => [file.path, file]));
  const done = new Set<string>();
  const walk = (path: string, trail: string[]): string[] => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return [];
    for (const each of byPath.get(path)?.imports ?? []) {
      const circle = walk(each.target, [...trail, path]);
      if (circle.length > 0) return circle;
    }
    done.add(path);
    return [];
  };
  return all.map((file) => walk(file.path, [])).find((circle) => circle.length > 0) ?? [];
}

import ts from "typescript";
import { describe, expect, it } from "vitest";
import { listFiles, positionOf, readText, sourceFiles, visit, type SourceFile } from "./source-tree.ts";

/** Globals that lib is given instead of taking, the reason, and the files that hand them out. */
const ambient = [
  {
    pattern: /^process\.env\b/,
    reason: "Settings come in through options; only an adapter knows that there is an environment.",
    allowed: /^$/,
  },
  {
    pattern: /^console\./,
    reason: "What is worth saying goes to the injected logger; an embedding program owns its output.",
    allowed: /^$/,
  },
  {
    pattern:
      /^(Date\.now|performance\.now|new Date\(\)|(globalThis\.)?set(Timeout|Interval))\b|^new Date\(\)$/,
    reason: "Time is injected, so that a test can run years in a second. The real machine has the real time.",
    allowed: /^lib\/(clock\.ts$|host\/local-|storage\/file\/disk\.ts$)/,
  },
  {
    pattern: /^(Math\.random|(globalThis\.)?crypto\.(randomUUID|getRandomValues))\b/,
    reason: "Chance is injected, so that a seed can replay a failure.",
    allowed: /^lib\/crypto\/node-crypto\.ts$/,
  },
];

const lib = sourceFiles("lib");

describe("what lib takes from its surroundings", () => {
  it.each(ambient)("is not $pattern", ({ pattern, reason, allowed }) => {
    const used = lib.filter((file) => !allowed.test(file.path)).flatMap((file) => expressions(file, pattern));
    expect(used, reason).toEqual([]);
  });

  it("is found where it is allowed, so the check can see it", () => {
    const clock = lib.filter((file) => file.path === "lib/clock.ts");
    expect(clock.flatMap((file) => expressions(file, /^(Date\.now|setTimeout)\b/))).toHaveLength(2);
  });
});

describe("the words of the sources", () => {
  // Spelt in two parts so that this file does not find itself.
  const unfinished = new RegExp(`\\b(TO${"DO"}|FIX${"ME"}|X${"XX"})\\b`);
  const code = ["lib", "adapters", "examples", "test"]
    .flatMap(listFiles)
    .filter((path) => /\.(ts|css|html)$/.test(path));

  it("leave nothing for later", () => {
    expect(code.filter((path) => unfinished.test(readText(path) ?? ""))).toEqual([]);
  });

  it("ask what an error is in the way that also knows one of another copy of the package", () => {
    const byClass = /\binstanceof\s+(?:\w+\.)?OrchestratorError\b/;
    const found = code.filter((path) => path !== "lib/errors.ts" && byClass.test(readText(path) ?? ""));
    expect(found, "isOrchestratorError(error) does.").toEqual([]);
    expect(byClass.test(`error instance${"of"} OrchestratorError`)).toBe(true);
  });

  it("switch no check off without a reason", () => {
    const silenced = /@ts-(ignore|nocheck)|(eslint|oxlint)-disable(?!.* -- \S)/;
    const others = code.filter((path) => path !== "test/architecture/words.test.ts");
    expect(others.filter((path) => silenced.test(readText(path) ?? ""))).toEqual([]);
  });

  it("write what stands for a secret in one place", () => {
    const written = lib.flatMap((file) => literals(file, "(sensitive)"));
    expect(written, "lib/state/result.ts has it.").toEqual([
      expect.stringMatching(/^lib\/state\/result\.ts:/),
    ]);
  });

  it("name files in kebab-case", () => {
    const odd = code.filter(
      (path) => !/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(path.slice(path.lastIndexOf("/") + 1)),
    );
    expect(odd).toEqual([]);
  });

  it("use index.ts for public entries and the list of resource types only", () => {
    const barrels = sourceFiles("lib").filter((file) => file.path.endsWith("/index.ts"));
    const allowed = [
      "lib/index.ts",
      "lib/agent/index.ts",
      "lib/testing/index.ts",
      "lib/state/resources/index.ts",
    ];
    expect(barrels.map((file) => file.path).filter((path) => !allowed.includes(path))).toEqual([]);
  });

  it("use no name that says nothing", () => {
    const empty = /^(I[A-Z][a-z]|Abstract)|(Manager|Helper|Helpers|Utils?)$/;
    const named = lib.flatMap((file) => declarations(file).filter((name) => empty.test(name)));
    expect(named).toEqual([]);
  });
});

/** Places where an expression that begins with the pattern is written, as "file:line text". */
function expressions(file: SourceFile, pattern: RegExp): string[] {
  const found: string[] = [];
  visit(file, (node) => {
    const isUse =
      ts.isPropertyAccessExpression(node) ||
      ts.isNewExpression(node) ||
      (ts.isCallExpression(node) && ts.isIdentifier(node.expression));
    if (isUse && pattern.test(node.getText(file.syntax))) {
      found.push(`${positionOf(file, node)} ${node.getText(file.syntax).slice(0, 40)}`);
    }
  });
  return found;
}

/** Places where a text is written as a whole, as "file:line". */
function literals(file: SourceFile, text: string): string[] {
  const found: string[] = [];
  visit(file, (node) => {
    if (ts.isStringLiteralLike(node) && node.text === text) found.push(positionOf(file, node));
  });
  return found;
}

/** Names of the classes, interfaces and types that a file declares. */
function declarations(file: SourceFile): string[] {
  const names: string[] = [];
  visit(file, (node) => {
    const isNamed =
      ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
    if (isNamed && node.name) names.push(node.name.text);
  });
  return names;
}

import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { errorTable } from "../../lib/errors.ts";
import { renderErrorDocs } from "./error-docs.ts";
import { publicMembers } from "./public-members.ts";
import { renderSettingDocs } from "./setting-docs.ts";
import { listFiles, readText, repository, sourceFiles, visit } from "./source-tree.ts";

/** Where the source of a list is not there yet, its documentation must not be either: nothing is promised ahead. */
describe("the documentation agrees with the code", () => {
  it("on error codes: docs/errors.md is written from the table and what explains it", async () => {
    await expect(renderErrorDocs()).toMatchFileSnapshot("../../docs/errors.md");
  });

  it("on settings: the table of docs/configuration.md is written from theirs", async () => {
    await expect(renderSettingDocs()).resolves.toMatchFileSnapshot("../../docs/configuration.md");
  });

  it("on events: each has one section in docs/events.md", async () => {
    const events = await load("lib/events.ts");
    const table = (events["eventTable"] ?? {}) as Record<string, unknown>;
    expect(sections("docs/events.md").toSorted()).toEqual(Object.keys(table).toSorted());
  });

  it("on events: each section says the category, the severity and whether it is audited", async () => {
    const events = await load("lib/events.ts");
    const table = (events["eventTable"] ?? {}) as Record<string, EventDefinition>;
    for (const [name, { category, severity, audited }] of Object.entries(table)) {
      const says = `Category ${category}, severity ${severity}, ${audited ? "audited" : "not audited"}.`;
      expect(sectionText("docs/events.md", name)).toContain(says);
    }
  });

  it("on folders: docs/architecture.md has a row for each of lib and adapters", () => {
    const folders = ["lib", "adapters"].flatMap((top) =>
      readdirSync(join(repository, top), { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() ? [`${top}/${entry.name}`] : [],
      ),
    );
    const page = readText("docs/architecture.md") ?? "";
    const rows = [...page.matchAll(/^\| `((?:lib|adapters)\/[a-z0-9-]+)`/gm)].map(([, folder]) => folder);
    expect(rows.toSorted()).toEqual(folders.toSorted());
  });

  it("on the ladder of features: docs/architecture.md says who knows whom as the rules do", async () => {
    const { features } = await load(".dependency-cruiser.mjs");
    const page = readText("docs/architecture.md") ?? "";
    const told = new Map(
      [...page.matchAll(/^\| `([a-z-]+)` +\| ((?:`[a-z-]+` ?)+) *\|$/gm)].map(([, name, known]) => [
        name,
        known!.match(/[a-z-]+/g)!.toSorted(),
      ]),
    );
    const exists = (name: string): boolean => existsSync(join(repository, "lib", name));
    const rules = Object.entries(features as Record<string, string[]>)
      .filter(([name]) => exists(name))
      .map(([name, known]) => [name, known.filter(exists).toSorted()] as const)
      .filter(([, known]) => known.length > 0);
    expect([...told].toSorted()).toEqual(rules.toSorted());
  });

  it("on resource types: each has a page, a line in docs/resources.md and a test that runs the laws", async () => {
    const types = await loadResourceTypes();
    const files = [...types.keys()].map((type) => type.replaceAll("_", "-")).toSorted();
    const defined = sourceFiles("lib/state/resources").filter((file) =>
      file.text.includes("defineResourceType<"),
    );
    expect(defined.map((file) => basename(file.path, ".ts")).toSorted()).toEqual(files);
    expect(listFiles("docs/resources").toSorted()).toEqual(
      files.map((file) => `docs/resources/${file}.md`).toSorted(),
    );
    expect(
      [...(readText("docs/resources.md") ?? "").matchAll(/\]\(resources\/(.+?)\.md\)/g)].map(
        ([, file]) => file,
      ),
    ).toEqual(files);
    const unproved = files.filter(
      (file) => !readText(`test/state/resources/${file}.test.ts`)?.includes("describeLaws("),
    );
    expect(unproved).toEqual([]);
  });

  it("on properties: the page of a resource type lists exactly those of its schema", async () => {
    for (const [type, { schema }] of await loadResourceTypes()) {
      const { properties } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
      const page = readText(`docs/resources/${type.replaceAll("_", "-")}.md`) ?? "";
      const listed = [...page.matchAll(/^\| `(\w+)`/gm)].map((match) => match[1]);
      expect(listed, type).toEqual(Object.keys(properties ?? {}));
    }
  });

  it("on error codes that docstrings promise: every `@throws` names codes of the table", () => {
    const unknown = sourceFiles("lib", "adapters").flatMap((file) =>
      [...file.text.matchAll(/@throws \{?OrchestratorError\}?([^@]*?)(\n\s*\*\s*(@|\/)|\*\/)/g)]
        .flatMap((match) =>
          [...(match[1] ?? "").matchAll(/`([A-Z][A-Z_]{3,})`/g)].map((code) => code[1] ?? ""),
        )
        .filter((code) => !(code in errorTable))
        .map((code) => `${file.path}: ${code}`),
    );
    expect(unknown).toEqual([]);
  });

  it("on the package: nobody is told to run or install the name from a registry, where it may be somebody else's", () => {
    const texts = [
      ...[...listFiles("docs"), "README.md", "CONTRIBUTING.md"].map((path) => ({
        path,
        text: readText(path) ?? "",
      })),
      ...sourceFiles("lib", "adapters", "examples"),
    ].filter(({ path }) => !path.startsWith("docs/api/"));
    const found = texts.flatMap(({ path, text }) =>
      [
        ...text.matchAll(
          /\bnpx (?!--no-install )[^\n`]*\bfleetwright\b|\bnpm (i|install|add|exec)( -\S+)* fleetwright\b/g,
        ),
      ].map(([what]) => `${path}: ${what}`),
    );
    expect(found).toEqual([]);
  });
});

const entries = [
  "lib/index.ts",
  "lib/option-table.ts",
  "lib/ports.ts",
  "lib/agent/index.ts",
  "lib/testing/index.ts",
];

describe("the public names", () => {
  const names = entries.flatMap((entry) => exportedNames(entry).map((name) => `${entry} ${name}`));

  it("are listed one by one, so that nothing becomes public by accident", () => {
    expect(names.filter((name) => name.endsWith("*"))).toEqual([]);
  });

  it("are those of the record, and a change of it is reviewed by itself", async () => {
    await expect(`${names.join("\n")}\n`).toMatchFileSnapshot("public-names.txt");
  });

  it("are those of the record member by member, with their signatures", async () => {
    const members = entries.flatMap((entry) => {
      const files = sourceFiles("lib").find(({ path }) => path === entry)!.imports;
      const lines = publicMembers(new Set(exportedNames(entry)), new Set(files.map(({ target }) => target)));
      return lines.map((line) => `${entry} ${line}`);
    });
    await expect(`${members.join("\n")}\n`).toMatchFileSnapshot("public-members.txt");
  });
});

async function loadResourceTypes(): Promise<ReadonlyMap<string, { schema: z.ZodType }>> {
  const { resourceTypes } = await load("lib/state/resources/index.ts");
  return resourceTypes as ReadonlyMap<string, { schema: z.ZodType }>;
}

interface EventDefinition {
  category: string;
  severity: string;
  audited: boolean;
}

/** What stands below one title of the second level; empty where there is no such section. */
function sectionText(path: string, title: string): string {
  const all = (readText(path) ?? "").split(/^## /m);
  return all.find((section) => section.startsWith(`${title}\n`)) ?? "";
}

/** Titles of the second level of a guide; none where there is no such guide. */
function sections(path: string): string[] {
  return [...(readText(path) ?? "").matchAll(/^## `?([^`\n]+?)`?$/gm)].map((match) => match[1] ?? "");
}

/** A module's exports; none where there is no such module. */
async function load(path: string): Promise<Record<string, unknown>> {
  if (!existsSync(join(repository, path))) return {};
  return (await import(/* @vite-ignore */ pathToFileURL(join(repository, path)).href)) as Record<
    string,
    unknown
  >;
}

/** Names that a file exports, sorted; `*` where it exports everything of another. */
function exportedNames(path: string): string[] {
  const names: string[] = [];
  const file = sourceFiles(path.slice(0, path.lastIndexOf("/"))).find((each) => each.path === path);
  if (!file) return names;
  visit(file, (node) => {
    if (ts.isExportDeclaration(node)) names.push(...namesOf(node, path));
    const isExported =
      ts.canHaveModifiers(node) &&
      ts.getModifiers(node)?.some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword);
    if (isExported && "name" in node && node.name) names.push((node.name as ts.Node).getText(file.syntax));
  });
  return names.toSorted();
}

/** Names that one `export ... from` adds; those inside `export * as name` follow as `name.inner`. */
function namesOf(node: ts.ExportDeclaration, path: string): string[] {
  const clause = node.exportClause;
  if (clause && ts.isNamedExports(clause)) return clause.elements.map((element) => element.name.text);
  if (!clause && entries.includes(path)) return ["*"];
  const target =
    node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier) ? node.moduleSpecifier.text : "";
  const inner = exportedNames(join(path, "..", target));
  return clause ? [clause.name.text, ...inner.map((name) => `${clause.name.text}.${name}`)] : inner;
}

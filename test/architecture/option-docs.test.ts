import ts from "typescript";
import { describe, expect, it } from "vitest";
import type { OptionRow } from "fleetwright/options";
import { orchestratorOptions, orchestratorOptionTable } from "./option-tables.ts";
import { type DocumentedOptions, optionInterfaces } from "./option-tables.ts";
import { sourceFiles, visit } from "./source-tree.ts";

describe("the documentation of options in the sources agrees with their tables", () => {
  it.each(Object.entries(orchestratorOptionTable))("word by word, of the orchestrator: %s", (name, row) => {
    const { text, rule, note } = row as typeof row & { note?: string };
    const range = rule.range === "" ? "" : `, ${rule.range}`;
    expect(docsOf("lib/options.ts", "OrchestratorOptions").get(name)).toBe(
      [`${text}${range}.`, ...(note === undefined ? [] : [note]), `Default ${defaultOf(row)}.`].join(" "),
    );
  });

  it.each(optionInterfaces)("$file $name", ({ file, name, table, bases }: DocumentedOptions) => {
    const own = docsOf(file, name);
    expect([...own.keys()].filter((option) => !(option in table))).toEqual([]);
    const docs = new Map([...bases.flatMap(([path, base]) => [...docsOf(path, base)]), ...own]);
    expect(Object.keys(table).filter((option) => !docs.has(option))).toEqual([]);
    const faults = Object.entries(table).flatMap(([option, row]) => {
      const { rule, isRequired } = row;
      const says = docs.get(option) ?? "";
      const hasDefault = isRequired !== true && (row.default !== undefined || row.defaultText !== undefined);
      const expected = [
        ...(rule.range === "" ? [] : [rule.range]),
        ...(hasDefault ? [`Default ${defaultOf(row)}.`] : []),
      ];
      return expected.filter((part) => !says.includes(part)).map((part) => `${option}: ${part}`);
    });
    expect(faults).toEqual([]);
  });

  it("of every option that has a table, the orchestrator's among them", () => {
    expect(optionInterfaces.map(({ table }) => table)).toContain(orchestratorOptions);
  });
});

/** The default as the documentation writes it. */
function defaultOf(row: OptionRow): string {
  const { default: value, defaultText } = row;
  if (defaultText !== undefined) return defaultText;
  return typeof value === "number" ? value.toLocaleString("en-US") : JSON.stringify(value);
}

/** What stands above each member of an interface, on one line. */
function docsOf(path: string, name: string): ReadonlyMap<string, string> {
  const file = sourceFiles(path.slice(0, path.lastIndexOf("/"))).find((each) => each.path === path)!;
  const docs = new Map<string, string>();
  visit(file, (node) => {
    if (!ts.isInterfaceDeclaration(node) || node.name.text !== name) return;
    for (const member of node.members) {
      const [doc] = ts.getJSDocCommentsAndTags(member).filter(ts.isJSDoc);
      const said = ts.getTextOfJSDocComment(doc?.comment) ?? "";
      docs.set(member.name!.getText(file.syntax), said.replaceAll(/\s+/g, " ").trim());
    }
  });
  return docs;
}

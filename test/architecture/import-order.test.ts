import ts from "typescript";
import { describe, expect, it } from "vitest";
import { inImportOrder } from "./import-order.ts";
import { sourceFiles } from "./source-tree.ts";

describe("imports", () => {
  it("stand in order: Node, packages, fleetwright, files; `--update` puts them so", async () => {
    for (const file of sourceFiles("lib", "adapters", "examples", "test")) {
      const right = inImportOrder(file);
      if (right !== file.text) await expect(right, file.path).toMatchFileSnapshot(`../../${file.path}`);
    }
    expect(ordered('import b from "./b.ts";\nimport a from "node:fs";\n')).toBe(
      'import a from "node:fs";\nimport b from "./b.ts";\n',
    );
  });

  it("take their comments along, but for the one at the top, and none crosses an import for its effect", () => {
    const text = '/** Top. */\nimport "./c.ts";\nimport b from "z";\n// Why.\nimport a from "a";\n\nb(a);\n';
    expect(ordered(text)).toBe(
      '/** Top. */\nimport "./c.ts";\n// Why.\nimport a from "a";\nimport b from "z";\n\nb(a);\n',
    );
  });
});

function ordered(text: string): string {
  return inImportOrder({ text, syntax: ts.createSourceFile("a.ts", text, ts.ScriptTarget.ES2023, true) });
}

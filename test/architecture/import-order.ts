/** The order of imports: Node, packages, this package, then files by their paths from far to near. */
import ts from "typescript";
import type { SourceFile } from "./source-tree.ts";

/** A file with its imports in order. A comment before the first stays at the top, others go along; an import for its effect ends a block. */
export function inImportOrder({ text, syntax }: Pick<SourceFile, "text" | "syntax">): string {
  const head = syntax.statements.findIndex((statement) => !ts.isImportDeclaration(statement));
  const imports = syntax.statements
    .slice(0, head === -1 ? undefined : head)
    .filter((statement) => ts.isImportDeclaration(statement));
  const start = imports[0]?.getStart(syntax);
  if (start === undefined) return text;
  const pieces = imports.map((node, index) => ({
    specifier: (node.moduleSpecifier as ts.StringLiteral).text,
    isEffect: node.importClause === undefined,
    text: text.slice(index === 0 ? start : node.getFullStart(), node.getEnd()).trim(),
  }));
  const blocks: (typeof pieces)[] = [[]];
  for (const piece of pieces) {
    if (piece.isEffect) blocks.push([piece], []);
    else blocks.at(-1)!.push(piece);
  }
  const sorted = blocks.flatMap((block) => block.toSorted((a, b) => compare(a.specifier, b.specifier)));
  return (
    text.slice(0, start) + sorted.map((piece) => piece.text).join("\n") + text.slice(imports.at(-1)!.getEnd())
  );
}

function compare(a: string, b: string): number {
  const byKind = kindOf(a) - kindOf(b);
  if (byKind !== 0) return byKind;
  return a === b ? 0 : a < b ? -1 : 1;
}

function kindOf(specifier: string): number {
  if (specifier.startsWith("node:")) return 0;
  if (specifier.startsWith(".")) return 3;
  return /^fleetwright(\/|$)/.test(specifier) ? 2 : 1;
}

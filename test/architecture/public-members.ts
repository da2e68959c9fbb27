/** What the public classes show, member by member, as it is written. */
import ts from "typescript";
import { sourceFiles } from "./source-tree.ts";

/** A line for each member of the classes that an entry exports by these names, with its whole signature. */
export function publicMembers(names: ReadonlySet<string>, from: ReadonlySet<string>): string[] {
  const files = sourceFiles("lib").filter(({ path }) => from.has(path));
  return files.flatMap(({ syntax }) =>
    syntax.statements.filter(ts.isClassDeclaration).flatMap((declaration) => {
      const { name, members, modifiers } = declaration;
      const isExported = modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
      if (isExported !== true || name === undefined || !names.has(name.text)) return [];
      return members.flatMap((member) => signatureOf(member, syntax)).map((line) => `${name.text}.${line}`);
    }),
  );
}

function signatureOf(member: ts.ClassElement, source: ts.SourceFile): string[] {
  if (ts.isClassStaticBlockDeclaration(member)) return [];
  if (member.name !== undefined && ts.isPrivateIdentifier(member.name)) return [];
  if (ts.canHaveModifiers(member) && ts.getModifiers(member)?.some(isHidden) === true) return [];
  const end = "body" in member && member.body ? (member.body as ts.Block).getStart(source) : member.end;
  const from = ts.isPropertyDeclaration(member) ? member.initializer : undefined;
  const text = source.text.slice(member.getStart(source), from ? from.getFullStart() - 2 : end);
  return [
    text
      .replace(/\s+/g, " ")
      .replace(/([([{]) | (?=[)\]])/g, "$1")
      .replace(/,(?=[)\]])/g, "")
      .trim(),
  ];
}

function isHidden({ kind }: ts.Modifier): boolean {
  return kind === ts.SyntaxKind.PrivateKeyword || kind === ts.SyntaxKind.ProtectedKeyword;
}

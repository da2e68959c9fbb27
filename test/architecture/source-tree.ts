/** The sources as the architecture tests see them: files, their text, their imports. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { builtinModules, isBuiltin } from "node:module";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** The repository's top folder. */
export const repository = fileURLToPath(new URL("../../", import.meta.url));

/** An import, or an export from elsewhere. */
export interface Import {
  specifier: string;
  /** Path from the top of the repository; `node_modules/<package>/` for a package; the bare name for a built-in module. */
  target: string;
  kind: "local" | "package" | "core";
  typeOnly: boolean;
}

/** A source file. */
export interface SourceFile {
  /** From the top of the repository, with forward slashes. */
  path: string;
  text: string;
  lines: number;
  syntax: ts.SourceFile;
  imports: Import[];
}

const cache = new Map<string, SourceFile>();

/** Every TypeScript file below the folders that exist, sorted by path. */
export function sourceFiles(...folders: string[]): SourceFile[] {
  return folders
    .flatMap((folder) => listFiles(folder))
    .filter((path) => path.endsWith(".ts"))
    .toSorted()
    .map((path) => sourceFile(path));
}

/** Paths of the files below a folder, from the top of the repository; none where there is no such folder. */
export function listFiles(folder: string): string[] {
  if (!existsSync(join(repository, folder))) return [];
  return readdirSync(join(repository, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : listFiles(path);
    return entry.isFile() ? [path] : [];
  });
}

/** A file of the repository as text; null where there is none. */
export function readText(path: string): string | null {
  return existsSync(join(repository, path)) ? readFileSync(join(repository, path), "utf8") : null;
}

/** Calls back for every node of a file's syntax tree. */
export function visit(file: SourceFile, callback: (node: ts.Node) => void): void {
  const step = (node: ts.Node): void => {
    callback(node);
    ts.forEachChild(node, step);
  };
  step(file.syntax);
}

/** A place in a file, as editors read it. */
export function positionOf(file: SourceFile, node: ts.Node): string {
  const { line } = file.syntax.getLineAndCharacterOfPosition(node.getStart(file.syntax));
  return `${file.path}:${line + 1}`;
}

function sourceFile(path: string): SourceFile {
  const known = cache.get(path);
  if (known) return known;
  const text = readFileSync(join(repository, path), "utf8");
  const syntax = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  const file: SourceFile = { path, text, lines, syntax, imports: importsOf(path, syntax) };
  cache.set(path, file);
  return file;
}

function importsOf(path: string, syntax: ts.SourceFile): Import[] {
  const imports: Import[] = [];
  const add = (specifier: ts.Node | undefined, typeOnly: boolean): void => {
    if (specifier && ts.isStringLiteral(specifier)) imports.push(resolve(path, specifier.text, typeOnly));
  };
  const step = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    } else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal, true);
    }
    ts.forEachChild(node, step);
  };
  step(syntax);
  return imports;
}

function resolve(from: string, specifier: string, typeOnly: boolean): Import {
  if (specifier.startsWith(".")) {
    return { specifier, target: normalize(join(dirname(from), specifier)), kind: "local", typeOnly };
  }
  if (isBuiltin(specifier) || builtinModules.includes(specifier)) {
    return { specifier, target: specifier.replace(/^node:/, ""), kind: "core", typeOnly };
  }
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  return { specifier, target: `node_modules/${name}/`, kind: "package", typeOnly };
}

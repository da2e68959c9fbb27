/** The examples of the guides, as programs of their own that import the package by its name. */
import { join } from "node:path";
import openapiTypescript, { astToString } from "openapi-typescript";
import ts from "typescript";
import { createOpenApiDocument } from "../../adapters/rest/openapi.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import { listFiles, readText, repository, sourceFiles } from "./source-tree.ts";

/** A block of TypeScript in a guide, or in a docstring. */
export interface Example {
  /** From the top of the repository. */
  guide: string;
  /** Line of that file before the first of the block. */
  line: number;
  text: string;
}

/** Every block that is marked `ts`, of the readme, the guides and the decisions. */
export function docExamples(): Example[] {
  const guides = listFiles("docs").filter((path) =>
    /^docs\/((how-to|resources|decisions)\/)?[^/]+\.md$/.test(path),
  );
  return ["README.md", ...guides].flatMap((guide) => blocksOf(guide, readText(guide) ?? ""));
}

/** Every block that is marked `ts` in a docstring. */
export function docstringExamples(): Example[] {
  return sourceFiles("lib", "adapters", "examples").flatMap(({ path, text }) =>
    blocksOf(path, text.replaceAll(/^ *\* ?/gm, "")),
  );
}

function blocksOf(guide: string, page: string): Example[] {
  return [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ index, 1: text = "" }) => ({
    guide,
    line: page.slice(0, index).split("\n").length,
    text,
  }));
}

/** What the compiler says of each example alone, under our flags, with the place in the guide. */
export async function typeErrorsOf(examples: readonly Example[]): Promise<string[]> {
  const pathOf = (example: Example): string =>
    join(repository, `example-${example.guide.replaceAll(/\W/g, "-")}-${example.line}.ts`);
  const files = new Map(examples.map((example) => [pathOf(example), example.text]));
  const paths = [...files.keys()];
  files.set(join(repository, "api.ts"), await generatedPaths());
  const compiled = createProgram(paths, files);
  return examples.flatMap((example) => {
    const source = compiled.getSourceFile(pathOf(example));
    return ts.getPreEmitDiagnostics(compiled, source).map(({ start, messageText }) => {
      const { line } = ts.getLineAndCharacterOfPosition(source!, start ?? 0);
      return `${example.guide}:${example.line + line + 1} ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    });
  });
}

/** What the command before the example of another client makes of our description. */
async function generatedPaths(): Promise<string> {
  return astToString(await openapiTypescript(JSON.stringify(await createOpenApiDocument(appRouter))));
}

function createProgram(paths: string[], files: ReadonlyMap<string, string>): ts.Program {
  const { config } = ts.readConfigFile(join(repository, "tsconfig.json"), (file) => ts.sys.readFile(file));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, repository);
  options.paths = sourcesByName();
  // As modules, so that an example that imports nothing shares no names with another.
  options.moduleDetection = ts.ModuleDetectionKind.Force;
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists.call(host, path);
  host.readFile = (path) => files.get(path) ?? readFile.call(host, path);
  host.getSourceFile = (path, languageOrOptions, ...rest) => {
    const text = files.get(path);
    if (text === undefined) return getSourceFile.call(host, path, languageOrOptions, ...rest);
    return ts.createSourceFile(path, text, languageOrOptions);
  };
  return ts.createProgram(paths, options, host);
}

/** The source behind each entry of the package. */
function sourcesByName(): Record<string, string[]> {
  const { exports } = JSON.parse(readText("package.json") ?? "{}") as {
    exports: Record<string, string | { types: string }>;
  };
  return Object.fromEntries(
    Object.entries(exports).flatMap(([entry, target]) => {
      if (typeof target === "string") return [];
      const source = target.types.replace("./dist/", "").replace(/\.d\.ts$/, ".ts");
      return [[`fleetwright${entry.slice(1)}`, [join(repository, source)]]];
    }),
  );
}

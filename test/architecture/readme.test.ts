import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { readText, repository } from "./source-tree.ts";

const example = /^```ts\n(.*?)^```$/ms.exec(readText("README.md") ?? "")?.[1] ?? "";

describe("the example of the readme", () => {
  it("runs as it stands there and prints the module that it uploaded", async () => {
    const folder = temporaryFolder();
    const before = process.cwd();
    process.chdir(folder);
    onTestFinished(() => process.chdir(before));
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());

    writeFileSync(join(folder, "example.ts"), example);
    await import(/* @vite-ignore */ pathToFileURL(join(folder, "example.ts")).href);

    expect(log).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ items: [expect.objectContaining({ name: "motd", revision: 1 })] }),
    );
    expect(existsSync(join(folder, "data"))).toBe(true);
  });

  it("has no type error for somebody who is as strict as we are", () => {
    expect(typeErrors(example)).toEqual([]);
    expect(typeErrors("const wrong: string = 1;")).toHaveLength(1);
  }, 60_000);
});

/** What the compiler says of a program that imports the package by its name. */
function typeErrors(program: string): string[] {
  const path = join(repository, "readme-example.ts");
  const { config } = ts.readConfigFile(join(repository, "tsconfig.json"), (file) => ts.sys.readFile(file));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, repository);
  options.paths = { fleetwright: [join(repository, "lib/index.ts")] };
  const host = ts.createCompilerHost(options);
  const readSource = host.getSourceFile.bind(host);
  host.getSourceFile = (file, ...rest) =>
    file === path ? ts.createSourceFile(file, program, ts.ScriptTarget.ES2023) : readSource(file, ...rest);
  const compiled = ts.createProgram([path], options, host);
  const source = compiled.getSourceFile(path);
  return ts
    .getPreEmitDiagnostics(compiled, source)
    .map((diagnostic) => ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n"));
}

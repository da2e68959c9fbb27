/**
 * Tells which mutants do not compile: nobody can write them, so that no test is needed against them. Only the file of a mutant is looked at,
 * and not the whole project, as Stryker's own checker does: that takes many seconds for each of them.
 */
import { readFileSync } from "node:fs";
import ts from "typescript";

export class Compiler {
  #service = null;
  /** The one file that is another than on disk. */
  #mutated = { fileName: "", text: "" };
  #version = 0;

  /** What the compiler says about a mutant; null where it compiles. */
  complaintAbout({ fileName, location, replacement }) {
    const source = readFileSync(fileName, "utf8");
    const [start, end] = [location.start, location.end].map((place) => offsetOf(source, place));
    this.#version += 1;
    this.#mutated = { fileName, text: source.slice(0, start) + replacement + source.slice(end) };
    this.#service ??= this.#createService();
    const [first] = [
      ...this.#service.getSyntacticDiagnostics(fileName),
      ...this.#service.getSemanticDiagnostics(fileName),
    ];
    return first ? ts.flattenDiagnosticMessageText(first.messageText, " ") : null;
  }

  #createService() {
    const { config } = ts.readConfigFile("tsconfig.json", ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ".");
    return ts.createLanguageService({
      getCompilationSettings: () => options,
      getScriptFileNames: () => [this.#mutated.fileName],
      getScriptVersion: (name) => (name === this.#mutated.fileName ? String(this.#version) : "0"),
      getScriptSnapshot: (name) => {
        const text = name === this.#mutated.fileName ? this.#mutated.text : ts.sys.readFile(name);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      getCurrentDirectory: () => process.cwd(),
      getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
      fileExists: ts.sys.fileExists,
      readFile: ts.sys.readFile,
    });
  }
}

/** A place as Stryker tells it, line and column from zero, as an offset in the text. */
function offsetOf(source, { line, column }) {
  const before = source.split("\n").slice(0, line);
  return before.reduce((sum, each) => sum + each.length + 1, column);
}

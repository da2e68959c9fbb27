/**
 * Keeps what a run has found so far, as a reporter of Stryker, which itself writes at the end alone: a run that is cut off, or ends with an
 * error, is taken up where it was. The file is the one that Stryker reads at its beginning, and replaces at its end.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";

const betweenMs = 10_000;

export class Kept {
  static inject = ["options"];
  #file;
  #tests = [];
  #mutants = [];
  #savedMs = Date.now();

  constructor({ incrementalFile }) {
    this.#file = incrementalFile;
  }

  onDryRunCompleted({ result }) {
    this.#tests = result.tests;
  }

  onMutantTested(mutant) {
    this.#mutants.push(mutant);
    if (Date.now() - this.#savedMs >= betweenMs) this.#save();
  }

  #save() {
    const tests = this.#tests.map(({ startPosition, ...test }) => ({
      ...test,
      location: startPosition && { start: oneBased(startPosition) },
    }));
    const report = {
      schemaVersion: "1.0",
      thresholds: { high: 80, low: 60 },
      files: byFile(this.#mutants, (mutants) => ({ language: "typescript", mutants })),
      testFiles: byFile(tests, (inFile) => ({ tests: inFile })),
    };
    mkdirSync(dirname(this.#file), { recursive: true });
    // Half a file would end the next run.
    writeFileSync(`${this.#file}.new`, JSON.stringify(report));
    renameSync(`${this.#file}.new`, this.#file);
    this.#savedMs = Date.now();
  }
}

function byFile(items, toFile) {
  const files = {};
  for (const name of new Set(items.map(nameOf))) {
    const inFile = items.filter((item) => nameOf(item) === name);
    files[name] = { source: readFileSync(name, "utf8"), ...toFile(inFile) };
  }
  return files;
}

function nameOf({ fileName }) {
  return relative(process.cwd(), fileName);
}

/** Stryker counts places from zero, and its files from one. */
function oneBased({ line, column }) {
  return { line: line + 1, column: column + 1 };
}

export const strykerPlugins = [{ kind: "Reporter", name: "kept", injectableClass: Kept }];

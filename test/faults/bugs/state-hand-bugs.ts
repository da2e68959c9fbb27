import type { Bug } from "./bugs.ts";

const unit = "lib/state/resources/systemd-unit.ts";
const foldersOfSeveral = ["test/state/removal/folders-of-several.test.ts"];

/** Bugs in single steps of the types of resources and of the engine: what comes back, in which order, and how far a limit goes. */
export const stateHandBugs: readonly Bug[] = [
  {
    name: "a folder of drop-ins stays behind when the one that made it goes first",
    file: unit,
    from: `    partOf: (spec) => (spec.drop_in === undefined ? pathOf(spec) : dropInFolder(spec)),\n`,
    tests: foldersOfSeveral,
  },
  {
    name: "a unit takes an empty folder of drop-ins that was not made for it",
    file: unit,
    from: `const isNew = drop_in !== undefined && host`,
    to: `const isNew = host`,
    tests: foldersOfSeveral,
  },
  {
    name: "folders above several stay behind when the one that made them goes first",
    file: "lib/state/run/parts.ts",
    from: `inheritTexts(inheritParents(after, gone), gone, {`,
    to: `inheritTexts(after, gone, {`,
    tests: foldersOfSeveral,
  },
  {
    name: "nobody inherits the folders above where nothing else is shared",
    file: "lib/state/run/parts.ts",
    from: `      madeBy(prior).length > 0 ||\n`,
    tests: foldersOfSeveral,
  },
  {
    name: "of folders above that two made only those of the one that went go",
    file: "lib/state/run/parts.ts",
    from: `[...madeBy(prior), ...above]`,
    to: `above`,
    tests: foldersOfSeveral,
  },
];

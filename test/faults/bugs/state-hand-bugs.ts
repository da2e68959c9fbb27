import type { Bug } from "./bugs.ts";

const unit = "lib/state/resources/systemd-unit.ts";
const mount = "lib/state/resources/mount.ts";
const cron = "lib/state/resources/cron.ts";
const line = "lib/state/resources/line.ts";
const directory = "lib/state/resources/directory.ts";
const singleSteps = ["test/state/removal/single-steps.test.ts"];
const cronTests = ["test/state/resources/cron.test.ts"];
const packageTests = ["test/state/resources/package.test.ts"];
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
  {
    name: "the removal of a drop-in that somebody took away fails for the empty folder",
    file: unit,
    from: `    if (files.stat(path)) files.removeFile(path);`,
    to: `    files.removeFile(path);`,
    tests: foldersOfSeveral,
  },
  {
    name: "an automount unit can't be declared",
    file: unit,
    from: `mount|automount|swap|slice`,
    to: `mount|swap|slice`,
    tests: ["test/state/resources/systemd-unit.test.ts"],
  },
  {
    name: "what was mounted read-only without a line comes back writable",
    file: mount,
    from: `options: live.options.join(","), dump`,
    to: `options: "defaults", dump`,
    tests: singleSteps,
  },
  {
    name: "a line with two commas in a row can't be given back",
    file: mount,
    from: `field.split(",").filter((option) => option !== "")`,
    to: `field.split(",")`,
    tests: singleSteps,
  },
  {
    name: "a line whose options are a comma can't be given back",
    file: mount,
    from: `return options.length === 0 ? ["defaults"] : options;`,
    to: `return options;`,
    tests: singleSteps,
  },
  {
    name: "a mount gives its line another line break than that had",
    file: mount,
    from: `(line === own ? { ...line, text: wanted } : line)`,
    to: `(line === own ? { text: wanted, end: "\\n" } : line)`,
    tests: singleSteps,
  },
  {
    name: "the line of a mount is looked for under the path that a link leads to",
    file: mount,
    from: `  pathIsName: true,\n`,
    tests: ["test/state/resources/mount/led-elsewhere.test.ts"],
  },
  {
    name: "what stood before a mount is noted under the path that a link leads to",
    file: "lib/state/run/identities.ts",
    from: `this.#types.get(prior.type)?.pathIsName !== true`,
    to: `true`,
    tests: ["test/state/resources/mount/led-elsewhere.test.ts"],
  },
  {
    name: "a job of a user by his number is another one than by his name",
    file: cron,
    from: `/^\\d+$/.test(user) ? Number(user) : undefined`,
    to: `undefined`,
    tests: cronTests,
  },
  {
    name: "a job of an agent that is not root is taken for one of root",
    file: cron,
    from: `user === undefined ? host.ownProcess?.().uid :`,
    to: `user === undefined ? 0 :`,
    tests: cronTests,
  },
  {
    name: "a cron that names itself has said nothing of an empty crontab",
    file: cron,
    from: `^(crontab: )?no crontab for |`,
    to: `^no crontab for |`,
    tests: cronTests,
  },
  {
    name: "a removal tells of a line that it takes away as if it put it there",
    file: line,
    from: `ensure: old === undefined ? "absent" : "present",`,
    to: `ensure: "present",`,
    tests: singleSteps,
  },
  {
    name: "the removal of a line that was to be absent takes one that somebody wrote since",
    file: line,
    from: `return ensure === "present" ? [line] : [];`,
    to: `return [line];`,
    tests: singleSteps,
  },
  {
    name: "of the marks of many versions only the last are taken away",
    file: "lib/state/resources/block.ts",
    from: `markers: [...markers, marker]`,
    to: `markers: [marker]`,
    tests: singleSteps,
  },
  {
    name: "without a copy a link that a file replaced does not come back",
    file: "lib/state/resources/file.ts",
    from: `if (stat.kind === "symlink") return captureLink(spec.path, stat, host);\n  if (!spec.backup) return null;`,
    to: `if (!spec.backup) return null;\n  if (stat.kind === "symlink") return captureLink(spec.path, stat, host);`,
    tests: singleSteps,
  },
  {
    name: "what a purge tells of many paths does not say how many more there are",
    file: directory,
    from: `found.length > names.length ?`,
    to: `false ?`,
    tests: singleSteps,
  },
  {
    name: "a folder takes those above it along that somebody else made again",
    file: directory,
    from: `if (ensure === "absent" && spec.parents) return with`,
    to: `if (ensure === "absent") return with`,
    tests: singleSteps,
  },
  {
    name: "what came into a folder between two purges comes back with its removal",
    file: directory,
    from: `const purged = wasPurged || spec.purge;`,
    to: `const purged = spec.purge;`,
    tests: singleSteps,
  },
  {
    name: "a setting that the kernel has no more is told as in sync",
    file: "lib/state/resources/sysctl.ts",
    from: `const isGone = spec.live !== undefined && !isKnown(spec.key, host);`,
    to: `const isGone = !isKnown(spec.key, host);`,
    tests: singleSteps,
  },
  {
    name: "an old index is drift of a package that is there",
    file: "lib/state/resources/package.ts",
    from: `const asksForAge = spec.ensure === "latest" && spec.update_cache_seconds !== undefined;`,
    to: `const asksForAge = spec.update_cache_seconds !== undefined;`,
    tests: packageTests,
  },
  {
    name: "the removal of a host takes the names along that somebody else gave in a file made for it",
    file: "lib/state/resources/host-entry.ts",
    from: `spec.remove_empty === true && edited.length === 0`,
    to: `spec.remove_empty === true`,
    tests: singleSteps,
  },
];

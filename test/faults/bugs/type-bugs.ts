import type { Bug } from "./bugs.ts";

/** What a type of resource forgets on its way through several versions, or when it is ended in the middle. */
export const typeBugs: readonly Bug[] = [
  {
    name: "a folder that was purged and then taken away comes back without what was in it",
    file: "lib/state/resources/directory.ts",
    from: `    host.files.makeDirectory(spec.path, { mode: 0o755, ...attributes });\n`,
    to: `    return host.files.makeDirectory(spec.path, { mode: 0o755, ...attributes });\n`,
    tests: ["test/state/removal/through-absence.test.ts"],
  },
  {
    name: "a plan does not say what comes back in a folder that was taken away",
    file: "lib/state/resources/directory.ts",
    from: `, ...newAttributes(spec), ...insideChange(spec, host)];`,
    to: `, ...newAttributes(spec)];`,
    tests: ["test/state/removal/through-absence.test.ts"],
  },
  {
    name: "what somebody has between the marks of a later version goes with the block",
    file: "lib/state/resources/block.ts",
    from: `ensure === "absent" && known.some(`,
    to: `ensure === "present" && known.some(`,
    tests: ["test/state/removal/through-absence.test.ts"],
  },
  {
    name: "the end of a text is forgotten with the block that a later version finds there",
    file: "lib/state/resources/block.ts",
    from: `{ ...ends, ...stood, markers: known }`,
    to: `{ ...stood, markers: known }`,
    tests: ["test/state/removal/through-absence.test.ts"],
  },
  {
    name: "rows of groups whose names begin alike are one",
    file: "lib/state/resources/shared/group-rows.ts",
    from: `if (row[0] !== name || row.length === 1) return [line];`,
    to: `if (row[0]?.startsWith(name) !== true || row.length === 1) return [line];`,
    tests: ["test/state/removal/accounts-around.test.ts"],
  },
  {
    name: "a home that somebody gave the user meanwhile goes for the one that was made",
    file: "lib/state/resources/user.ts",
    from: `made_home: made_home ?? user.home`,
    to: `made_home: user.home`,
    tests: ["test/state/removal/accounts-around.test.ts"],
  },
  {
    name: "a row of the shadow that never had a password is taken for one of others",
    file: "lib/state/resources/shared/group-rows.ts",
    from: `!["", "x", "!", "*"].includes(password)`,
    to: `!["", "x", "!"].includes(password)`,
    tests: ["test/state/removal/accounts-around.test.ts"],
  },
  {
    name: "a content is told as it was at the first look",
    file: "lib/state/resources/file/content.ts",
    from: `if (known?.before === before) return known;`,
    to: `if (known) return known;`,
    tests: ["test/state/resources/file/told-content.test.ts"],
  },
  {
    name: "a new file for somebody who is not there yet is not told to leave other names",
    file: "lib/state/resources/file.ts",
    from: `return stat.uid !== 0;`,
    to: `return false;`,
    tests: ["test/state/resources/file/told-content.test.ts"],
  },
  {
    name: "of a formula that stands in several versions the first counts",
    file: "lib/state/resources/package/brew.ts",
    from: `installed.at(-1)?.version`,
    to: `installed[0]?.version`,
    tests: ["test/state/resources/package/told-effects.test.ts"],
  },
  {
    name: "a new package is not told with its version",
    file: "lib/state/resources/package/wanted.ts",
    from: `if (work === "install" && after !== null)`,
    to: `if (work === "install" && after !== null && state.version !== null)`,
    tests: ["test/state/resources/package/told-effects.test.ts"],
  },
  {
    name: "a package that comes back is whichever the index names in its place by now",
    file: "lib/state/resources/package.ts",
    from: `exact: spec.before !== undefined });`,
    to: `exact: false });`,
    tests: ["test/state/resources/package/wired.test.ts"],
  },
];

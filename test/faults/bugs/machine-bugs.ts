/** Bugs in what is done to a machine and what is kept of it: files that are replaced, what is owed, what contradicts. */
import type { Bug } from "./bugs.ts";

export const machineBugs: readonly Bug[] = [
  {
    name: "a file that could not be written over keeps half of the new content",
    file: "lib/host/place-file.ts",
    from: `      copy(old, fd);
`,
    tests: ["test/host/written-over.test.ts"],
  },
  {
    name: "a program that is taken on slowly is said to bear no mark",
    file: "lib/host/process-table.ts",
    from: `  if (environment === undefined) return undefined;
`,
    tests: ["test/host/process-table.test.ts"],
  },
  {
    name: "an environment that is being laid out is taken for an empty one",
    file: "lib/host/process-table.ts",
    from: `hasBegun && environmentEnd !== 0`,
    to: `environmentEnd !== 0`,
    tests: ["test/host/process-table.test.ts"],
  },
  {
    name: "a file that took the place of another is written over",
    file: "lib/host/place-file.ts",
    from: `    if (now.ino !== over.ino || now.dev !== over.dev || !now.isFile()) throw hostError(path, "ESTALE");
`,
    tests: ["test/host/written-over.test.ts"],
  },
  {
    name: "a temporary file is left where another was written over",
    file: "lib/host/place-file.ts",
    from: `  unlinkSync(temporary);
}

/** Not atomic`,
    to: `}

/** Not atomic`,
    tests: ["test/host/local-host.test.ts"],
  },
  {
    name: "a file that is made anew loses its times",
    file: "lib/host/replace-file.ts",
    from: `andThen(copyFile(fd, target), () => futimesSync(target, stats.atime, stats.mtime))`,
    to: `copyFile(fd, target) as MaybeWaiting<void>`,
    tests: ["test/host/changed-hands.test.ts"],
  },
  {
    name: "a temporary file is left after a failure",
    file: "lib/host/replace-file.ts",
    from: `          discard(temporary);
`,
    tests: ["test/host/large-files.test.ts"],
  },
  {
    name: "the weaker of two triggers stays",
    file: "lib/state/owed.ts",
    from: `    known.trigger = stronger(known.trigger, by.trigger);
`,
    tests: ["test/state/owed.test.ts"],
  },
  {
    name: "a trigger is owed without a cause",
    file: "lib/state/owed.ts",
    from: `    if (owed?.causes.size === 0) this.#byThing.delete(thing);
`,
    tests: ["test/state/owed.test.ts"],
  },
  {
    name: "a list equals one that it begins",
    file: "lib/state/conflicts.ts",
    from: `|| a.length !== b.length) return false`,
    to: `|| a.length > b.length) return false`,
    tests: ["test/state/conflicts.test.ts"],
  },
  {
    name: "an object equals one with more in it",
    file: "lib/state/conflicts.ts",
    from: `  if (names.length !== Object.keys(b).length) return false;
`,
    tests: ["test/state/conflicts.test.ts"],
  },
  {
    name: "what another resource declares in the folder of an archive differs from the archive for ever",
    file: "lib/state/resources/archive.ts",
    from: `const isTheirs = stat !== null && isOthers("content", path);`,
    to: `const isTheirs = false;`,
    tests: ["test/state/resources/archive/beside-others.test.ts"],
  },
  {
    name: "what a line is to be added to is not extracted again",
    file: "lib/state/resources/archive.ts",
    from: `const isTheirs = stat !== null && isOthers("content", path);`,
    to: `const isTheirs = isOthers("content", path);`,
    tests: ["test/state/resources/archive/beside-others.test.ts"],
  },
  {
    name: "a file that says its mode alone hides from an archive that its content was changed",
    file: "lib/state/run/state-item.ts",
    from: `takesAny || !/^[/~]/.test(of)`,
    to: `!/^[/~]/.test(of)`,
    tests: ["test/state/resources/archive/beside-others.test.ts"],
  },
  {
    name: "what is let go hides from an archive that it is gone",
    file: "lib/state/run/shared-things.ts",
    from: `isDropped ? [] : saidBy(target, identities)`,
    to: `saidBy(target, identities)`,
    tests: ["test/state/resources/archive/beside-others.test.ts"],
  },
  {
    name: "another archive replaces the file of another module",
    file: "lib/state/resources/archive/stamp.ts",
    from: `const stays = says("whole") &&`,
    to: `const stays = false &&`,
    tests: ["test/state/resources/archive/beside-others.test.ts"],
  },
  {
    name: "another archive brings what another module has gone",
    file: "lib/state/resources/archive/stamp.ts",
    from: `(says("absent") || stays)`,
    to: `stays`,
    tests: ["test/state/resources/archive/beside-others.test.ts"],
  },
  {
    name: "another archive gives a file the mode that the archive has, and not the one that a module says",
    file: "lib/state/resources/archive/stamp.ts",
    from: `...(says("mode") && isGiver(stat, after) && { mode }),`,
    to: ``,
    tests: ["test/state/resources/archive/beside-others.test.ts"],
  },
  {
    name: "what the owner of a folder put there is given to root by another archive",
    file: "lib/state/resources/archive/stamp.ts",
    from: `files.ledBy(place.slice(0, place.lastIndexOf("/"))) === null`,
    to: `files.ledBy(place.slice(0, place.lastIndexOf("/"))) !== -1`,
    tests: ["test/state/resources/archive/owners-and-others.test.ts"],
  },
  {
    name: "what stands where nothing is to be gets the owner of an archive",
    file: "lib/state/resources/archive/extract.ts",
    from: `left.has(entry.name) && !isSaid("absent", place)`,
    to: `left.has(entry.name)`,
    tests: ["test/state/resources/archive/owners-and-others.test.ts"],
  },
  {
    name: "what another module says of a mode is lost where the agent ends behind tar",
    file: "lib/state/resources/archive/extract.ts",
    from: `left.size > 0 || keeps`,
    to: `left.size > 0`,
    tests: ["test/state/resources/archive/owners-and-others.test.ts"],
  },
  {
    name: "of one thing that was applied by two paths the second says what stood before",
    file: "lib/state/run/identities.ts",
    from: `withClaims(isOurs ? first : entry, all)`,
    to: `withClaims(entry, all)`,
    tests: ["test/state/one-thing-twice.test.ts"],
  },
];

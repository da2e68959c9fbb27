import type { Bug } from "./bugs.ts";

/** Bugs by which one resource takes away, changes or brings back what another one has, or was left with. */
export const besideBugs: readonly Bug[] = [
  {
    name: "a purge takes what an unattended apply leaves",
    file: "lib/state/run/shared-things.ts",
    from: `mode === "check" || holdRemovals === true;`,
    to: `mode === "check" && holdRemovals === true;`,
    tests: ["test/state/purged-around.test.ts"],
  },
  {
    name: "a purge takes what could not be removed",
    file: "lib/state/run/walk.ts",
    from: `      await tellLeft(items, state);\n`,
    tests: ["test/state/purged-around.test.ts"],
  },
  {
    name: "a clone takes what others have in it along",
    file: "lib/state/resources/git/folder.ts",
    from: `      if (others.includes(each)) return [];\n`,
    tests: ["test/state/resources/git-shared.test.ts"],
  },
  {
    name: "force overwrites what others declare in a clone",
    file: "lib/state/resources/git.ts",
    from: `const others = isMoved ? [] : spec.others;`,
    to: `const others = isMoved ? spec.others : [];`,
    tests: ["test/state/resources/git-shared.test.ts"],
  },
  {
    name: "a script that followed a trigger undoes the work of others",
    file: "lib/state/run/capture.ts",
    from: `removing?.capturesFrom === "spec" && prior === null;`,
    to: `removing?.capturesFrom === "spec";`,
    tests: ["test/state/resources/script.test.ts"],
  },
  {
    name: "a folder that goes gives back what others declare in it",
    file: "lib/state/resources/directory/restore.ts",
    from: "!paths.some((each) => `${path}/`.startsWith(`${each}/`))",
    to: "!paths.some((each) => `${each}/` === path)",
    tests: ["test/state/removal/declared-inside.test.ts"],
  },
  {
    name: "a part that goes is taken out of what others have",
    file: "lib/state/run/fights.ts",
    from: `      return isUndone ? [] : changes;`,
    to: `      return changes;`,
    tests: ["test/state/removal/shared-text.test.ts"],
  },
  {
    name: "a part that was left for others is forgotten",
    file: "lib/state/run/walk.ts",
    from: `(item.isShared || holdsOutside(item, state.run))`,
    to: `holdsOutside(item, state.run)`,
    tests: ["test/state/removal/shared-text.test.ts"],
  },
  {
    name: "a key and the mode of its folder fight for ever",
    file: "lib/state/resources/authorized-key.ts",
    from: `    ...modeEdit(folderOf(spec), folder_mode),\n`,
    tests: ["test/state/removal/shared-text.test.ts"],
  },
  {
    name: "memberships that were taken meanwhile come back with a user",
    file: "lib/state/resources/user.ts",
    from: `if (ensure === "absent" || membership === "inclusive") return { groups`,
    to: `if (ensure === "absent" || membership) return { groups`,
    tests: ["test/state/resources/user/left-groups.test.ts"],
  },
  {
    name: "a plan makes a home where an apply refuses to",
    file: "lib/state/resources/user/obstacles.ts",
    from: `  if (isNew && createsHome(spec) && spec.home !== undefined) requireOwnWay(spec.home, host);\n`,
    tests: ["test/state/resources/user/refusals.test.ts"],
  },
];

import type { Bug } from "./bugs.ts";

const finished = ["test/state/resources/git-interrupted.test.ts"];
const others = ["test/state/resources/git-interrupted-others.test.ts"];
const file = "lib/state/resources/git/interrupted-checkout.ts";
const clone = "lib/state/resources/git/clone.ts";

/** Bugs in how a checkout that was cut is told from what others do in the clone. */
export const checkoutBugs: readonly Bug[] = [
  {
    name: "git is believed that it wrote all files",
    file: "lib/state/resources/git/program.ts",
    from: `  if (line === undefined) return;\n`,
    to: `  if (line === undefined || line !== "") return;\n`,
    tests: finished,
  },
  {
    name: "what a filter says fails a checkout",
    file: "lib/state/resources/git/program.ts",
    from: `.find((each) => unwritten.test(each));`,
    to: `.find((each) => unwritten.test(each) || each.startsWith("error: "));`,
    tests: others,
  },
  {
    name: "a checkout that was cut is not finished where HEAD has moved",
    file,
    from: `!isKnown || ![from, ...to].includes(head ?? unborn)`,
    to: `!isKnown || from !== (head ?? unborn)`,
    tests: finished,
  },
  {
    name: "what a second checkout that was cut had brought is forgotten",
    file: clone,
    from: `const to = [...(interrupted?.to ?? []).filter((each) => each !== commit), commit];`,
    to: `const to = [commit];`,
    tests: finished,
  },
  {
    name: "the note of a checkout outlives it",
    file: clone,
    from: `  if (isMoving) await forgetCheckout(spec, machine);\n`,
    to: ``,
    tests: finished,
  },
  {
    name: "what git had taken away stays away",
    file: clone,
    from: `  if (interrupted) await restoreMissing(spec, interrupted, machine);\n`,
    to: ``,
    tests: finished,
  },
  {
    name: "what a checkout had written is in the way of the next one",
    file,
    from: `  await clearWritten(place, written, machine);\n`,
    to: ``,
    tests: finished,
  },
  {
    name: "new files of others go with a clone whose checkout was cut",
    file: "lib/state/resources/git.ts",
    from: `  return changed + unknown;`,
    to: `  return changed + Math.min(0, unknown);`,
    tests: others,
  },
  {
    name: "a submodule counts as whole whose files were cut",
    file,
    from: `    found.isDirtyInside ||= strange.isDirtyInside;\n`,
    to: ``,
    tests: others,
  },
  {
    name: "that somebody made a file a program is undone with a checkout",
    file: "lib/state/resources/git/file-contents.ts",
    from: `mode === ((stat.mode & 0o100) === 0 ? "100644" : "100755")`,
    to: `mode.startsWith("100")`,
    tests: others,
  },
  {
    name: "a removal takes away what an open apply needs",
    file: "lib/operations/scopes.ts",
    from: `for (const [name, revision] of [...staying, ...comingWith(open)]) {`,
    to: `for (const [name, revision] of [...staying]) {`,
    tests: ["test/operations/removal-behind.test.ts"],
  },
  {
    name: "a checkout that was cut behind the index of a commit that only takes away is not ended",
    file,
    from: ` || (entry !== undefined && strange.is === "staged")`,
    to: ``,
    tests: finished,
  },
];

import type { Bug } from "./bugs.ts";

const tests = ["test/state/resources/git-interrupted.test.ts"];
const file = "lib/state/resources/git/interrupted-checkout.ts";
const clone = "lib/state/resources/git/clone.ts";

/** Bugs in how a checkout that was cut is told from what others do in the clone. */
export const checkoutBugs: readonly Bug[] = [
  {
    name: "git is believed that it wrote all files",
    file: "lib/state/resources/git/program.ts",
    from: `  if (line === undefined) return;\n`,
    to: `  if (line === undefined || line !== "") return;\n`,
    tests,
  },
  {
    name: "a checkout that was cut is not finished where HEAD has moved",
    file,
    from: `if (![from, ...noted].includes(head ?? unborn)) return null;`,
    to: `if (from !== (head ?? unborn)) return null;`,
    tests,
  },
  {
    name: "a checkout that was cut is taken for one though somebody has checked out something else",
    file,
    from: `  if (![from, ...noted].includes(head ?? unborn)) return null;\n`,
    to: ``,
    tests,
  },
  {
    name: "what a second checkout that was cut had brought is forgotten",
    file: clone,
    from: `const to = [...(interrupted?.to ?? []).filter((each) => each !== commit), commit];`,
    to: `const to = [commit];`,
    tests,
  },
  {
    name: "the note of a checkout outlives it",
    file: clone,
    from: `  if (isMoving) await forgetCheckout(spec, machine);\n`,
    to: ``,
    tests,
  },
  {
    name: "what a checkout that was cut had brought stays where another commit is wanted",
    file: clone,
    from: `if (brought !== commit) await changeClone(spec, ["read-tree", brought], machine);`,
    to: ``,
    tests,
  },
  {
    name: "an interrupted checkout is finished over what somebody has changed since it was looked at",
    file: clone,
    from: `  if (interrupted && !force) await requireOwn(spec, { ...interrupted, wanted: commit }, machine);\n`,
    to: ``,
    tests,
  },
  {
    name: "a plan tells of an interrupted checkout that it would be finished over somebody's changes",
    file: "lib/state/resources/git.ts",
    from: `    if (!force) await requireOwn(spec, { ...interrupted, wanted: known }, machine);\n`,
    to: `    if (!force && known === "") await requireOwn(spec, { ...interrupted, wanted: known }, machine);\n`,
    tests,
  },
  {
    name: "new files of others go with a clone whose checkout was cut",
    file: "lib/state/resources/git.ts",
    from: `  return inTheWay + beside;`,
    to: `  return inTheWay + (beside > 0 ? 0 : 0);`,
    tests,
  },
  {
    name: "a file that somebody shortened and changed is taken for one that was cut",
    file,
    from: `if (!ids.has(path) || !(await isBeginning(place, path, known, machine))) foreign += 1;`,
    to: `if (!ids.has(path)) foreign += 1;`,
    tests,
  },
  {
    name: "a file that was cut is taken for somebody's",
    file,
    from: `if (!ids.has(path) || !(await isBeginning(place, path, known, machine))) foreign += 1;`,
    to: `foreign += 1;`,
    tests,
  },
  {
    name: "what stood before a checkout that was cut is taken for somebody's",
    file,
    from: `const commits = from === null ? to : [from, ...to];`,
    to: `const commits = from === null ? to : [...to];`,
    tests,
  },
  {
    name: "a link of a checkout that was cut is taken for whichever",
    file,
    from: `isLink(entry) && linkId(files.readLink(at), entry) === entry.id);`,
    to: `isLink(entry) && linkId(files.readLink(at), entry) !== "");`,
    tests,
  },
  {
    name: "a new file of somebody's is overwritten where the wanted commit has a folder",
    file,
    from: `wanted.has(path) || folders.has(path) || foldersAbove`,
    to: `wanted.has(path) || (folders.has(path) && false) || foldersAbove`,
    tests,
  },
  {
    name: "a new file of somebody's is overwritten where the wanted commit has one of its own",
    file,
    from: `(path) => wanted.has(path) || folders`,
    to: `(path) => folders`,
    tests,
  },
  {
    name: "what somebody changed in a submodule is overwritten when its checkout is finished",
    file,
    from: `      found.inTheWay += inTheWay;\n`,
    to: `      found.inTheWay += Math.min(0, inTheWay);\n`,
    tests,
  },
];

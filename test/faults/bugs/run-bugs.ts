import type { Bug } from "./bugs.ts";

/** Bugs in how a run goes through its resources, and in what its plan foresees, that no test noticed. */
export const runBugs: readonly Bug[] = [
  {
    name: "a drift check tells that it restarts the agent, when all else is done",
    file: "lib/state/run/last-act.ts",
    from: `this.#run.mode === "check" || this.#putOff.has(item) ? null`,
    to: `this.#putOff.has(item) ? null`,
    tests: ["test/state/own-restart.test.ts"],
  },
  {
    name: "the agent is restarted amid an apply where nobody can tell whose service it is",
    file: "lib/state/run/walk.ts",
    from: `decided ?? last.refuse(item, firing) ?? work(`,
    to: `decided ?? work(`,
    tests: ["test/state/own-restart.test.ts"],
  },
  {
    name: "of two modules that require others, none is named as the one that makes what is missing",
    file: "lib/state/run/missing-part.ts",
    from: `resource.requires_modules?.includes(other.module) === true`,
    to: `resource.requires_modules !== undefined`,
    tests: ["test/state/missing-part.test.ts"],
  },
  {
    name: "whether a sensitive resource is there is hidden",
    file: "lib/state/run/state-result.ts",
    from: `  if (change.property === "ensure") return change;\n`,
    tests: ["test/state/state-result.test.ts"],
  },
  {
    name: "how the judge of a content ended is told only where it refuses",
    file: "lib/state/run/observed-host.ts",
    from: `      traces.exitCode = result.exitCode;\n      return result;`,
    to: `      return result;`,
    tests: ["test/state/judged-change.test.ts"],
  },
  {
    name: "a package of which a version is kept out counts as held",
    file: "lib/state/resources/package/dnf.ts",
    from: `/^\\w+ [<>=]+ \\S/`,
    to: `/^\\w+ [!<>=]+ \\S/`,
    tests: ["test/state/resources/package/parsers.test.ts"],
  },
  {
    name: "what comes back is not what was purged",
    file: "lib/state/resources/package/look.ts",
    from: `(spec.ensure === "absent" || spec.ensure === "purged")`,
    to: `spec.ensure === "absent"`,
    tests: ["test/state/resources/package.test.ts"],
  },
  {
    name: "a package is let go for a change that fails, and not held again",
    file: "lib/state/resources/package.ts",
    from: `if (again.length > 0) await`,
    to: `if (again.length > 99) await`,
    tests: ["test/state/resources/package.test.ts"],
  },
  {
    name: "a package that is to go itself is told as a side effect, too",
    file: "lib/state/resources/package/foretell.ts",
    from: `.filter((name) => !own.has(name));\n  return { removes: [...new`,
    to: `.filter((name) => name !== "");\n  return { removes: [...new`,
    tests: ["test/state/resources/package/told-effects.test.ts"],
  },
];

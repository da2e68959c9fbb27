/** Bugs that several operators meet who change the same things at once. */
import type { Bug } from "./bugs.ts";

export const conflictBugs: readonly Bug[] = [
  {
    name: "a change of an assignment that waited is of the one that has its name by then",
    file: "lib/assignments/assignments.ts",
    from: `      if (before) await this.#requireStill(before);\n`,
    tests: ["test/assignments/again-under-a-name.test.ts"],
  },
  {
    name: "a removal of an assignment that waited is of the one that has its name by then",
    file: "lib/assignments/assignments.ts",
    from: `        await this.#requireStill(stored);\n`,
    tests: ["test/assignments/again-under-a-name.test.ts"],
  },
  {
    name: "a change of a secret is of the one that has its name by then",
    file: "lib/secrets/secrets.ts",
    from: `[this.#put(secret, stored.revision), mark.write()]`,
    to: `[this.#put(secret, stored.revision)]`,
    tests: ["test/secrets/in-the-moment.test.ts"],
  },
  {
    name: "a process whose clock is behind takes back that a window began",
    file: "lib/maintenance/window-rounds.ts",
    from: `const isOfIt = isIn(occurrence, Date.parse(value.starts_at));`,
    to: `const isOfIt = occurrence !== null && occurrence.from <= now && isIn(occurrence, Date.parse(value.starts_at));`,
    tests: ["test/maintenance/told-by-members.test.ts"],
  },
  {
    name: "a process whose clock is behind tells again that a window began",
    file: "lib/maintenance/window-rounds.ts",
    from: `      if (before) this.#over.set(key, Date.parse(before.value.starts_at));\n`,
    tests: ["test/maintenance/told-by-members.test.ts"],
  },
  {
    name: "a window that is given an end once more is not told again",
    file: "lib/maintenance/window-rounds.ts",
    from: `    this.#over.delete(id);\n`,
    tests: ["test/maintenance/told-by-members.test.ts"],
  },
  {
    name: "a request that was begun before its session ended is made",
    file: "lib/callers/authorizer.ts",
    from: `this.#isOver(caller, permission) ? over() : allowed`,
    to: `allowed`,
    tests: ["test/security/late-bodies.test.ts"],
  },
  {
    name: "who waits for the end of a rollout is told of it whatever became of their session",
    file: "lib/rollouts/rollouts.ts",
    from: `    // Who was removed while they waited is told nothing of what came since.\n    await this.#context.authorize(caller, "rollouts.get");\n`,
    tests: ["test/security/late-bodies.test.ts"],
  },
  {
    name: "an occurrence that a clock which was ahead ended ends all that come until there",
    file: "lib/maintenance/occurrences.ts",
    from: `if (endedMs <= atMs) return after;`,
    to: `if (endedMs <= atMs || after.length > 0) return after;`,
    tests: ["test/maintenance/ended-later.test.ts"],
  },
];
